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
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext

_ENDED: Final = ("ended_at", "ended_because")


class SessionsOfAgents:
    """The open sessions of agents, as what ends with them."""

    def count_open(self, execute: Execute, agent_ids: Sequence[UUID], *, now: datetime) -> int:
        """Count the open sessions of these agents."""
        return len(store.list_open(execute, agent_ids, now=now))

    def end(self, tx: Transaction, agent_ids: Sequence[UUID], end: AgentEnd) -> int:
        """End the open sessions of these agents; returns how many it were."""
        return len(end_sessions(tx, store.list_open(tx.exec, agent_ids, now=end.at), end))


def end_sessions(tx: Transaction, rows: Sequence[AgentSessionRecord], end: AgentEnd) -> list[AgentSessionRecord]:
    """End open sessions, whose rows were read under the writer's lock; returns the new rows."""
    ended = [row._replace(ended_at=end.at, ended_because=end.because) for row in rows]

    def context_of(row: AgentSessionRecord) -> AuditContext:
        metadata = {"because": end.because}
        return AuditContext(row.tenant_id, end.actor, "agent_session.end", end.at, metadata)

    audited_write.change_all(tx, store.sessions, ended, _ENDED, context_of)
    return ended
