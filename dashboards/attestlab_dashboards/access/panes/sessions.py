"""The open sessions of people, newest first; an owner or admin ends them."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.collections.sessions import SessionHandle
from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.access.filters import draw_closed
from attestlab_dashboards.access.register import AccessRegister, load_register
from attestlab_dashboards.access.state import AccessState
from attestlab_dashboards.access.words import draw_last_use
from attestlab_dashboards.formats import plural, time_tag
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.widgets import TableColumn

_COLUMNS: Final = (
    TableColumn("Person"),
    TableColumn("Signed in", "right", phone=False),
    TableColumn("Last use", "right"),
    TableColumn("End it", "right", is_spoken_only=True),
)


def write_reading(register: AccessRegister, _state: AccessState) -> str:
    """Write how many there are."""
    if register.sessions is None:
        return ""
    return f"{plural(len(register.sessions), 'open session')} of people, newest first; agents have their own page"


def draw_sessions(register: AccessRegister, state: AccessState) -> Markup:
    """Draw a page of the sessions, and the way to those of agents."""
    if register.sessions is None:
        return draw_closed("sessions")
    listed = widgets.paged_table(
        _COLUMNS,
        register.sessions,
        lambda session: _draw_row(session, register),
        page=state.sessions_page,
        page_ev="sessions_page",
        caption="Sessions",
        key_of=lambda session: f"person:{session.user_id}",
        row_ev="who",
        mark_of=lambda session: f"session-{session.id}",
    )
    agents = html('<p class="ac-agents"><a href="agents">Sessions of agents</a></p>')
    return join([listed, agents])


def _draw_row(session: SessionHandle, register: AccessRegister) -> list[Markup]:
    name = register.names.get(str(session.user_id), "A person who left")
    return [
        html("<b>{name}</b>", name=name),
        time_tag(session.created_at, register.now),
        draw_last_use(session.last_used_at, register.now),
        html('<span class="muted">this one</span>') if session.current else _draw_end(session, name),
    ]


def _draw_end(session: SessionHandle, name: str) -> Markup:
    return html(
        '<button type="button" class="ac-act" data-ev="ask" data-v="end:{id}" data-key="ask:end:{id}" '
        'aria-label="End the session of {name}">End</button>',
        id=str(session.id),
        name=name,
    )


def export_sessions(lab: Lab, state: AccessState) -> Records[SessionHandle]:
    """Return all open sessions."""
    return Records(load_register(lab, state).sessions or (), SessionHandle)


def write_sessions_python(_state: AccessState) -> str:
    """Write the call of the facade that lists them."""
    return "lab.sessions.list(everyone=True).df()"


PANE: Final = Pane(
    key="sessions",
    question="Signed in",
    reading=write_reading,
    load=load_register,
    draw=draw_sessions,
    reads=(),
    scope=Scope.USERS_READ.value,
    copy_python=write_sessions_python,
    export=export_sessions,
)
