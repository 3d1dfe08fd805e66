"""Queries about many entities at once; each binds values as parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Integer, bindparam, func, select

from attestlab.core.db.tables import Execute
from attestlab.risk.enforcement.store import cases
from attestlab.risk.rules import CaseStatus, Entity, EntityType
from attestlab.risk.signals.store import signals

MAX_SIGNALS_COUNTED = 1_000  # of an entity, the newest; so that a busy address does not take seconds


class SignalSummary(NamedTuple):
    """The number of an entity's newest signals, up to `MAX_SIGNALS_COUNTED`, and the highest of their scores."""

    count: int  # type: ignore[assignment]  # overrides tuple.count
    max_score: float | None


_NEWEST = (
    select(signals.c.score)
    .where(
        signals.c.tenant_id == bindparam("tenant_id"),
        signals.c.entity_type == bindparam("type"),
        signals.c.entity_id == bindparam("id"),
    )
    .order_by(signals.c.seq.desc())
    .limit(bindparam("limit", type_=Integer))
    .subquery()
)
_SUMMARY = select(func.count(), func.max(_NEWEST.c.score)).select_from(_NEWEST)


def summarize_signals(execute: Execute, tenant_id: UUID, entity: Entity) -> SignalSummary:
    """Count the newest signals of an entity."""
    of_entity = {"tenant_id": tenant_id, "type": entity.type.value, "id": entity.id}
    return SignalSummary(*execute(_SUMMARY, {**of_entity, "limit": MAX_SIGNALS_COUNTED}).one())


def find_open_cases(execute: Execute, tenant_id: UUID, entities: Iterable[Entity]) -> Mapping[Entity, UUID]:
    """Find the open cases of entities."""
    columns, found = cases.c, {}
    for kind, ids in _group_ids(entities):
        of_kind = (columns.tenant_id == tenant_id, columns.entity_type == kind.value, columns.entity_id.in_(ids))
        query = select(columns.entity_id, columns.id).where(*of_kind, columns.status == CaseStatus.OPEN.value)
        found.update({Entity(kind, entity_id): case_id for entity_id, case_id in execute(query)})
    return found


def _group_ids(entities: Iterable[Entity]) -> Iterator[tuple[EntityType, list[str]]]:
    """Yield the ids of each type: SQLite uses an index for a list of ids, but not for a list of pairs."""
    ids: defaultdict[EntityType, list[str]] = defaultdict(list)
    for entity in entities:
        ids[entity.type].append(entity.id)
    yield from ids.items()
