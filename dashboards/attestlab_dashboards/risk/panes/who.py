"""Who: those behind the peak, then the entities of the period by escalated signals. A row opens the entity."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.row_iterator import Row
from attestlab.client.analysis.rows import Rows
from attestlab.risk.rules import Entity, EntityType
from attestlab_dashboards.cells import read_number, read_text, read_time, read_whole
from attestlab_dashboards.formats import count, plural, time_tag
from attestlab_dashboards.hues import hue_of
from attestlab_dashboards.issuer_names import load_issuer_names
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.risk.context import load_context, load_period
from attestlab_dashboards.risk.filters import IN_PERIOD, IN_TIME_BEFORE, bind, conditions_of, write_copy
from attestlab_dashboards.risk.panes.answer import RiskAnswer, load_answer
from attestlab_dashboards.risk.state import PERIOD, RiskState, write_entity_key
from attestlab_dashboards.risk.words import draw_entity, draw_state, kind_of, name_of, write_step
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import (
    SHORT_PAGE_ROWS,
    TableColumn,
    button,
    count_pages,
    empty,
    pager,
    share_bar,
    table,
)

READS: Final = (*PERIOD, "sort", "page")
_ORDERS: Final[Mapping[str, str]] = {
    "score": "score {way}, signals DESC",
    "signals": "signals {way}, score DESC",
    "change": "signals - coalesce(signals_before, 0) {way}, signals DESC, score DESC",
    "escalated": "escalated {way}, score DESC, signals DESC",
    "seen": "last_seen {way}, score DESC",
}


class ScoreFactor(NamedTuple):
    """A reason for a score: its name, its part of the score in points, and words that explain it."""

    name: str
    points: float
    explanation: str


@dataclass(frozen=True)
class RiskyEntity:
    """An entity of the period: its highest score with the factors of that score, its signals, and its state.

    `signals_before` are those of the time before, which is as long. `state` is `open`, `challenged`, an outcome of its
    last case, or empty.
    """

    entity: Entity
    score: float
    signals: int
    signals_before: int
    escalated: int
    last_seen: datetime
    state: str
    factors: Sequence[ScoreFactor]


@dataclass(frozen=True)
class RiskyEntities:
    """A page of entities, and how many there are. `names` has the names of issuers by id."""

    entities: Sequence[RiskyEntity]
    count: int
    threshold: float
    now: datetime
    names: Mapping[str, str]

    @property
    def pages(self) -> int:
        """The number of pages, at least 1."""
        return count_pages(self.count)


_ENTITIES: Final = """
SELECT entity_type, entity_id, max(score) AS score, count(*) AS signals, count(case_id) AS escalated,
    max(occurred_at) AS last_seen, arg_max(details, score) AS details
FROM signals WHERE {period} AND {conditions} GROUP BY entity_type, entity_id
"""
_BEFORE: Final = """
SELECT entity_type, entity_id, count(*) AS signals_before
FROM signals WHERE {before} AND {conditions} GROUP BY entity_type, entity_id
"""
_ON_PAGE: Final = "(entity_type, entity_id) IN (SELECT (entity_type, entity_id) FROM page)"
_COUNT_BEFORE: Final = "coalesce(signals_before, 0) AS signals_before"
_COMPARED: Final = "SELECT * FROM ({entities}) LEFT JOIN ({before}) USING (entity_type, entity_id)"
_PAGE: Final = """
WITH page AS MATERIALIZED (
    SELECT *, count(*) OVER () AS total FROM ({entities})
    ORDER BY {order}, entity_type, entity_id LIMIT {limit} OFFSET {offset}
), last_cases AS (
    SELECT entity_type, entity_id, arg_max(coalesce(outcome, status), opened_at) AS state, max(opened_at) AS opened_at,
        max(resolved_at) AS resolved_at
    FROM cases GROUP BY entity_type, entity_id
), last_challenges AS (
    SELECT subject_type, subject_id, max(created_at) AS challenged_at FROM challenges
    WHERE challenge_required GROUP BY subject_type, subject_id
)
SELECT page.*, {before_of_page}
    CASE WHEN challenged_at >= coalesce(resolved_at, opened_at, challenged_at) THEN 'challenged'
        ELSE coalesce(last_cases.state, '') END AS state
