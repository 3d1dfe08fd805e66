"""Queries of agents' events; every query names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, func, select

from attestlab.agents.observability.rules import AgentEventStatus
from attestlab.agents.observability.tables import AgentEvent, AgentEventRecord
from attestlab.core.db.tables import Execute, iterate, table_of
from attestlab.risk.numbering import NumberedRows

events = table_of(AgentEvent)
NUMBERED = NumberedRows(events, AgentEventRecord)


class OutcomeCount(NamedTuple):
    """How often what others reported of an agent succeeded and failed."""

    ok: int
    failed: int


def count_outcomes(execute: Execute, agent_id: UUID, since: datetime) -> OutcomeCount:
    """Count the events of an agent from `since` on that it did not report through a session of its own."""
    failed = func.count().filter(events.c.status == AgentEventStatus.ERROR.value)
    of_others = (events.c.agent_id == agent_id, events.c.occurred_at >= since, events.c.reporting_session_id.is_(None))
    total, failures = execute(select(func.count(), failed).where(*of_others)).one()
    return OutcomeCount(total - failures, failures)


def select_events(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[AgentEventRecord]:
    """Return events by their numbers, `first` <= n < `end`, of one tenant or of all."""
    wanted = [events.c.seq >= first, events.c.seq < end]
    wanted += [] if tenant_id is None else [events.c.tenant_id == tenant_id]
    return iterate(connection.execute(select(*events.c).where(*wanted)), AgentEventRecord)
