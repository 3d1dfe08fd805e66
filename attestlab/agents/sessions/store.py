"""Queries of the sessions of agents; every query names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, bindparam, delete, func, select

from attestlab.agents.sessions.rules import AgentSessionStatus
from attestlab.agents.sessions.shapes import AgentSessionsQuery
from attestlab.agents.sessions.tables import (
    AgentAssertion,
    AgentAssertionRecord,
    AgentRefreshToken,
    AgentRefreshTokenRecord,
    AgentSession,
    AgentSessionRecord,
    AgentSessionUse,
)
from attestlab.agents.store import agents
from attestlab.agents.tables import AgentRecord
from attestlab.core.db.conditions import is_among
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.db.upserts import Upsert
from attestlab.core.errors import NotFound
from attestlab.core.filters import build_conditions
from attestlab.orgs.store import tenants

sessions = table_of(AgentSession)
refresh_tokens = table_of(AgentRefreshToken)
uses = table_of(AgentSessionUse)
assertions = table_of(AgentAssertion)
KEEP_USES: Final = Upsert(uses, key=("session_id",), change=lambda new: {"last_used_at": new.last_used_at})
_SESSION_COLUMNS, _AGENT_COLUMNS = tuple(sessions.c), tuple(agents.c)
_WITH_AGENT = (
    select(*_SESSION_COLUMNS, *_AGENT_COLUMNS, tenants.c.plan, tenants.c.adjusted, tenants.c.addons)
    .join(agents, agents.c.id == sessions.c.agent_id)
    .join(tenants, tenants.c.id == sessions.c.tenant_id)
)
_BY_TOKEN = _WITH_AGENT.where(sessions.c.token_sha256 == bindparam("token_sha256"))
_BY_ID = _WITH_AGENT.where(sessions.c.id == bindparam("session_id"))


class SessionWithAgent(NamedTuple):
    """A session with its agent, and of their tenant what decides on limits."""

    session: AgentSessionRecord
    agent: AgentRecord
    plan: str
    adjusted: str | None
    addons: str | None


def find_by_token(execute: Execute, token_sha256: bytes) -> SessionWithAgent | None:
    """Find the session with this token, of any tenant and in any state."""
    return _read_with_agent(execute(_BY_TOKEN, {"token_sha256": token_sha256}).first())


def find_with_agent(execute: Execute, session_id: UUID) -> SessionWithAgent | None:
    """Find a session of any tenant, in any state."""
    return _read_with_agent(execute(_BY_ID, {"session_id": session_id}).first())


def _read_with_agent(row: Sequence[object] | None) -> SessionWithAgent | None:
    if row is None:
        return None
    end = len(_SESSION_COLUMNS) + len(_AGENT_COLUMNS)
    session = AgentSessionRecord._make(row[: len(_SESSION_COLUMNS)])
    agent = AgentRecord._make(row[len(_SESSION_COLUMNS) : end])
    return SessionWithAgent._make((session, agent, *row[end:]))


def find_agent(execute: Execute, session_id: UUID) -> UUID | None:
    """Find the agent of a session of any tenant, in any state."""
    agent_id: UUID | None = execute(select(sessions.c.agent_id).where(sessions.c.id == session_id)).scalar()
    return agent_id


def get(execute: Execute, session_id: UUID, *, tenant_id: UUID) -> AgentSessionRecord:
    """Get a session of the tenant; those of other tenants are not found.

    Raises:
        NotFound: the tenant has no such session.
    """
    query = select(*sessions.c).where(sessions.c.id == session_id, sessions.c.tenant_id == tenant_id)
    row = fetch_one(execute(query), AgentSessionRecord)
    if row is None:
        raise NotFound("session", session_id)
    return row


def page(
    execute: Execute, query: AgentSessionsQuery, *, tenant_id: UUID, now: datetime, before: UUID | None, limit: int
) -> list[AgentSessionRecord]:
    """List the tenant's sessions, newest first, starting after `before`."""
    conditions = [sessions.c.tenant_id == tenant_id, *build_conditions(query, sessions.c)]
    if query.status is not None:
        conditions += _has_status(query.status, now)
    if before is not None:
        conditions.append(sessions.c.id < before)
    newest_first = select(*sessions.c).where(*conditions).order_by(sessions.c.id.desc()).limit(limit)
    return fetch_all(execute(newest_first), AgentSessionRecord)


