"""Queries of delegations; every query names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import CompoundSelect, Select, SelectBase, func, or_, select, union

from attestlab.agents.delegation.rules import Direction
from attestlab.agents.delegation.tables import Delegation, DelegationRecord
from attestlab.agents.rules import AgentStatus
from attestlab.agents.tables import Agent, AgentKey, AgentKeyRecord, AgentRecord
from attestlab.core.db.conditions import is_among
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.core.errors import NotFound

delegations = table_of(Delegation)
_agents = table_of(Agent)
_keys = table_of(AgentKey)
_ALIVE: Final = delegations.c.revoked_at.is_(None)
_BY_DEPTH: Final = (delegations.c.depth, delegations.c.id)


def get(execute: Execute, delegation_id: UUID, *, tenant_id: UUID) -> DelegationRecord:
    """Get a delegation of the tenant; those of other tenants are not found.

    Raises:
        NotFound: the tenant has no such delegation.
    """
    mine = (delegations.c.id == delegation_id, delegations.c.tenant_id == tenant_id)
    row = fetch_one(execute(select(*delegations.c).where(*mine)), DelegationRecord)
    if row is None:
        raise NotFound("delegation", delegation_id)
    return row


def find_many(execute: Execute, ids: Collection[UUID]) -> list[DelegationRecord]:
    """Find delegations of any tenant by id; unknown ids are left out."""
    return fetch_all(execute(select(*delegations.c).where(delegations.c.id.in_(ids))), DelegationRecord)


def find_received(execute: Execute, agent_id: UUID) -> DelegationRecord | None:
    """Find the delegation that an agent received and that is not revoked; it may have expired."""
    query = select(*delegations.c).where(delegations.c.child_agent_id == agent_id, _ALIVE)
    return fetch_one(execute(query), DelegationRecord)


def was_born(execute: Execute, agent_id: UUID) -> bool:
    """Whether an agent was registered with a delegation, so that it has nothing without one."""
    births = select(delegations.c.id).where(delegations.c.child_agent_id == agent_id, delegations.c.is_birth)
    return execute(births.limit(1)).first() is not None


def has_given(execute: Execute, agent_id: UUID, *, now: datetime) -> bool:
    """Whether an agent has given a delegation that is neither revoked nor expired."""
    live = (delegations.c.parent_agent_id == agent_id, _ALIVE, delegations.c.expires_at > now)
    return execute(select(delegations.c.id).where(*live).limit(1)).first() is not None


def list_chain(execute: Execute, row: DelegationRecord) -> list[DelegationRecord]:
    """List the delegations from the root to this one."""
    walk = select(delegations.c.id, delegations.c.previous_id).where(delegations.c.id == row.id)
    above = walk.cte("above", recursive=True)
    further = select(delegations.c.id, delegations.c.previous_id).join(above, delegations.c.id == above.c.previous_id)
    above = above.union_all(further)
    query = select(*delegations.c).join(above, delegations.c.id == above.c.id).order_by(delegations.c.depth)
    return fetch_all(execute(query), DelegationRecord)


def list_below(execute: Execute, delegation_id: UUID) -> list[DelegationRecord]:
    """List a delegation and all that were given under it, without revoked ones, in the order of their depth."""
    first = select(delegations.c.id).where(delegations.c.id == delegation_id)
    return _list_alive_below(execute, first)


def list_below_agents(execute: Execute, agent_ids: Collection[UUID]) -> list[DelegationRecord]:
    """List the delegations that any of these agents gave or got, and all below, as `list_below` does."""
    return _list_alive_below(execute, _select_of_agents(agent_ids))


def count_open_below_agents(execute: Execute, agent_ids: Collection[UUID], *, now: datetime) -> int:
    """Count those of `list_below_agents` that have not expired."""
    is_below = delegations.c.id.in_(_select_ids_below(_select_of_agents(agent_ids)))
    query = select(func.count()).select_from(delegations).where(is_below, _ALIVE, delegations.c.expires_at > now)
    return int(execute(query).scalar_one())


def has_more_below(execute: Execute, delegation_id: UUID, than: int) -> bool:
    """Whether a delegation and those below it, revoked ones too, are more than a number; reads no further than that."""
    return _has_more(execute, select(delegations.c.id).where(delegations.c.id == delegation_id), than)


def has_more_below_agents(execute: Execute, agent_ids: Collection[UUID], than: int) -> bool:
    """Whether `list_below_agents` would list more than a number; counts those that are revoked below them, too."""
    return _has_more(execute, _select_of_agents(agent_ids), than)


def _has_more(execute: Execute, first: SelectBase, than: int) -> bool:
    first_ones = _select_ids_below(first).limit(than + 1).subquery()
    return int(execute(select(func.count()).select_from(first_ones)).scalar_one()) > than


def _select_of_agents(agent_ids: Collection[UUID]) -> CompoundSelect[tuple[UUID]]:
    """Select the delegations that agents gave and those that they got; as two queries, each has its index."""
    given, got = delegations.c.parent_agent_id, delegations.c.child_agent_id
    return union(*(select(delegations.c.id).where(is_among(column, agent_ids), _ALIVE) for column in (given, got)))


def _list_alive_below(execute: Execute, first: SelectBase) -> list[DelegationRecord]:
    is_below = delegations.c.id.in_(_select_ids_below(first))
    return fetch_all(execute(select(*delegations.c).where(is_below, _ALIVE).order_by(*_BY_DEPTH)), DelegationRecord)


def _select_ids_below(first: SelectBase) -> Select[UUID]:
    below = select(first.subquery().c.id).cte("below", recursive=True)
    below = below.union(select(delegations.c.id).join(below, delegations.c.previous_id == below.c.id))
    return select(below.c.id)


def page(
    execute: Execute, agent_id: UUID, direction: Direction | None, *, before: UUID | None, limit: int
) -> list[DelegationRecord]:
    """List the delegations that an agent gave, got or both, newest first, starting after `before`."""
    given, received = delegations.c.parent_agent_id == agent_id, delegations.c.child_agent_id == agent_id
    which = {Direction.GIVEN: given, Direction.RECEIVED: received}
    query = select(*delegations.c).where(or_(given, received) if direction is None else which[direction])
    if before is not None:
        query = query.where(delegations.c.id < before)
    return fetch_all(execute(query.order_by(delegations.c.id.desc()).limit(limit)), DelegationRecord)


def page_revoked(execute: Execute, *, after: int, limit: int) -> list[DelegationRecord]:
    """List the revoked delegations of all tenants whose revocation has a log index above `after`, in its order."""
    query = select(*delegations.c).where(delegations.c.revoked_index > after)
    return fetch_all(execute(query.order_by(delegations.c.revoked_index).limit(limit)), DelegationRecord)


def find_agents(execute: Execute, ids: Collection[UUID]) -> dict[UUID, AgentRecord]:
    """Find agents of any tenant by id."""
    rows = fetch_all(execute(select(*_agents.c).where(_agents.c.id.in_(ids))), AgentRecord)
    return {row.id: row for row in rows}


def list_unrevoked_agents(execute: Execute, ids: Collection[UUID]) -> list[AgentRecord]:
    """List those of these agents that are not revoked."""
    alive = _agents.c.status != AgentStatus.REVOKED.value
    return fetch_all(execute(select(*_agents.c).where(is_among(_agents.c.id, ids), alive)), AgentRecord)


def list_keys(execute: Execute, agent_ids: Collection[UUID]) -> Sequence[AgentKeyRecord]:
    """List the keys of agents, each agent's oldest first."""
    query: Select[tuple[object, ...]] = select(*_keys.c).where(_keys.c.agent_id.in_(agent_ids))
    return fetch_all(execute(query.order_by(_keys.c.log_index)), AgentKeyRecord)


def list_lineage(execute: Execute, agent_id: UUID, *, since: datetime) -> frozenset[UUID]:
    """List an agent with all agents above it, now or by a delegation that was revoked no earlier than `since`."""
    found, level = {agent_id}, {agent_id}
    while level:
        level = _list_parents(execute, level, since) - found
        found |= level
    return frozenset(found)


def _list_parents(execute: Execute, ids: Collection[UUID], since: datetime) -> set[UUID]:
    current = select(_agents.c.parent_agent_id).where(_agents.c.id.in_(ids), _agents.c.parent_agent_id.is_not(None))
    lasted = or_(delegations.c.revoked_at.is_(None), delegations.c.revoked_at >= since)
    earlier = select(delegations.c.parent_agent_id).where(delegations.c.child_agent_id.in_(ids), lasted)
    return set(execute(current.union(earlier)).scalars())