FROM page
LEFT JOIN last_cases USING (entity_type, entity_id)
LEFT JOIN last_challenges ON subject_type = page.entity_type AND subject_id = page.entity_id
{join_before}ORDER BY {order}, page.entity_type, page.entity_id
"""


def load_entities(lab: Lab, state: RiskState) -> RiskyEntities:
    """Load a page of entities; a page beyond the last one is the last one."""
    period, context = load_period(lab, state), load_context(lab)
    rows = list(lab.sql(*bind(_write_page(state), state, period)))
    if not rows and state.page > 1:
        return load_entities(lab, state.change(page=""))
    ids = [read_text(row, "entity_id") for row in rows if row["entity_type"] == EntityType.ISSUER]
    return RiskyEntities(
        entities=[_read_entity(row) for row in rows],
        count=read_whole(rows[0], "total") if rows else 0,
        threshold=context.threshold,
        now=lab.now(),
        names=load_issuer_names(lab, ids),
    )


def export_entities(lab: Lab, state: RiskState) -> Rows:
    """Return all entities of the period, as rows."""
    period = load_period(lab, state)
    return lab.sql(*bind(_write_all(state), state, period))


def copy_entities_sql(state: RiskState) -> str:
    """Return the query of all entities, to copy."""
    return write_copy(_write_all(state), state)


def read_factors(details: object) -> Sequence[ScoreFactor]:
    """Read the factors of a signal's details; none if its source sent a score alone."""
    try:
        given = json.loads(str(details)).get("factors") or []
        found = [_read_factor(each) for each in given]
    except (ValueError, TypeError, AttributeError, KeyError):
        return []
    return found


def _read_factor(given: Mapping[str, object]) -> ScoreFactor:
    return ScoreFactor(str(given["name"]), float(str(given["contribution"])), str(given.get("explanation", "")))


def _write_all(state: RiskState) -> str:
    order = f"{_order(state)}, entity_type, entity_id"
    return f"SELECT * EXCLUDE (details) REPLACE ({_COUNT_BEFORE}) FROM ({_write_compared(state)}) ORDER BY {order}"


def _write_page(state: RiskState) -> str:
    """Write the query of a page; where the change does not sort, only the page's own entities are counted before."""
    is_by_change = state.sort.lstrip("-") == "change"
    before = _BEFORE.format(before=IN_TIME_BEFORE, conditions=f"{conditions_of(state)} AND {_ON_PAGE}")
    return _PAGE.format(
        entities=_write_compared(state) if is_by_change else _write_entities(state),
        before_of_page="" if is_by_change else "signals_before,",
        join_before="" if is_by_change else f"LEFT JOIN ({before}) AS earlier USING (entity_type, entity_id)\n",
        order=_order(state),
        limit=SHORT_PAGE_ROWS,
        offset=SHORT_PAGE_ROWS * (state.page - 1),
    )


def _write_entities(state: RiskState) -> str:
    return _ENTITIES.format(period=IN_PERIOD, conditions=conditions_of(state))


def _write_compared(state: RiskState) -> str:
    before = _BEFORE.format(before=IN_TIME_BEFORE, conditions=conditions_of(state))
    return _COMPARED.format(entities=_write_entities(state), before=before)


def _order(state: RiskState) -> str:
    return _ORDERS[state.sort.lstrip("-")].format(way="DESC" if state.sort.startswith("-") else "ASC")


def _read_entity(row: Row) -> RiskyEntity:
    return RiskyEntity(
        entity=Entity(EntityType(read_text(row, "entity_type")), read_text(row, "entity_id")),
        score=read_number(row, "score"),
        signals=read_whole(row, "signals"),
        signals_before=read_whole(row, "signals_before") if row["signals_before"] is not None else 0,
        escalated=read_whole(row, "escalated"),
        last_seen=read_time(row, "last_seen"),
        state=read_text(row, "state"),
        factors=read_factors(row["details"]),
    )


_COLUMNS: Final = (
    TableColumn("Entity"),
    TableColumn("Score", "right", sort="score"),
    TableColumn("Mainly because of", phone=False),
    TableColumn("Signals", "right", phone=False, sort="signals"),
    TableColumn("Change", "right", phone=False, sort="change"),
    TableColumn("Escalated", "right", phone=False, sort="escalated"),
    TableColumn("Last seen", "right", phone=False, sort="seen"),
    TableColumn("State", phone=False),
)


@dataclass(frozen=True)
class Who:
    """A page of the entities that signals are about, and the answer, whose entities signals may only name."""

    found: RiskyEntities
    answer: RiskAnswer


def load_who(lab: Lab, state: RiskState) -> Who:
    """Load both; the answer is shared with the sentence at the top of the page."""
    return Who(load_entities(lab, state), load_answer(lab, state))


