"""The sessions of the chosen agents, newest first."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.agents.fleet import compose
from attestlab_dashboards.agents.state import FILTERS, AgentsState
from attestlab_dashboards.agents.words import draw_status, plural
from attestlab_dashboards.formats import time_tag
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.widgets import TableColumn

SESSION_ROWS: Final = 8
_ALL: Final = """SELECT x.id, x.agent_id, c.name, x.created_at, x.expires_at, x.ended_at, x.ended_because, x.opened_by,
  CASE WHEN x.ended_at IS NOT NULL THEN 'terminated' WHEN x.expires_at <= now() THEN 'expired' ELSE 'active' END
    AS state
FROM agent_sessions x JOIN chosen c ON c.id = x.agent_id"""
_PAGE: Final = f"""SELECT *, count(*) OVER () AS sessions,
  row_number() OVER (ORDER BY created_at DESC, id DESC) AS place
FROM ({_ALL})
QUALIFY (place - 1) // {SESSION_ROWS} = least($page, (sessions - 1) // {SESSION_ROWS}) ORDER BY place"""
_COLUMNS: Final = (
    TableColumn("Agent"),
    TableColumn("State"),
    TableColumn("Opened", "right"),
    TableColumn("Ends", "right", phone=False),
    TableColumn("Opened by", phone=False, is_for_desks=True),
    TableColumn("Why it ended", phone=False, is_for_desks=True),
)
_OPENERS: Final = {"USER": "a person", "API_KEY": "a key of the tenant", "ASSERTION": "its own signature"}
_BECAUSE: Final = {
    "suspended": "the agent was suspended",
    "revoked": "the agent was revoked",
    "killed": "its tree was killed",
    "expired": "the agent expired",
    "terminated": "someone ended it",
    "delegation": "its delegation was revoked",
    "refresh_reuse": "a refresh token was used twice",
}


class SessionRow(NamedTuple):
    """A session as the table shows it."""

    id: str
    agent_id: str
    name: str
    created_at: datetime
    expires_at: datetime
    ended_at: datetime | None
    ended_because: str | None
    opened_by: str
    state: str


class SessionPage(NamedTuple):
    """A page of the sessions, and how many there are."""

    now: datetime
    rows: tuple[SessionRow, ...]
    sessions: int
    page: int


def compose_sessions(state: AgentsState) -> LakeQuery:
    """Compose the query of all sessions."""
    return compose(state, f"{_ALL} ORDER BY x.created_at DESC, x.id DESC")


def load_sessions(lab: Lab, state: AgentsState) -> SessionPage:
    """Load a page of the sessions."""
    rows = compose(state, _PAGE, page=state.sessions_page - 1).read_rows(lab)
    sessions, place = (int(str(rows[0][name])) for name in ("sessions", "place")) if rows else (0, 1)
    listed = tuple(SessionRow(**{name: row[name] for name in SessionRow._fields}) for row in rows)  # type: ignore[arg-type]  # the query's types
    return SessionPage(lab.now(), listed, sessions, (place - 1) // SESSION_ROWS + 1)


def export_sessions(lab: Lab, state: AgentsState) -> Rows:
    """Return all sessions of the chosen agents."""
    return compose_sessions(state).read(lab)


def write_sessions_sql(state: AgentsState) -> str:
    """Write the query of all these sessions."""
    return compose_sessions(state).to_sql()


def write_reading(page: SessionPage, _state: AgentsState) -> str:
    """Write how many there are."""
    return f"{plural(page.sessions, 'session')}, newest first"


def draw_sessions(page: SessionPage, _state: AgentsState) -> Markup:
    """Draw a page of the sessions."""
    if not page.rows:
        return widgets.empty("No session", html("One opens with <code>agent.session(scopes, minutes)</code>."))
    listed = widgets.table(
        _COLUMNS,
        [_draw_row(row, page.now) for row in page.rows],
        caption="Sessions",
        keys=[row.agent_id for row in page.rows],
        row_ev="agent",
        marks=[f"session-{row.id}" for row in page.rows],
    )
    return join([listed, widgets.pager(page.page, -(-page.sessions // SESSION_ROWS), ev="sessions_page")])


def _draw_row(row: SessionRow, now: datetime) -> list[Markup]:
    return [
        html("<b>{name}</b>", name=row.name),
        draw_status(row.state),
        time_tag(row.created_at, now),
        time_tag(row.ended_at or row.expires_at, now),
        html("{opener}", opener=_OPENERS.get(row.opened_by, row.opened_by.lower())),
        html('<span class="muted">{why}</span>', why=_explain_end(row)),
    ]


def _explain_end(row: SessionRow) -> str:
    if row.ended_because is None:
        return "its time was over" if row.state == "expired" else "open"
    return _BECAUSE.get(row.ended_because, row.ended_because)


PANE: Final = Pane(
    key="sessions",
    question="Sessions",
    span=7,
    reading=write_reading,
    load=load_sessions,
    draw=draw_sessions,
    reads=(*FILTERS, "sessions_page"),
    scope=Scope.AGENTS_READ.value,
    copy_sql=write_sessions_sql,
    export=export_sessions,
    is_common=True,
)
