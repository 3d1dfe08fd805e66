"""The review: the agents that need a look, each with why; a finding narrows the page to its agents."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.agents.fleet import compose
from attestlab_dashboards.agents.overview import FleetCounts, load_overview
from attestlab_dashboards.agents.state import FILTERS, FINDINGS, AgentsState
from attestlab_dashboards.agents.words import FINDING_WORDS, draw_owner, draw_status, plural
from attestlab_dashboards.formats import count, day
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.people import read_people
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import TableColumn

REVIEW_ROWS: Final = 8
_CASES: Final = ", ".join(f"CASE WHEN {name} THEN '{name}' END" for name in FINDINGS)
_ALL: Final = f"""SELECT id, name, status, owner, has_left, expires_at, findings FROM (
  SELECT *, list_filter([{_CASES}], lambda finding: finding IS NOT NULL) AS findings
  FROM chosen WHERE status <> 'revoked')
WHERE len(findings) > 0"""
_ORDER: Final = "len(findings) DESC, lower(name), id"
_PAGE: Final = f"""SELECT *, count(*) OVER () AS agents, row_number() OVER (ORDER BY {_ORDER}) AS place FROM ({_ALL})
QUALIFY (place - 1) // {REVIEW_ROWS} = least($page, (agents - 1) // {REVIEW_ROWS}) ORDER BY place"""
_HEADINGS: Final = (
    TableColumn("Agent"),
    TableColumn("What needs a look"),
    TableColumn("State", phone=False),
    TableColumn("Answers for it", phone=False),
    TableColumn("Ends", "right", phone=False),
)


class FindingsRow(NamedTuple):
    """An agent with at least one finding."""

    id: str
    name: str
    status: str
    owner: str | None
    has_left: bool
    expires_at: datetime | None
    findings: list[str]


class ReviewPage(NamedTuple):
    """A page of the agents with findings, how many there are, and how many agents each finding has."""

    now: datetime
    names: Mapping[str, str]
    rows: tuple[FindingsRow, ...]
    agents: int
    page: int
    counts: FleetCounts


def load_review(lab: Lab, state: AgentsState) -> ReviewPage:
    """Load a page of the review."""
    rows = compose(state, _PAGE, page=state.review_page - 1).read_rows(lab)
    agents, place = (int(str(rows[0][name])) for name in ("agents", "place")) if rows else (0, 1)
    listed = tuple(FindingsRow(**{name: row[name] for name in FindingsRow._fields}) for row in rows)  # type: ignore[arg-type]  # the query's types
    page = (place - 1) // REVIEW_ROWS + 1
    return ReviewPage(lab.now(), read_people(lab), listed, agents, page, load_overview(lab, state))


def compose_review(state: AgentsState) -> LakeQuery:
    """Compose the query of all agents with findings."""
    return compose(state, f"{_ALL} ORDER BY {_ORDER}")


def export_review(lab: Lab, state: AgentsState) -> Rows:
    """Return all agents with findings."""
    return compose_review(state).read(lab)


def write_review_sql(state: AgentsState) -> str:
    """Write the query of all agents with findings."""
    return compose_review(state).to_sql()


def write_reading(page: ReviewPage, _state: AgentsState) -> str:
    """Write how many agents need a look."""
    verb = "needs" if page.agents == 1 else "need"
    return f"{count(page.agents)} of {plural(page.counts.standing, 'agent')} {verb} a look, revoked ones aside"


def draw_review(page: ReviewPage, state: AgentsState) -> Markup:
    """Draw the findings as buttons, and a page of the agents."""
    if not page.rows:
        return widgets.empty("Nothing to look at", "Each agent has an owner, an end, a young key and recent work.")
    listed = widgets.table(
        _HEADINGS,
        [_draw_row(row, page) for row in page.rows],
        caption="Review",
        keys=[row.id for row in page.rows],
        row_ev="agent",
        marks=[f"review-{row.id}" for row in page.rows],
    )
    return join(
        [
            _draw_counts(page.counts, state),
            listed,
            widgets.pager(page.page, -(-page.agents // REVIEW_ROWS), ev="review_page"),
        ]
    )


def _draw_counts(counts: FleetCounts, state: AgentsState) -> Markup:
    chips = [
        widgets.chip(
            html('{words} <span class="n">{number}</span>', words=FINDING_WORDS[name], number=count(number)),
            ev="finding",
            v=name,
            pressed=state.finding == name,
        )
        for name in FINDINGS
        if (number := getattr(counts, name))
    ]
    return html('<div class="chips ag-roots" role="group" aria-label="Findings">{chips}</div>', chips=join(chips))


def _draw_row(row: FindingsRow, page: ReviewPage) -> list[Markup]:
    return [
        html("<b>{name}</b>", name=row.name),
        html('<span class="ag-findings">{words}</span>', words=join(map(_draw_finding, row.findings), html(" "))),
        draw_status(row.status),
        draw_owner(row.owner, page.names, has_left=row.has_left),
        html("{end}", end=day(row.expires_at, page.now))
        if row.expires_at
        else html('<span class="muted">never</span>'),
    ]


def _draw_finding(name: str) -> Markup:
    tone: widgets.Tone = "bad" if name == "ownerless" else "warn"
    return widgets.pill(FINDING_WORDS[name], tone, "warn") if name in FINDING_WORDS else NOTHING


PANE: Final = Pane(
    key="review",
    question="What needs a look",
    reading=write_reading,
    load=load_review,
    draw=draw_review,
    reads=(*FILTERS, "review_page"),
    scope=Scope.AGENTS_READ.value,
    copy_sql=write_review_sql,
    export=export_review,
    is_common=True,
)
