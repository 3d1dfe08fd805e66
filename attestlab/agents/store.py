"""Queries of machine agents and their keys; every query names its columns and binds values as parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, bindparam, delete, func, or_, select

from attestlab.agents.rules import AgentStatus
from attestlab.agents.shapes import AgentsQuery
from attestlab.agents.tables import (
    Agent,
    AgentChallenge,
    AgentChallengeRecord,
    AgentKey,
    AgentKeyRecord,
    AgentRecord,
)
from attestlab.core.db.conditions import holds_text
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.core.filters import build_conditions
from attestlab.orgs.store import IS_ACTIVE, users

agents = table_of(Agent)
keys = table_of(AgentKey)
challenges = table_of(AgentChallenge)
IDS_PER_QUERY: Final = 500  # SQLite binds at most 32,766 values


class Ancestor(NamedTuple):
    """An agent above another one: what it may do itself, and what was delegated to it."""

    id: UUID
    parent_agent_id: UUID | None
    status: str
    expires_at: datetime | None
    scopes: str
    delegated_scopes: str | None
    delegated_until: datetime | None


def get(execute: Execute, agent_id: UUID, *, tenant_id: UUID) -> AgentRecord:
    """Get an agent of the tenant; those of other tenants are not found.

    Raises:
        NotFound: the tenant has no such agent.
    """
    query = select(*agents.c).where(agents.c.id == agent_id, agents.c.tenant_id == tenant_id)
    row = fetch_one(execute(query), AgentRecord)
    if row is None:
        raise NotFound("agent", agent_id)
    return row


def find(execute: Execute, agent_id: UUID) -> AgentRecord | None:
    """Find an agent of any tenant."""
    return fetch_one(execute(select(*agents.c).where(agents.c.id == agent_id)), AgentRecord)


def list_by_ids(execute: Execute, agent_ids: Collection[UUID]) -> dict[UUID, AgentRecord]:
    """List agents of any tenant by id; those that do not exist are left out."""
    found: dict[UUID, AgentRecord] = {}
    for ids in batch_ids(agent_ids):
        rows = fetch_all(execute(select(*agents.c).where(agents.c.id.in_(ids))), AgentRecord)
        found |= {row.id: row for row in rows}
    return found


def list_children(execute: Execute, parent_ids: Collection[UUID]) -> list[AgentRecord]:
    """List the agents to which others delegated, whatever their status."""
    found: list[AgentRecord] = []
    for ids in batch_ids(parent_ids):
        found += fetch_all(execute(select(*agents.c).where(agents.c.parent_agent_id.in_(ids))), AgentRecord)
    return found


def page(
    execute: Execute, query: AgentsQuery, *, tenant_id: UUID, now: datetime, before: UUID | None, limit: int
) -> list[AgentRecord]:
    """List the tenant's agents, newest first, starting after `before`."""
    conditions = [agents.c.tenant_id == tenant_id, *build_conditions(query, agents.c)]
    if query.status is not None:
        conditions.append(_has_status(query.status, now))
    if query.q is not None:
        conditions.append(or_(holds_text(agents.c.display_name, query.q), holds_text(agents.c.description, query.q)))
    if before is not None:
        conditions.append(agents.c.id < before)
    newest = select(agents.c.id).where(*conditions).order_by(agents.c.id.desc()).limit(limit)  # reads an index alone
    shown = select(*agents.c).where(agents.c.id.in_(newest)).order_by(agents.c.id.desc())
    return fetch_all(execute(shown), AgentRecord)


def _has_status(status: AgentStatus, now: datetime) -> ColumnElement[bool]:
    """Whether an agent has a status now: one that expired is revoked, whatever the row says."""
    is_over = agents.c.expires_at <= now
    if status is AgentStatus.REVOKED:
        return or_(agents.c.status == status.value, is_over)
    return (agents.c.status == status.value) & or_(agents.c.expires_at.is_(None), agents.c.expires_at > now)


def count(execute: Execute, tenant_id: UUID) -> int:
    """Count the tenant's agents, without revoked ones, which can never act again."""
    usable = (agents.c.tenant_id == tenant_id, agents.c.status != AgentStatus.REVOKED.value)
    number: int = execute(select(func.count()).select_from(agents).where(*usable)).scalar_one()
    return number


def list_ancestors(execute: Execute, agent_ids: Collection[UUID]) -> dict[UUID, list[Ancestor]]:
    """List the agents above each of these, the nearest first; those without a parent are left out."""
    rows: dict[UUID, Ancestor] = {}
    for ids in batch_ids(agent_ids):
        rows.update((row.id, row) for row in fetch_all(execute(_UPWARDS, {"ids": ids}), Ancestor))
    paths = {agent_id: list(_walk_up(rows, agent_id)) for agent_id in agent_ids}
    return {agent_id: path for agent_id, path in paths.items() if path}


def _walk_up(rows: Mapping[UUID, Ancestor], agent_id: UUID) -> Iterator[Ancestor]:
    agent = rows.get(agent_id)
    while agent is not None and agent.parent_agent_id is not None:
        agent = rows[agent.parent_agent_id]
        yield agent


def _select_upwards() -> Select[tuple[object, ...]]:
    """Select some agents and all above them, each once.

    It is built once: that takes 3 ms, and each session of a child asks for its ancestors. Its steps are scalar
    subqueries: of a recursive join PostgreSQL expects more rows than there are, and reads all agents of all tenants.
    """
    start = select(agents.c.id.label("id"), agents.c.parent_agent_id.label("above"))
    walk = start.where(agents.c.id.in_(bindparam("ids", expanding=True))).cte("walk", recursive=True)
    parent = agents.alias("parent")
    next_above = select(parent.c.parent_agent_id).where(parent.c.id == walk.c.above).scalar_subquery()
    walk = walk.union(select(walk.c.above, next_above).where(walk.c.above.is_not(None)))
    return select(*(agents.c[name] for name in Ancestor._fields)).where(agents.c.id.in_(select(walk.c.id)))


