"""Whether more ends with a delegation than should end next to other requests (`core.execution.long_verbs`)."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from attestlab.agents.delegation import store
from attestlab.agents.sessions.ending import SessionsOfAgents
from attestlab.core.db.tables import Execute
from attestlab.core.execution.long_verbs import MAX_ROWS_INSIDE
from attestlab.orgs.rules import Caller


def would_revocation_end_many(
    execute: Execute, delegation_id: UUID, *, caller: Caller, sessions: SessionsOfAgents, now: datetime
) -> bool:
    """Whether very many delegations or sessions would end with a delegation of the caller's tenant."""
    found = store.find_many(execute, [delegation_id])
    if not found or found[0].tenant_id != caller.tenant_id:
        return False
    if store.has_more_below(execute, delegation_id, MAX_ROWS_INSIDE):
        return True
    children = [each.child_agent_id for each in store.list_below(execute, delegation_id)]
    return sessions.has_more(execute, children, MAX_ROWS_INSIDE, now=now)


def would_replacement_end_many(execute: Execute, child_id: UUID, *, caller: Caller, now: datetime) -> bool:
    """Whether an expired delegation to an agent would give way to a new one with very many below it."""
    received = store.find_received(execute, child_id)
    if received is None or received.tenant_id != caller.tenant_id or received.expires_at > now:
        return False
    return store.has_more_below(execute, received.id, MAX_ROWS_INSIDE)
