"""The table of agents: what they are for, who answers for them, what they may do, and when they last worked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.orgs.rules import Scope
from attestlab_dashboards import icons, widgets
from attestlab_dashboards.agents.filters import draw_nothing_found
from attestlab_dashboards.agents.fleet import compose
from attestlab_dashboards.agents.state import FILTERS, AgentsState
from attestlab_dashboards.agents.words import draw_owner, draw_status, plural
from attestlab_dashboards.formats import count, time_tag
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.people import read_people
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.widgets import SHORT_PAGE_ROWS, TableColumn

_COLUMNS: Final = "id, name, kind, status, owner, has_left, depth, scopes, old_key, key_since, open, last"
_ORDERS: Final[Mapping[str, str]] = {
    "name": "lower(name)",
    "type": "kind",
    "status": "list_position(['active', 'suspended', 'revoked'], status)",
    "owner": "owner::VARCHAR",
    "depth": "depth",
    "key": "key_since",
    "open": "open",
    "last": "last",
}


class ListedAgent(NamedTuple):
    """An agent as the table shows it; `last` is when it last opened a session, None if it never did."""

    id: str
    name: str
    kind: str
    status: str
    owner: str | None
    has_left: bool
    depth: int
    scopes: list[str]
    old_key: bool
    key_since: datetime | None
    open: int
    last: datetime | None


class AgentPage(NamedTuple):
    """A page of the table: its rows, the number of all chosen agents, and the names of people."""

    now: datetime
    names: Mapping[str, str]
    rows: tuple[ListedAgent, ...]
    agents: int
    page: int


def compose_listing(state: AgentsState, *, page: int | None = None) -> LakeQuery:
    """Compose the query of one page, or of all rows; a page behind the last one is the last one."""
    name, is_down = state.sort.removeprefix("-"), state.sort.startswith("-")
    order = f"{_ORDERS[name]} {'DESC' if is_down else 'ASC'} NULLS LAST, lower(name), id"
    if page is None:
        return compose(state, f"SELECT {_COLUMNS} FROM chosen ORDER BY {order}")
    paged = f"""SELECT {_COLUMNS}, count(*) OVER () AS agents, row_number() OVER (ORDER BY {order}) AS place
FROM chosen QUALIFY (place - 1) // {SHORT_PAGE_ROWS} = least($page, (agents - 1) // {SHORT_PAGE_ROWS}) ORDER BY place"""
    return compose(state, paged, page=page - 1)


def load_listing(lab: Lab, state: AgentsState) -> AgentPage:
    """Load a page of the table."""
    rows = compose_listing(state, page=state.page).read_rows(lab)
    agents, place = (int(str(rows[0][name])) for name in ("agents", "place")) if rows else (0, 1)
    return AgentPage(
        lab.now(), read_people(lab), tuple(map(_read_row, rows)), agents, (place - 1) // SHORT_PAGE_ROWS + 1
    )


def export_listing(lab: Lab, state: AgentsState) -> Rows:
    """Return all chosen agents, in the order of the table."""
    return compose_listing(state).read(lab)


def write_listing_sql(state: AgentsState) -> str:
    """Write the query of all chosen agents."""
    return compose_listing(state).to_sql()


def _read_row(row: dict[str, object]) -> ListedAgent:
    return ListedAgent(**{name: row[name] for name in ListedAgent._fields})  # type: ignore[arg-type]  # the query's types


_HEADINGS: Final = (
    TableColumn("Agent", sort="name"),
    TableColumn("Type", phone=False, sort="type"),
    TableColumn("State", sort="status"),
    TableColumn("Answers for it", phone=False, sort="owner"),
    TableColumn("Granted", phone=False),
    TableColumn("Hops from root", "right", phone=False, sort="depth", is_for_desks=True),
    TableColumn("Key since", "right", phone=False, sort="key"),
    TableColumn("Open sessions", "right", phone=False, sort="open", is_for_desks=True),
    TableColumn("Last session", "right", sort="last"),
)
_SHOWN_SCOPES: Final = 2


def write_order(page: AgentPage, state: AgentsState) -> str:
    """Write how many agents there are, and their order."""
    column = next(each.title for each in _HEADINGS if each.sort == state.sort.removeprefix("-"))
    return f"{plural(page.agents, 'agent')}, by {column.lower()}"


def draw_table(page: AgentPage, state: AgentsState) -> Markup:
    """Draw a page of the table."""
    if not page.rows:
        return draw_nothing_found(state)
    listed = widgets.table(
        _HEADINGS,
        [_draw_row(row, page) for row in page.rows],
        caption="Agents",
        keys=[row.id for row in page.rows],
        row_ev="agent",
        sorted_by=state.sort,
    )
    return join([listed, widgets.pager(page.page, widgets.count_pages(page.agents), ev="page")])


def _draw_row(row: ListedAgent, page: AgentPage) -> list[Markup]:
    return [
        html("<b>{name}</b>", name=row.name),
        html("{kind}", kind=row.kind),
        draw_status(row.status),
        draw_owner(row.owner, page.names, has_left=row.has_left),
        _draw_granted(row.scopes),
        html("{depth}", depth=count(row.depth)),
        _draw_key(row, page.now),
        html("{open}", open=count(row.open)),
        time_tag(row.last, page.now) if row.last else html('<span class="muted">never</span>'),
    ]


def _draw_granted(scopes: list[str]) -> Markup:
    allows = [scope for scope in scopes if not scope.startswith("!")]
    more = len(allows) - _SHOWN_SCOPES
    return html(
        '<span class="ag-granted" title="{all}">{shown}{more}</span>',
        all=" ".join(scopes),
        shown=", ".join(allows[:_SHOWN_SCOPES]) or "nothing",
        more=f" and {more} more" if more > 0 else "",
    )


def _draw_key(row: ListedAgent, now: datetime) -> Markup:
    if row.key_since is None:
        return html('<span class="muted">not known</span>')
    since = time_tag(row.key_since, now)
    return (
        html('<span class="warn">{icon} {since}</span>', icon=icons.draw("warn"), since=since) if row.old_key else since
    )


PANE: Final = Pane(
    key="fleet",
    question="Agents",
    reading=write_order,
    load=load_listing,
    draw=draw_table,
    reads=(*FILTERS, "sort", "page"),
    scope=Scope.AGENTS_READ.value,
    copy_sql=write_listing_sql,
    export=export_listing,
    is_common=True,
)