_UPWARDS: Final = _select_upwards()


def list_descendants(execute: Execute, agent_id: UUID) -> list[AgentRecord]:
    """List the agents below one that are not revoked, whatever their depth."""
    return fetch_all(execute(select(*agents.c).where(_is_below(agent_id))), AgentRecord)


def list_descendant_ids(execute: Execute, agent_id: UUID) -> list[UUID]:
    """List the ids of the agents below one that are not revoked, whatever their depth."""
    return list(execute(select(agents.c.id).where(_is_below(agent_id))).scalars())


def has_more_descendants(execute: Execute, agent_id: UUID, than: int) -> bool:
    """Whether there are more agents below one than a number, revoked ones too; reads no further than that."""
    first_ones = _select_below(agent_id).limit(than + 1).subquery()
    return int(execute(select(func.count()).select_from(first_ones)).scalar_one()) > than


def _is_below(agent_id: UUID) -> ColumnElement[bool]:
    return and_(agents.c.id.in_(_select_below(agent_id)), agents.c.status != AgentStatus.REVOKED.value)


def _select_below(agent_id: UUID) -> Select[UUID]:
    first = select(agents.c.id).where(agents.c.parent_agent_id == agent_id).cte("below", recursive=True)
    below = first.union(select(agents.c.id).join(first, agents.c.parent_agent_id == first.c.id))
    return select(below.c.id)


def find_overdue(execute: Execute, *, now: datetime, limit: int) -> list[AgentRecord]:
    """Find up to `limit` agents of all tenants that expired and are not revoked yet, earliest first."""
    due = (agents.c.expires_at <= now, agents.c.status != AgentStatus.REVOKED.value, agents.c.expires_at.is_not(None))
    query = select(*agents.c).where(*due).order_by(agents.c.expires_at).limit(limit)
    return fetch_all(execute(query), AgentRecord)


def list_keys(execute: Execute, agent_ids: Collection[UUID]) -> Mapping[UUID, list[AgentKeyRecord]]:
    """List the keys of several agents by agent, newest first."""
    found: defaultdict[UUID, list[AgentKeyRecord]] = defaultdict(list)
    for ids in batch_ids(agent_ids):
        query = select(*keys.c).where(keys.c.agent_id.in_(ids)).order_by(keys.c.log_index.desc())
        for row in fetch_all(execute(query), AgentKeyRecord):
            found[row.agent_id].append(row)
    return found


def page_keys(execute: Execute, agent_id: UUID, *, before: int | None, limit: int) -> list[AgentKeyRecord]:
    """List the keys of an agent, newest first, with log entries below `before`."""
    query = select(*keys.c).where(keys.c.agent_id == agent_id)
    if before is not None:
        query = query.where(keys.c.log_index < before)
    return fetch_all(execute(query.order_by(keys.c.log_index.desc()).limit(limit)), AgentKeyRecord)


def get_key(execute: Execute, agent_id: UUID, kid: str) -> AgentKeyRecord:
    """Get a key of an agent, with all columns.

    Raises:
        NotFound: the agent has no such key.
    """
    query = select(*keys.c).where(keys.c.agent_id == agent_id, keys.c.kid == kid)
    row = fetch_one(execute(query), AgentKeyRecord)
    if row is None:
        raise NotFound("key", kid)
    return row


def find_kid(execute: Execute, *, tenant_id: UUID, spki: bytes) -> str | None:
    """Find the kid of a public key among all agents of a tenant, whatever its status; None if it is unknown."""
    kid: str | None = execute(select(keys.c.kid).where(keys.c.tenant_id == tenant_id, keys.c.spki == spki)).scalar()
    return kid


def list_managed_keys(tx: Transaction) -> list[AgentKeyRecord]:
    """List the managed keys of the agents of all tenants, with all columns."""
    query = select(*keys.c).where(keys.c.sealed.is_not(None)).order_by(keys.c.kid)
    return fetch_all(tx.exec(query), AgentKeyRecord)


def find_challenge(execute: Execute, *, tenant_id: UUID, spki: bytes) -> AgentChallengeRecord | None:
    """Find the newest challenge for a public key."""
    query = select(*challenges.c).where(challenges.c.tenant_id == tenant_id, challenges.c.spki == spki)
    return fetch_one(execute(query.order_by(challenges.c.id.desc()).limit(1)), AgentChallengeRecord)


def delete_challenges(tx: Transaction, *, tenant_id: UUID, spki: bytes) -> None:
    """Delete the challenges for a public key: they were met, or another replaces them."""
    tx.exec(delete(challenges).where(challenges.c.tenant_id == tenant_id, challenges.c.spki == spki))


def delete_overdue_challenges(tx: Transaction, *, now: datetime) -> None:
    """Delete the challenges whose time is over."""
    tx.exec(delete(challenges).where(challenges.c.expires_at <= now))


def list_active_people(execute: Execute, user_ids: Collection[UUID]) -> frozenset[UUID]:
    """List those of these people who are active."""
    found: set[UUID] = set()
    for ids in batch_ids(user_ids):
        found |= set(execute(select(users.c.id).where(users.c.id.in_(ids), IS_ACTIVE)).scalars())
    return frozenset(found)


def batch_ids(ids: Collection[UUID]) -> list[list[UUID]]:
    """Divide ids into lists that a query can bind."""
    listed = list(ids)
    return [listed[start : start + IDS_PER_QUERY] for start in range(0, len(listed), IDS_PER_QUERY)]