def _has_status(status: AgentSessionStatus, now: datetime) -> list[ColumnElement[bool]]:
    if status is AgentSessionStatus.TERMINATED:
        return [sessions.c.ended_at.is_not(None)]
    is_valid = sessions.c.expires_at > now if status is AgentSessionStatus.ACTIVE else sessions.c.expires_at <= now
    return [sessions.c.ended_at.is_(None), is_valid]


def list_unended(execute: Execute, agent_ids: Sequence[UUID], *, now: datetime) -> list[AgentSessionRecord]:
    """List the sessions of agents that can be used or refreshed, oldest first."""
    can_go_on = (sessions.c.ended_at.is_(None), sessions.c.refresh_until > now)
    query = select(*sessions.c).where(is_among(sessions.c.agent_id, agent_ids), *can_go_on).order_by(sessions.c.id)
    return fetch_all(execute(query), AgentSessionRecord)


def has_more_unended(execute: Execute, agent_ids: Sequence[UUID], than: int, *, now: datetime) -> bool:
    """Whether `list_unended` would list more than a number; reads no further than that."""
    can_go_on = (sessions.c.ended_at.is_(None), sessions.c.refresh_until > now)
    query = select(sessions.c.id).where(is_among(sessions.c.agent_id, agent_ids), *can_go_on)
    first_ones = query.limit(than + 1).subquery()
    return int(execute(select(func.count()).select_from(first_ones)).scalar_one()) > than


def count_open(execute: Execute, agent_ids: Collection[UUID], *, now: datetime) -> int:
    """Count the open sessions of all these agents."""
    is_open = (sessions.c.ended_at.is_(None), sessions.c.expires_at > now)
    query = select(func.count()).select_from(sessions).where(is_among(sessions.c.agent_id, agent_ids), *is_open)
    return int(execute(query).scalar_one())


def count_open_by_agent(execute: Execute, agent_ids: Collection[UUID], *, now: datetime) -> dict[UUID, int]:
    """Count the open sessions of agents; agents without any are left out."""
    is_open = (sessions.c.ended_at.is_(None), sessions.c.expires_at > now)
    query = select(sessions.c.agent_id, func.count()).where(sessions.c.agent_id.in_(agent_ids), *is_open)
    return {row[0]: row[1] for row in execute(query.group_by(sessions.c.agent_id))}


def find_last_uses(execute: Execute, agent_ids: Collection[UUID]) -> dict[UUID, datetime]:
    """Find when agents last used a session; agents that never did are left out."""
    query = select(uses.c.agent_id, func.max(uses.c.last_used_at)).where(uses.c.agent_id.in_(agent_ids))
    return {row[0]: row[1] for row in execute(query.group_by(uses.c.agent_id))}


def find_uses(execute: Execute, session_ids: Collection[UUID]) -> dict[UUID, datetime]:
    """Find when sessions were last used; those that never were are left out."""
    query = select(uses.c.session_id, uses.c.last_used_at).where(uses.c.session_id.in_(session_ids))
    return {row[0]: row[1] for row in execute(query)}


def find_refresh_token(execute: Execute, secret_sha256: bytes, session_id: UUID) -> AgentRefreshTokenRecord | None:
    """Find a refresh token of a session, used or not."""
    columns = refresh_tokens.c
    query = select(*columns).where(columns.secret_sha256 == secret_sha256, columns.session_id == session_id)
    return fetch_one(execute(query), AgentRefreshTokenRecord)


def keep_assertion(tx: Transaction, row: AgentAssertionRecord) -> bool:
    """Remember an assertion; returns False if it was known already."""
    known = tx.exec(select(assertions.c.digest).where(assertions.c.digest == row.digest)).first()
    if known is not None:
        return False
    tx.add(assertions, row)
    return True


def delete_overdue_assertions(tx: Transaction, *, now: datetime) -> None:
    """Delete the assertions that have expired, which open nothing anyway."""
    tx.exec(delete(assertions).where(assertions.c.expires_at <= now))
