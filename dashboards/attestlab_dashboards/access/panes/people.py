"""The table of people: who has which role, whether they have access, and when they last used it."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.collections.people import PersonHandle
from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.access.copying import write_filtered
from attestlab_dashboards.access.filters import draw_nothing_found
from attestlab_dashboards.access.register import MAX_LISTED, AccessRegister, load_register
from attestlab_dashboards.access.state import AccessState
from attestlab_dashboards.access.words import draw_last_use, draw_roles, draw_status
from attestlab_dashboards.formats import count, plural
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html
from attestlab_dashboards.widgets import TableColumn

_COLUMNS: Final = (
    TableColumn("Person", sort="name"),
    TableColumn("Role", sort="role"),
    TableColumn("State", phone=False, sort="status"),
    TableColumn("Open sessions", "right", phone=False, sort="sessions", is_for_desks=True),
    TableColumn("Last use", "right", sort="last"),
)


def write_reading(register: AccessRegister, state: AccessState) -> str:
    """Write how many people there are, and their order."""
    found = len(register.find_people(state))
    column = next(each.title for each in _COLUMNS if each.sort == state.sort.removeprefix("-"))
    cut = f"; the newest {count(MAX_LISTED)} are listed" if len(register.people) == MAX_LISTED else ""
    return f"{plural(found, 'person', 'people')}, by {column.lower()}{cut}"


def draw_people(register: AccessRegister, state: AccessState) -> Markup:
    """Draw a page of the table."""
    found = register.find_people(state)
    if not found:
        return draw_nothing_found("person", state)
    return widgets.paged_table(
        _COLUMNS,
        found,
        lambda person: _draw_row(person, register),
        page=state.page,
        page_ev="page",
        caption="People",
        key_of=lambda person: f"person:{person.id}",
        row_ev="who",
        sorted_by=state.sort,
    )


def _draw_row(person: PersonHandle, register: AccessRegister) -> list[Markup]:
    return [
        _draw_name(person, register),
        draw_roles(person.roles),
        draw_status(person.status),
        html("{open}", open=count(register.open_sessions.get(str(person.id), 0)))
        if register.sessions is not None
        else html('<span class="muted">not shown</span>'),
        draw_last_use(person.last_used_at, register.now),
    ]


def _draw_name(person: PersonHandle, register: AccessRegister) -> Markup:
    if person.status == "REMOVED":
        return html('<b>A person who left</b><span class="sub">…{end}</span>', end=str(person.id)[-6:])
    you = html(' <span class="muted">you</span>') if str(person.id) == register.my_id else NOTHING
    return html(
        '<b>{name}</b>{you}<span class="sub">{email}</span>',
        name=person.name or person.email,
        you=you,
        email=person.email,
    )


def export_people(lab: Lab, state: AccessState) -> Records[PersonHandle]:
    """Return all chosen people, in the order of the table."""
    return Records(load_register(lab, state).find_people(state), PersonHandle)


def write_people_python(state: AccessState) -> str:
    """Write Python that lists them."""
    return write_filtered("lab.people.list()", "people", state, role=state.role)


PANE: Final = Pane(
    key="people",
    question="People",
    reading=write_reading,
    load=load_register,
    draw=draw_people,
    reads=(),
    scope=Scope.USERS_READ.value,
    copy_python=write_people_python,
    export=export_people,
)
