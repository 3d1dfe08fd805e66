"""Service for the oversight of a fleet: the tree of an agent, and the agents that want a look (CONTRACT 11.8)."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from attestlab.agents import rules as agent_rules
from attestlab.agents import store as agent_store
from attestlab.agents.oversight import store
from attestlab.agents.oversight.results import AgentNode, AgentTree, ReviewedAgent, ReviewRow, TreeRow
from attestlab.agents.oversight.rules import MAX_TREE_NODES, ReviewFacts, compute_tree_scopes, find_findings
from attestlab.agents.oversight.shapes import AgentReviewQuery
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.orgs.rules import Caller


class AgentOversight:
    """The trees and reviews of the agents of all tenants; it reads only."""

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def get_tree(self, agent_id: UUID, *, caller: Caller) -> AgentTree:
        """Get the agents above and below one, itself included, revoked ones too; at most `MAX_TREE_NODES`.

        Raises:
            NotFound: the caller's tenant has no such agent.
        """
        now = self.clock.now()
        with self.storage.read() as connection:
            agent_store.get(connection.execute, agent_id, tenant_id=caller.tenant_id)
            rows = _read_tree(connection.execute, agent_id)
        shown = rows[:MAX_TREE_NODES]
        scopes = compute_tree_scopes(shown, now=now)
        status_at = agent_rules.status_at
        nodes = [AgentNode(row, status_at(row.status, row.expires_at, now), scopes[row.id]) for row in shown]
        return AgentTree(nodes, len(rows) > MAX_TREE_NODES)

    def page_review(
        self,
        query: AgentReviewQuery = AgentReviewQuery(),  # noqa: B008 frozen
        *,
        caller: Caller,
        before: UUID | None = None,
        limit: int = 50,
    ) -> list[ReviewedAgent]:
        """List the tenant's agents that want a look, newest first, starting after `before`."""
        found: list[ReviewedAgent] = []
        with self.storage.read() as connection:
            while len(found) < limit:
                rows = self._page_candidates(connection.execute, query, caller, before, limit)
                found += self._keep_findings(rows, query)
                if len(rows) < limit:
                    break
                before = rows[-1].id
        return found[:limit]

    def _page_candidates(
        self, execute: Execute, query: AgentReviewQuery, caller: Caller, before: UUID | None, limit: int
    ) -> list[ReviewRow]:
        now = self.clock.now()
        return store.page_candidates(execute, query, tenant_id=caller.tenant_id, now=now, before=before, limit=limit)

    def _keep_findings(self, rows: list[ReviewRow], query: AgentReviewQuery) -> Iterator[ReviewedAgent]:
        now = self.clock.now()
        for row in rows:
            findings = find_findings(_read_facts(row), now=now)
            if findings if query.finding is None else query.finding in findings:
                yield ReviewedAgent(row, findings)


def _read_tree(execute: Execute, agent_id: UUID) -> list[TreeRow]:
    """Read the path to an agent and what is below it, level by level, and one more than a tree shows."""
    rows = store.list_tree_agents(execute, store.list_path(execute, agent_id))
    level = rows[-1:]
    while level and len(rows) <= MAX_TREE_NODES:
        level = store.list_level(execute, level, limit=MAX_TREE_NODES + 1 - len(rows))
        rows += level
    return rows


def _read_facts(row: ReviewRow) -> ReviewFacts:
    return ReviewFacts(
        has_active_owner=row.has_active_owner,
        last_active_at=row.last_active_at,
        created_at=row.created_at,
        expires_at=row.expires_at,
        scopes=row.scopes,
        key_created_at=row.key_created_at,
    )
