"""Queries of agents' events; every query names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

import orjson
from sqlalchemy import Connection, func, select

from attestlab.agents.observability.rules import AgentEventStatus
from attestlab.agents.observability.tables import AgentEvent, AgentEventRecord
from attestlab.audit.store import events as trail
from attestlab.audit.trail import ATTEMPT
from attestlab.core.db.tables import Execute, iterate, table_of
from attestlab.risk.numbering import NumberedRows
from attestlab.risk.rules import Entity
from attestlab.risk.signals.store import signals

events = table_of(AgentEvent)
NUMBERED = NumberedRows(events, AgentEventRecord)
MAX_LINES: Final = 1_000  # of an audit trail that one refusal reads


class OutcomeCount(NamedTuple):
    """How often what others reported of an agent succeeded and failed."""

    ok: int
    failed: int


class RecentCount(NamedTuple):
    """How many events an agent has of the last minutes, of the shorter window of bursts, and how many were errors."""

    total: int
    in_burst: int
    errors: int


def count_outcomes(execute: Execute, agent_id: UUID, since: datetime) -> OutcomeCount:
    """Count the events of an agent from `since` on that its own sessions did not report."""
    failed = func.count().filter(events.c.status == AgentEventStatus.ERROR.value)
    of_others = (events.c.agent_id == agent_id, events.c.occurred_at >= since, events.c.reporting_session_id.is_(None))
    total, failures = execute(select(func.count(), failed).where(*of_others)).one()
    return OutcomeCount(total - failures, failures)


def count_recent(execute: Execute, agent_id: UUID, *, since: datetime, burst_since: datetime) -> RecentCount:
    """Count an agent's events after `since`, those of them after `burst_since`, and the errors."""
    in_burst = func.count().filter(events.c.occurred_at > burst_since)
    errors = func.count().filter(events.c.status == AgentEventStatus.ERROR.value)
    query = select(func.count(), in_burst, errors).where(events.c.agent_id == agent_id, events.c.occurred_at > since)
    return RecentCount(*execute(query).one())


def count_between(execute: Execute, agent_id: UUID, *, since: datetime, until: datetime) -> int:
    """Count an agent's events after `since` and up to `until`."""
    between = (events.c.occurred_at > since, events.c.occurred_at <= until)
    return int(execute(select(func.count()).where(events.c.agent_id == agent_id, *between)).scalar_one())


def count_refusals(execute: Execute, tenant_id: UUID, agent_id: str, *, since: datetime) -> int:
    """Count the requests of an agent after `since` that were refused for a missing scope, among its newest lines."""
    theirs = (trail.c.tenant_id == tenant_id, trail.c.actor_id == agent_id)
    columns = (trail.c.action, trail.c.timestamp, trail.c.record)
    newest = select(*columns).where(*theirs).order_by(trail.c.seq.desc()).limit(MAX_LINES).subquery()
    query = select(newest.c.record).where(newest.c.action == ATTEMPT, newest.c.timestamp > since)
    return sum("required_scope" in orjson.loads(record)["metadata"] for (record,) in execute(query))


def has_signal(
    execute: Execute, tenant_id: UUID, entity: Entity, source: str, signal_type: str, *, since: datetime
) -> bool:
    """Whether an entity has a signal of this source and type that occurred after `since`."""
    about = (signals.c.tenant_id == tenant_id, signals.c.entity_type == entity.type.value)
    kind = (signals.c.entity_id == entity.id, signals.c.source == source, signals.c.signal_type == signal_type)
    query = select(signals.c.id).where(*about, *kind, signals.c.occurred_at > since)
    return execute(query.limit(1)).first() is not None


def select_events(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[AgentEventRecord]:
    """Return events by their numbers, `first` <= n < `end`, of one tenant or of all."""
    wanted = [events.c.seq >= first, events.c.seq < end]
    wanted += [] if tenant_id is None else [events.c.tenant_id == tenant_id]
    return iterate(connection.execute(select(*events.c).where(*wanted)), AgentEventRecord)
