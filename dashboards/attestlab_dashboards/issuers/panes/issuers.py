"""The table of issuers: their standing, keys and mints."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.client.handles.issuers import IssuerRequestHandle
from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import count, plural, time_tag
from attestlab_dashboards.issuers.failures import FAILURE_COLUMNS, find_days, write_failures
from attestlab_dashboards.issuers.filters import draw_nothing_found
from attestlab_dashboards.issuers.panes.requests import read_waiting
from attestlab_dashboards.issuers.standing import RISK_RANK, TIER_RANK, compose
from attestlab_dashboards.issuers.state import FILTERS, IssuerState
from attestlab_dashboards.issuers.viewer import Viewer, read_viewer
from attestlab_dashboards.issuers.words import (
    compare_standing,
    draw_change,
    draw_risk,
    draw_status,
    write_asked,
    write_word,
)
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.widgets import SHORT_PAGE_ROWS, TableColumn, pill

_COLUMNS: Final = """id, name, domain, status, trust_tier, risk_rating, jurisdiction, keys, old_keys, attestations,
  mints, failures, failures_before, last_mint, tier_then, risk_then, worse"""
_ORDERS: Final[Mapping[str, str]] = {
    "name": "lower(name)",
    "status": "list_position(['ACTIVE', 'SUSPENDED', 'REVOKED'], status)",
    "tier": TIER_RANK,
    "risk": RISK_RANK,
    "jurisdiction": "jurisdiction",
    "keys": "keys",
    "mints": "mints",
    "failures": "failures - failures_before",
    "change": "worse",
    "last": "last_mint",
}


class IssuerRow(NamedTuple):
    """An issuer as the table shows it; `tier_then` and `risk_then` are those of its first mint, None without one."""

    id: str
    name: str
    domain: str
    status: str
    trust_tier: str
    risk_rating: str
    jurisdiction: str | None
    keys: int
    old_keys: int
    attestations: int
    mints: int
    failures: int
    failures_before: int
    last_mint: datetime | None
    tier_then: str | None
    risk_then: str | None
    worse: int


class IssuerPage(NamedTuple):
    """A page of the table: its rows, the number of all chosen issuers, and the most mints that one of them has.

    `waiting` are the open requests by issuer, of which nothing is in force yet.
    """

    now: datetime
    viewer: Viewer
    rows: tuple[IssuerRow, ...]
    issuers: int
    most_mints: int
    page: int
    waiting: Mapping[str, IssuerRequestHandle]


def compose_listing(state: IssuerState, *, page: int | None = None) -> LakeQuery:
    """Compose the query of one page, or of all rows; a page behind the last one is the last one."""
    name, is_down = state.sort.removeprefix("-"), state.sort.startswith("-")
    order = f"{_ORDERS[name]} {'DESC' if is_down else 'ASC'} NULLS LAST, lower(name), id"
    listed = f"(SELECT chosen.*, {FAILURE_COLUMNS} FROM chosen LEFT JOIN ({write_failures(state)}) ON issuer_id = id)"
    if page is None:
        return compose(state, f"SELECT {_COLUMNS} FROM {listed} ORDER BY {order}")
    paged = f"""SELECT {_COLUMNS}, count(*) OVER () AS issuers, max(mints) OVER () AS most_mints,
  row_number() OVER (ORDER BY {order}) AS place FROM {listed}
QUALIFY (place - 1) // {SHORT_PAGE_ROWS} = least($page, (issuers - 1) // {SHORT_PAGE_ROWS}) ORDER BY place"""
    return compose(state, paged, page=page - 1)


def load_listing(lab: Lab, state: IssuerState) -> IssuerPage:
    """Load a page of the table."""
    rows = compose_listing(state, page=state.page).read_rows(lab)
    issuers, most = (int(str(rows[0][name])) for name in ("issuers", "most_mints")) if rows else (0, 0)
    page = (int(str(rows[0]["place"])) - 1) // SHORT_PAGE_ROWS + 1 if rows else 1
    listed = tuple(map(_read_row, rows))
    return IssuerPage(lab.now(), read_viewer(lab), listed, issuers, most, page, read_waiting(lab))


def export_listing(lab: Lab, state: IssuerState) -> Rows:
    """Return all chosen issuers, in the order of the table."""
    return compose_listing(state).read(lab)


def write_listing_sql(state: IssuerState) -> str:
    """Write the query of all chosen issuers."""
    return compose_listing(state).to_sql()


def _read_row(row: dict[str, object]) -> IssuerRow:
    return IssuerRow(**{name: row[name] for name in IssuerRow._fields})  # type: ignore[arg-type]  # the query's types


_HEADINGS: Final = (
    TableColumn("Issuer", sort="name"),
    TableColumn("Status", sort="status"),
    TableColumn("Tier", phone=False, sort="tier"),
    TableColumn("Risk", phone=False, sort="risk"),
    TableColumn("Jur.", phone=False, sort="jurisdiction", is_for_desks=True),
    TableColumn("Keys", "right", phone=False, sort="keys"),
    TableColumn("Mints, 30 days", "right", phone=False, sort="mints"),
    TableColumn("Failed checks", "right", sort="failures"),
    TableColumn("Since its first mint", sort="change"),
    TableColumn("Last mint", "right", phone=False, sort="last"),
)
_ACTION: Final = TableColumn("Change of its standing", "right", phone=False, is_spoken_only=True)
_SORTED_BY: Final = {
    "name": "name",
    "status": "status",
    "tier": "tier",
    "risk": "risk",
    "jurisdiction": "jurisdiction",
    "keys": "keys in use",
    "mints": "mints in the last 30 days",
    "failures": "change of failed verifications",
    "change": "attestations whose issuer stood better",
    "last": "last mint",
}


