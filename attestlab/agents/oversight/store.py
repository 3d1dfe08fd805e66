"""Queries of oversight; every query names its columns and binds values as parameters."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import ColumnElement, Select, exists, func, or_, select, type_coerce
from sqlalchemy.types import NullType

from attestlab.agents.oversight.results import ReviewRow, TreeRow
from attestlab.agents.oversight.rules import (
    DEFAULT_GRACE_DAYS,
    EXPIRING_WITHIN,
    MAX_KEY_AGE,
    UNUSED_AFTER,
    ReviewFinding,
)
from attestlab.agents.oversight.shapes import AgentReviewQuery
from attestlab.agents.oversight.tables import AgentSettings, AgentSettingsRecord
from attestlab.agents.rules import AgentStatus
from attestlab.agents.sessions.store import uses
from attestlab.agents.store import agents, keys
from attestlab.agents.tables import AgentRecord
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.core.filters import build_conditions
from attestlab.orgs.role_rules import UserStatus
from attestlab.orgs.store import IS_ACTIVE, users

settings = table_of(AgentSettings)
_TREE_COLUMNS: Final = tuple(agents.c[name] for name in TreeRow._fields if name != "depth")
_LEVEL: Final = select(
    agents.c.id,
    type_coerce(agents.c.parent_agent_id, NullType()),  # as the driver has it
    *(agents.c[name] for name in TreeRow._fields[3:-1]),
)
_HAS_OWNER: Final = exists().where(users.c.id == agents.c.owner_user_id, IS_ACTIVE)
_LAST_USE: Final = select(func.max(uses.c.last_used_at)).where(uses.c.agent_id == agents.c.id).scalar_subquery()


def list_path(execute: Execute, agent_id: UUID) -> list[UUID]:
    """List the agent and those above it, the root first."""
    start = select(agents.c.id, agents.c.parent_agent_id, agents.c.id.label("of")).where(agents.c.id == agent_id)
    walk = start.cte("walk", recursive=True)
    found: dict[UUID, UUID | None] = {}
    walk = walk.union(
        select(agents.c.id, agents.c.parent_agent_id, walk.c.of).join(walk, agents.c.id == walk.c.parent_agent_id)
    )
    for row in execute(select(walk.c.id, walk.c.parent_agent_id)):
        found[row[0]] = row[1]
    path, above = [agent_id], found.get(agent_id)
    while above is not None:
        path.append(above)
        above = found.get(above)
    return path[::-1]


def list_level(execute: Execute, parents: list[TreeRow], *, limit: int) -> list[TreeRow]:
    """List up to `limit` agents directly below these, which have one depth and one tenant, by id.

    Of each agent only its id becomes a UUID: a tree of 10,000 would spend half of its time on those that are known.
    """
    known: dict[object, UUID] = {row.id.hex: row.id for row in parents}  # PostgreSQL's driver has UUIDs already
    below = agents.c.parent_agent_id.in_([row.id for row in parents])
    tenant_id, depth = parents[0].tenant_id, parents[0].depth + 1
    rows = execute(_LEVEL.where(below).order_by(agents.c.id).limit(limit))
    return [TreeRow._make((row[0], tenant_id, known.get(row[1], row[1]), *row[2:], depth)) for row in rows]


def list_tree_agents(execute: Execute, path: list[UUID]) -> list[TreeRow]:
    """List the agents of a path, in its order."""
    rows = {row[0]: row for row in execute(select(*_TREE_COLUMNS).where(agents.c.id.in_(path)))}
    return [TreeRow._make((*rows[each], depth)) for depth, each in enumerate(path)]


def page_candidates(
    execute: Execute, query: AgentReviewQuery, *, tenant_id: UUID, now: datetime, before: UUID | None, limit: int
) -> list[ReviewRow]:
    """List agents that may have a finding, newest first, starting after `before`; none with a finding is left out."""
    return fetch_all(execute(select_candidates(query, tenant_id, now, before).limit(limit)), ReviewRow)


def select_candidates(
    query: AgentReviewQuery, tenant_id: UUID, now: datetime, before: UUID | None
) -> Select[tuple[object, ...]]:
    """Select the agents that may have a finding. A denied wildcard looks like one here: the rules decide."""
    conditions = [agents.c.tenant_id == tenant_id, _is_alive(now), *build_conditions(query, agents.c)]
    possible = _may_have(now)
    conditions.append(or_(*possible.values()) if query.finding is None else possible[query.finding])
    if before is not None:
        conditions.append(agents.c.id < before)
    named = ("id", "display_name", "agent_type", "status", "scopes", "owner_user_id", "created_at", "expires_at")
    columns = [
        *(agents.c[name] for name in named),
        keys.c.created_at.label("key_created_at"),
        _HAS_OWNER.label("has_active_owner"),
        _LAST_USE.label("last_active_at"),
    ]
    joined = select(*columns).join(keys, keys.c.kid == agents.c.key_id)
    return joined.where(*conditions).order_by(agents.c.id.desc())


def _is_alive(now: datetime) -> ColumnElement[bool]:
    is_valid = or_(agents.c.expires_at.is_(None), agents.c.expires_at > now)
    return (agents.c.status != AgentStatus.REVOKED.value) & is_valid


def _may_have(now: datetime) -> dict[ReviewFinding, ColumnElement[bool]]:
    """Return for each finding the condition that an agent with it meets."""
    since = now - UNUSED_AFTER
    used = exists().where(uses.c.agent_id == agents.c.id, uses.c.last_used_at > since)
    return {
        ReviewFinding.NO_EXPIRY: agents.c.expires_at.is_(None),
        ReviewFinding.EXPIRING: agents.c.expires_at <= now + EXPIRING_WITHIN,
        ReviewFinding.WILDCARD: agents.c.scopes.like("%:*%"),
        ReviewFinding.OLD_KEY: keys.c.created_at <= now - MAX_KEY_AGE,
        ReviewFinding.OWNERLESS: ~_HAS_OWNER,
        ReviewFinding.UNUSED: (agents.c.created_at <= since) & ~used,
    }


def list_owned(execute: Execute, user_id: UUID, *, limit: int) -> list[AgentRecord]:
    """List up to `limit` agents for which a person answers, without revoked ones."""
    theirs = (agents.c.owner_user_id == user_id, agents.c.status != AgentStatus.REVOKED.value)
    return fetch_all(execute(select(*agents.c).where(*theirs).order_by(agents.c.id).limit(limit)), AgentRecord)


def find_unnoticed(execute: Execute, *, limit: int) -> list[AgentRecord]:
    """Find up to `limit` agents of all tenants whose owner was removed before the service noted that."""
    is_left = (agents.c.owner_left_at.is_(None), users.c.status == UserStatus.REMOVED.value)
    query = select(*agents.c).join(users, users.c.id == agents.c.owner_user_id)
    alive = query.where(*is_left, agents.c.status != AgentStatus.REVOKED.value)
    return fetch_all(execute(alive.order_by(agents.c.id).limit(limit)), AgentRecord)


def find_settings(execute: Execute, tenant_id: UUID) -> AgentSettingsRecord | None:
    """Find what a tenant set for its agents."""
    return fetch_one(execute(select(*settings.c).where(settings.c.tenant_id == tenant_id)), AgentSettingsRecord)


def find_grace_days(execute: Execute, tenant_id: UUID) -> int:
    """Find for how many days an agent of a tenant may act without its owner."""
    found = find_settings(execute, tenant_id)
    return DEFAULT_GRACE_DAYS if found is None else found.ownerless_grace_days


def find_left(execute: Execute, *, now: datetime, limit: int) -> list[AgentRecord]:
    """Find up to `limit` active agents of all tenants whose owners left, and whose tenant's grace is over.

    It asks once for each grace that any tenant chose, so that each query reads due agents alone.
    """
    chosen = [row[0] for row in execute(select(settings.c.ownerless_grace_days).distinct())]
    own_grace = select(settings.c.ownerless_grace_days).where(settings.c.tenant_id == agents.c.tenant_id)
    grace = func.coalesce(own_grace.scalar_subquery(), DEFAULT_GRACE_DAYS)
    found: list[AgentRecord] = []
    for days in sorted({DEFAULT_GRACE_DAYS, *chosen}):
        is_left = agents.c.owner_left_at.is_not(None) & (agents.c.owner_left_at <= now - timedelta(days=days))
        due = (is_left, agents.c.status == AgentStatus.ACTIVE.value, grace == days)
        query = select(*agents.c).where(*due).order_by(agents.c.owner_left_at).limit(limit - len(found))
        found += fetch_all(execute(query), AgentRecord)
    return found
