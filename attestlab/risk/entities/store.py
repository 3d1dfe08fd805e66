"""Queries about many entities at once; each binds values as parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Table, func, select, tuple_

from attestlab.core.db.tables import Execute
from attestlab.risk.enforcement.store import cases, hold_at, list_entries
from attestlab.risk.rules import CaseStatus, Entity, EntityType
from attestlab.risk.signals.store import signals

MAX_SIGNALS_COUNTED = 1_000  # of an entity, the newest; so that a busy address does not take seconds


class SignalSummary(NamedTuple):
    """The number of an entity's newest signals, up to `MAX_SIGNALS_COUNTED`, and the highest of their scores."""

    count: int  # type: ignore[assignment]  # overrides tuple.count
    max_score: float | None


def summarize_signals(execute: Execute, tenant_id: UUID, entity: Entity) -> SignalSummary:
    """Count the newest signals of an entity."""
    its_own = (signals.c.entity_type == entity.type.value, signals.c.entity_id == entity.id)
    newest = select(signals.c.score).where(signals.c.tenant_id == tenant_id, *its_own)
    newest = newest.order_by(signals.c.seq.desc()).limit(MAX_SIGNALS_COUNTED)
    scores = newest.subquery()
    return SignalSummary(*execute(select(func.count(), func.max(scores.c.score)).select_from(scores)).one())


def find_open_cases(execute: Execute, tenant_id: UUID, entities: Collection[Entity]) -> Mapping[Entity, UUID]:
    """Find the open cases of entities."""
    is_open = cases.c.status == CaseStatus.OPEN.value
    query = select(cases.c.entity_type, cases.c.entity_id, cases.c.id).where(
        cases.c.tenant_id == tenant_id, is_open, _is_one_of(cases, entities)
    )
    return {Entity(EntityType(kind), entity_id): case_id for kind, entity_id, case_id in execute(query)}


def find_lists(
    execute: Execute, tenant_id: UUID, entities: Collection[Entity], *, now: datetime
) -> Mapping[Entity, Literal["allow", "deny"]]:
    """Find the list of each entity that is on one; `deny` wins over `allow`."""
    columns = list_entries.c
    query = select(columns.entity_type, columns.entity_id, columns.list).where(
        columns.tenant_id == tenant_id, _is_one_of(list_entries, entities), *hold_at(now)
    )
    rows = execute(query.order_by(columns.list))  # the last one remains
    return {Entity(EntityType(kind), entity_id): name for kind, entity_id, name in rows}


def _is_one_of(table: Table, entities: Collection[Entity]) -> ColumnElement[bool]:
    names = [(entity.type.value, entity.id) for entity in entities]
    return tuple_(table.c.entity_type, table.c.entity_id).in_(names)
