"""How many people and keys have access, and how many keys are unused: one sentence."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab_dashboards.access.register import AccessRegister, is_idle, load_register
from attestlab_dashboards.access.state import AccessState
from attestlab_dashboards.formats import plural
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import html, join


def draw_answer(register: AccessRegister, _state: AccessState) -> Markup:
    """Answer the question of the page."""
    people = sum(person.status == "ACTIVE" for person in register.people)
    if register.keys is None:
        return html("<b>{people}</b> {have} access.", people=plural(people, "person", "people"), have=_have(people))
    working = [key for key in register.keys if key.status == "ACTIVE"]
    unused = sum(key.last_used_at is None or is_idle(key.last_used_at, register.now) for key in working)
    return join(
        [
            html(
                "<b>{people}</b> and <b>{keys}</b> have access.",
                people=plural(people, "person", "people"),
                keys=plural(len(working), "API key"),
            ),
            html("<b>{people}</b> {are} signed in.", people=len(register.open_sessions), are=_are(register)),
            html("<b>{unused}</b> {are} unused.", unused=plural(unused, "key"), are="is" if unused == 1 else "are")
            if unused
            else html("<b>Each</b> key is in use."),
        ],
        html(" "),
    )


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


def _are(register: AccessRegister) -> str:
    return "is" if len(register.open_sessions) == 1 else "are"


PANE: Final = Pane(key="answer", load=load_register, draw=draw_answer, reads=())
