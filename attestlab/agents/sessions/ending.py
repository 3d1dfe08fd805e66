"""The end of agents' sessions: by request, by a reused refresh token, or with the agent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from attestlab.agents.lifecycle import AgentEnd
from attestlab.agents.sessions import store
from attestlab.agents.sessions.tables import AgentSessionRecord
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.execution.long_verbs import require_declared
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext

_ENDED: Final = ("ended_at", "ended_because")


class SessionsOfAgents:
    """The open sessions of agents, as what ends with them."""

    def count_open(self, execute: Execute, agent_ids: Sequence[UUID], *, now: datetime) -> int:
        """Count the sessions of these agents whose tokens are valid."""
        return store.count_open(execute, agent_ids, now=now)

    def has_more(self, execute: Execute, agent_ids: Sequence[UUID], than: int, *, now: datetime) -> bool:
        """Whether more sessions than a number would end with these agents."""
        return store.has_more_unended(execute, agent_ids, than, now=now)

    def end(self, tx: Transaction, agent_ids: Sequence[UUID], end: AgentEnd) -> int:
        """End the sessions of these agents, also those that could be refreshed; returns how many tokens were valid."""
        return _count_valid(end_sessions(tx, store.list_unended(tx.exec, agent_ids, now=end.at), end), end.at)


def _count_valid(rows: Sequence[AgentSessionRecord], now: datetime) -> int:
    return sum(row.expires_at > now for row in rows)


def end_sessions(
    tx: Transaction, rows: Sequence[AgentSessionRecord], end: AgentEnd, *, reason: str | None = None
) -> list[AgentSessionRecord]:
    """End open sessions, whose rows were read under the writer's lock; returns the new rows."""
    require_declared(len(rows))
    ended = [row._replace(ended_at=end.at, ended_because=end.because) for row in rows]

    def context_of(row: AgentSessionRecord) -> AuditContext:
        metadata = {"because": end.because} if reason is None else {"because": end.because, "reason": reason}
        return AuditContext(row.tenant_id, end.actor, "agent_session.end", end.at, metadata)

    audited_write.change_all(tx, store.sessions, ended, _ENDED, context_of)
    return ended
