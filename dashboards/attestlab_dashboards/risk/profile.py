"""All that is known about one entity: its score over time, its newest signals, cases, lists and challenges."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple

from attestlab import Lab
from attestlab.client.analysis.row_iterator import Row
from attestlab.client.handles.risk import CaseHandle, ChallengeHandle, ListEntryHandle
from attestlab.core.errors import NotFound
from attestlab.orgs.rules import Scope
from attestlab.risk.rules import Entity, EntityType
from attestlab_dashboards.cells import find_time, read_number, read_text, read_time, read_whole
from attestlab_dashboards.issuer_names import load_issuer_names
from attestlab_dashboards.people import read_people
from attestlab_dashboards.risk.context import load_context
from attestlab_dashboards.risk.filters import about_condition, parameters_about
from attestlab_dashboards.risk.panes.who import ScoreFactor, read_factors
from attestlab_dashboards.risk.state import RiskState, read_entity_key

MAX_HISTORY: Final = 20
POINTS: Final = 60  # of the score over time
MAX_CHALLENGES: Final = 5
SHOWN_CASES: Final = 3


class EntityEvent(NamedTuple):
    """A signal of an entity, or one that names it. `raw` is the JSON of its row."""

    id: str
    at: datetime
    source: str
    type: str
    score: float
    entity: Entity
    case_id: str
    factors: Sequence[ScoreFactor]
    raw: str


class ScorePoint(NamedTuple):
    """The highest score of an entity in one step of its time."""

    at: datetime
    score: float


@dataclass(frozen=True)
class EntityProfile:
    """An entity. `history` has its newest signals, then the one with the highest score if it is older.

    `is_named_only` is true if no signal is its own, as of a device that signals about users name. `may_act` says
    whether the person may challenge it, list it and resolve its cases. The newest `SHOWN_CASES` have all comments.
    """

    entity: Entity
    name: str
    signals: int
    escalated: int
    first_seen: datetime | None
    last_seen: datetime | None
    is_named_only: bool
    history: Sequence[EntityEvent]
    points: Sequence[ScorePoint]
    cases: Sequence[CaseHandle]
    lists: Sequence[ListEntryHandle]
    challenges: Sequence[ChallengeHandle]
    windows: Mapping[str, Mapping[str, int]]
    names: Mapping[str, str]
    own_ids: Collection[str]
    people: Mapping[str, str]
    threshold: float
    now: datetime
    may_act: bool

    @property
    def worst(self) -> EntityEvent | None:
        """The signal with the highest score."""
        return max(self.history, key=lambda event: event.score, default=None)


_PROFILE: Final = """
WITH own AS MATERIALIZED (SELECT * FROM signals WHERE {about}),
span AS (SELECT min(epoch_us(occurred_at)) AS low, max(epoch_us(occurred_at)) AS high FROM own),
newest AS (
    SELECT * FROM own
    QUALIFY row_number() OVER (ORDER BY occurred_at DESC, seq DESC) <= {history}
        OR row_number() OVER (ORDER BY score DESC, occurred_at DESC) = 1
)
SELECT 'total' AS part, count(*) AS signals, count(case_id) AS escalated, min(occurred_at) AS first_seen,
    max(occurred_at) AS occurred_at, count(*) FILTER (entity_type = $about_kind AND entity_id = $about_id) AS place
FROM own
UNION ALL BY NAME
    SELECT 'point' AS part, max(occurred_at) AS occurred_at, max(score) AS score,
        (epoch_us(occurred_at) - low) * {points} // (high - low + 1) AS place
    FROM own, span GROUP BY place
UNION ALL BY NAME
    SELECT 'signal' AS part, occurred_at, score, id, source, signal_type, entity_type, entity_id, details, case_id,
        event_id, replaces, created_at, -seq AS place
    FROM newest
ORDER BY part, place
"""
_RAW: Final = ("id", "source", "signal_type", "score", "entity_type", "entity_id", "occurred_at", "case_id")
_RAW_LINKS: Final = ("event_id", "replaces", "created_at")


def load_profile(lab: Lab, state: RiskState) -> EntityProfile | None:
    """Load the entity of the open drawer; None if none is open."""
    if not state.entity:
        return None
    entity, parts = read_entity_key(state.entity), _load_rows(lab, state.entity)
    total = parts["total"][0]
    history = [_read_event(row) for row in parts.get("signal", [])]
    names = load_issuer_names(
        lab, [each.id for each in [entity, *(event.entity for event in history)] if each.type is EntityType.ISSUER]
    )
    cases, lists, windows = _load_known(lab, entity)
    me = lab.me()
    return EntityProfile(
        entity=entity,
        name=names.get(entity.id, entity.id),
        signals=read_whole(total, "signals"),
        escalated=read_whole(total, "escalated"),
        first_seen=find_time(total, "first_seen"),
        last_seen=find_time(total, "occurred_at"),
        is_named_only=not read_whole(total, "place"),
        history=history,
        points=[ScorePoint(read_time(row, "occurred_at"), read_number(row, "score")) for row in parts.get("point", [])],
        cases=cases,
        lists=lists,
        challenges=list(
            lab.challenges.list(subject_type=entity.type.value, subject_id=entity.id, limit=MAX_CHALLENGES)
        ),
        windows=windows,
        names=names,
        own_ids=frozenset(map(str, (me.id, me.credential.id))),
        people=read_people(lab),
        threshold=load_context(lab).threshold,
        now=lab.now(),
        may_act=Scope.RISK_WRITE in me.credential.scopes,
    )


def _load_rows(lab: Lab, key: str) -> Mapping[str, Sequence[Row]]:
    entity = read_entity_key(key)
    sql = _PROFILE.format(about=about_condition(key), history=MAX_HISTORY, points=POINTS)
    parts: dict[str, list[Row]] = {}
    for row in lab.sql(sql, parameters_about(entity)):
        parts.setdefault(read_text(row, "part"), []).append(row)
    return parts


def _load_known(
    lab: Lab, entity: Entity
) -> tuple[Sequence[CaseHandle], Sequence[ListEntryHandle], Mapping[str, Mapping[str, int]]]:
    """Load the cases, the list entries and the counts by action; none if no signal is the entity's own."""
    kind, entity_id = entity.type.value, entity.id
    lists = list(lab.lists.list(entity_type=kind, entity_id=entity_id))
    try:
        known = lab.signals.entity(kind, entity_id)
    except NotFound:
        return [], lists, {}
    cases = list(lab.cases.list(entity_type=kind, entity_id=entity_id, limit=MAX_HISTORY))
    shown = map(partial(_complete, lab), cases[:SHOWN_CASES])
    return [*shown, *cases[SHOWN_CASES:]], lists, known.windows


def _complete(lab: Lab, case: CaseHandle) -> CaseHandle:
    """Return the case with all its comments; a list has the newest of each."""
    return case if case.comment_count == len(case.comments) else lab.cases[case.id]


def _read_event(row: Row) -> EntityEvent:
    raw = {name: _plain(row[name]) for name in (*_RAW, *_RAW_LINKS)}
    details = read_text(row, "details")
    return EntityEvent(
        id=read_text(row, "id"),
        at=read_time(row, "occurred_at"),
        source=read_text(row, "source"),
        type=read_text(row, "signal_type"),
        score=read_number(row, "score"),
        entity=Entity(EntityType(read_text(row, "entity_type")), read_text(row, "entity_id")),
        case_id=read_text(row, "case_id"),
        factors=read_factors(details),
        raw=json.dumps({**raw, "details": json.loads(details or "{}")}, indent=2, ensure_ascii=False),
    )


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value
