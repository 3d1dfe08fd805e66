"""Service for trust: an agent's score with all that explains it, and its history (CONTRACT 11.11)."""

from __future__ import annotations

from uuid import UUID

from attestlab.agents import store as agent_store
from attestlab.agents.trust import store
from attestlab.agents.trust.facts import collect_facts
from attestlab.agents.trust.rules import TrustScore, compute_trust
from attestlab.agents.trust.shapes import TrustHistoryQuery
from attestlab.agents.trust.tables import TrustChangeRecord
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.orgs.rules import Caller


class AgentTrust:
    """The trust scores of the agents of all tenants."""

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def explain(self, agent_id: UUID, *, caller: Caller) -> TrustScore:
        """Compute the score of an agent from its evidence as it is now.

        Raises:
            NotFound: the caller's tenant has no such agent.
        """
        now = self.clock.now()
        with self.storage.read() as connection:
            row = agent_store.get(connection.execute, agent_id, tenant_id=caller.tenant_id)
            facts, signals = collect_facts(connection.execute, [row], now=now)[agent_id]
            parent = None if row.parent_agent_id is None else agent_store.find(connection.execute, row.parent_agent_id)
        return compute_trust(facts, signals=signals, parent_score=parent and parent.trust_score, now=now)

    def history(
        self,
        agent_id: UUID,
        query: TrustHistoryQuery,
        *,
        caller: Caller,
        before: int | None = None,
        limit: int = 50,
    ) -> list[TrustChangeRecord]:
        """List the changes of an agent's score, newest first, with numbers below `before`.

        Raises:
            NotFound: the caller's tenant has no such agent.
        """
        with self.storage.read() as connection:
            agent_store.get(connection.execute, agent_id, tenant_id=caller.tenant_id)
            return store.page_changes(connection.execute, agent_id, query, before=before, limit=limit)