def write_order(page: IssuerPage, state: IssuerState) -> str:
    """Write how many issuers there are, and their order."""
    days = find_days(state, page.now).words
    order = f"{plural(page.issuers, 'issuer')}, by {_SORTED_BY[state.sort.removeprefix('-')]}"
    return f"{order}. Failed checks: {days}, against as long a time before"


def draw_table(page: IssuerPage, state: IssuerState) -> Markup:
    """Draw a page of the table."""
    if not page.rows:
        return draw_nothing_found(state)
    may_act = page.viewer.may_request
    table = widgets.table(
        [*_HEADINGS, _ACTION] if may_act else _HEADINGS,
        [_draw_row(row, page, may_act=may_act) for row in page.rows],
        caption="Issuers",
        keys=[row.id for row in page.rows],
        row_ev="issuer",
        sorted_by=state.sort,
    )
    return join([_draw_sort(state), table, widgets.pager(page.page, widgets.count_pages(page.issuers), ev="page")])


def _draw_sort(state: IssuerState) -> Markup:
    """Draw the choice of the order for phones, whose table has no head."""
    orders = [(f"-{name}" if name != "name" else name, words) for name, words in _SORTED_BY.items()]
    known = orders if state.sort in dict(orders) else [*orders, (state.sort, "another order")]
    return html(
        '<label class="chip is-choice is-sort">By <select data-ev="sort" data-key="choice:sort">{options}</select>'
        "</label>",
        options=widgets.option_list(known, state.sort),
    )


def _draw_row(row: IssuerRow, page: IssuerPage, *, may_act: bool) -> list[Markup]:
    cells = [
        html('<b>{name}</b><span class="sub">{domain}</span>', name=row.name, domain=row.domain),
        _draw_standing(row, page.waiting.get(row.id)),
        html("{tier}", tier=write_word(row.trust_tier)),
        draw_risk(row.risk_rating),
        _draw_country(row),
        _draw_keys(row),
        _draw_mints(row, page.most_mints),
        _draw_failures(row),
        _draw_changes(row),
        time_tag(row.last_mint, page.now) if row.last_mint else html('<span class="muted">never</span>'),
    ]
    return [*cells, _draw_action(row, page.waiting.get(row.id))] if may_act else cells


def _draw_standing(row: IssuerRow, request: IssuerRequestHandle | None) -> Markup:
    """Draw the status and, while a change of the issuer waits for a second person, what is asked."""
    status = draw_status(row.status)
    if request is None:
        return status
    return html("{status} {asked}", status=status, asked=pill(write_asked(request), "warn", "clock"))


def _draw_country(row: IssuerRow) -> Markup:
    if row.jurisdiction is None:
        return html('<span class="muted">none</span>')
    return html(
        '<button type="button" class="is-link" data-ev="jurisdiction" data-v="{code}" data-key="country:{id}" '
        'title="Only {code}">{code}</button>',
        code=row.jurisdiction,
        id=row.id,
    )


def _draw_keys(row: IssuerRow) -> Markup:
    if not row.old_keys:
        return html("{keys}", keys=count(row.keys))
    which = f"{count(row.old_keys)} old" if row.old_keys == row.keys else f"{row.old_keys} of {row.keys} old"
    return html('<span class="warn is-old" title="over the age limit">{which}</span>', which=which)


def _draw_mints(row: IssuerRow, most: int) -> Markup:
    bar = widgets.share_bar(row.mints / most if most else 0.0, "c0")
    return html('<span class="is-mints">{bar}<span>{mints}</span></span>', bar=bar, mints=count(row.mints))


def _draw_failures(row: IssuerRow) -> Markup:
    """Draw the failed verifications, and how many more they are than in the time before."""
    change = row.failures - row.failures_before
    if not change:
        return html("{failures}", failures=count(row.failures))
    return html(
        '{failures}<span class="sub {tone}">{change}</span>',
        failures=count(row.failures),
        tone="bad" if change > 0 else "good",
        change=f"{change:+,}",
    )


def _draw_changes(row: IssuerRow) -> Markup:
    if row.tier_then is None:
        return html('<span class="muted">no mint yet</span>')
    changes = compare_standing(row.tier_then, row.trust_tier, row.risk_then, row.risk_rating)
    if not changes:
        return html('<span class="muted">no change</span>')
    return join(map(draw_change, changes), html("<br>"))


def _draw_action(row: IssuerRow, request: IssuerRequestHandle | None) -> Markup:
    if row.status == "REVOKED":
        return html('<span class="muted">final</span>')
    if request is not None:
        return html(
            '<button type="button" class="is-act" data-ev="issuer" data-v="{id}" data-key="decide:{id}" '
            'aria-label="See what is asked for {name}">See</button>',
            id=row.id,
            name=row.name,
        )
    ask, label = ("suspend", "Suspend") if row.status == "ACTIVE" else ("reinstate", "Reinstate")
    return html(
        '<button type="button" class="is-act" data-ev="ask" data-v="{ask}:{id}" data-key="ask:{ask}:{id}" '
        'aria-label="{label} {name}">{label}</button>',
        ask=ask,
        id=row.id,
        label=label,
        name=row.name,
    )


PANE: Final = Pane(
    key="issuers",
    question="Issuers",
    reading=write_order,
    load=load_listing,
    draw=draw_table,
    reads=(*FILTERS, "range", "sort", "page", "age_limit"),
    scope=Scope.ISSUERS_READ.value,
    copy_sql=write_listing_sql,
    export=export_listing,
)