def draw_who(who: Who, state: RiskState) -> Markup:
    """Draw those behind the peak, and a page of entities."""
    found = who.found
    if not found.entities:
        reset = button("Reset all filters", ev="clear", v="all") if state.active_filters else html("")
        return empty("No entity matches", "No signal of this time passes the filters.", reset)
    return join(
        [
            _draw_culprits(who.answer),
            table(
                _COLUMNS,
                [_draw_row(each, found, state.shown_window.before) for each in found.entities],
                caption="Entities by score",
                keys=[write_entity_key(each.entity) for each in found.entities],
                row_ev="entity",
                sorted_by=state.sort,
            ),
            pager(min(state.page, found.pages), found.pages, ev="page"),
        ]
    )


def read_who(who: Who, state: RiskState) -> str:
    """Write the second line of the card."""
    order = {
        "score": "highest score",
        "signals": "most signals",
        "change": "rise of signals",
        "escalated": "most escalations",
        "seen": "last seen",
    }
    words = order[state.sort.lstrip("-")]
    entities = plural(who.found.count, "entity", "entities")
    return f"{entities} by {words}" + ("" if state.sort.startswith("-") else ", reversed")


def _draw_culprits(answer: RiskAnswer) -> Markup:
    """Draw whom the escalations of the peak name: often a device or an address that no signal is about."""
    culprit = answer.culprit
    if culprit is None:
        return NOTHING
    entities = join(
        html(
            '<button type="button" class="rk-link" data-ev="entity" data-v="{key}" data-key="who:{key}">'
            "{entity}</button>",
            key=write_entity_key(each),
            entity=draw_entity(each, answer.names),
        )
        for each in culprit.entities
    )
    return html(
        '<p class="rk-culprits"><span class="muted">Behind {when}</span>{entities}'
        '<span class="muted">{kind}, named by {signals} of {escalated}</span></p>',
        when=write_step(answer.start, answer.period),
        entities=entities,
        kind=kind_of(culprit.entities[0].type),
        signals=count(culprit.signals),
        escalated=plural(answer.escalated, "escalated signal"),
    )


def _draw_row(each: RiskyEntity, found: RiskyEntities, before: str) -> list[Markup]:
    tone = "red" if each.score >= found.threshold else "amber" if each.score >= found.threshold - 20 else "c4"
    return [
        draw_entity(each.entity, found.names),
        html(
            '<span class="rk-score"><b>{score}</b>{bar}</span>',
            score=f"{each.score:.0f}",
            bar=share_bar(each.score / 100, tone),
        ),
        _draw_factors(each),
        html("{n}", n=count(each.signals)),
        _draw_change(each, before),
        html("{n}", n=count(each.escalated)),
        time_tag(each.last_seen, found.now),
        draw_state(each.state),
    ]


def _draw_change(each: RiskyEntity, before: str) -> Markup:
    """Draw how many more signals an entity has than in the time before, and its number then as a tip."""
    change = each.signals - each.signals_before
    return html(
        '<span class="{tone}" data-tip="{tip}">{change}</span>',
        tone="bad" if change > 0 else "good" if change else "muted",
        tip=f"{plural(each.signals, 'signal')}, {count(each.signals_before)} in the {before.removeprefix('the ')}",
        change=f"{change:+,}" if change else "0",
    )


def _draw_factors(each: RiskyEntity) -> Markup:
    """Draw the parts of the score as a bar, with the name of the largest."""
    if not each.factors:
        return html('<span class="muted small">score of its source</span>')
    main = max(each.factors, key=lambda factor: factor.points)
    parts = (
        html(
            '<i class="f-{hue}" style="width:{width}%"></i>',
            hue=hue_of(factor.name),
            width=f"{max(0.0, factor.points):.1f}",
        )
        for factor in each.factors
    )
    title = ", ".join(f"{name_of(factor.name)}: {factor.points:+.0f} points" for factor in each.factors)
    return html(
        '<span class="rk-factors" title="{title}"><span class="bar">{parts}</span>'
        '<span class="small">{name}, {points} points</span></span>',
        title=title,
        parts=join(parts),
        name=name_of(main.name),
        points=f"{main.points:+.0f}",
    )


PANE: Final = Pane(
    key="who",
    question="Who",
    reading=read_who,
    load=load_who,
    draw=draw_who,
    reads=READS,
    copy_sql=copy_entities_sql,
    export=export_entities,
    is_common=True,
)
