"""Queries of the sessions of agents; every query names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, select

from attestlab.agents.sessions.tables import (
    AgentAssertion,
    AgentRefreshToken,
    AgentSession,
    AgentSessionRecord,
    AgentSessionUse,
)
from attestlab.core.db.tables import Execute, fetch_all, table_of

sessions = table_of(AgentSession)
refresh_tokens = table_of(AgentRefreshToken)
uses = table_of(AgentSessionUse)
assertions = table_of(AgentAssertion)
IDS_PER_QUERY = 500  # SQLite binds at most 32,766 values


def list_open(execute: Execute, agent_ids: Sequence[UUID], *, now: datetime) -> list[AgentSessionRecord]:
    """List the sessions of agents that have not ended and can still be used or refreshed, oldest first."""
    found = []
    for start in range(0, len(agent_ids), IDS_PER_QUERY):
        ids = agent_ids[start : start + IDS_PER_QUERY]
        is_open = (sessions.c.ended_at.is_(None), sessions.c.refresh_until > now)
        query = select(*sessions.c).where(sessions.c.agent_id.in_(ids), *is_open).order_by(sessions.c.id)
        found += fetch_all(execute(query), AgentSessionRecord)
    return found


def count_open_by_agent(execute: Execute, agent_ids: Collection[UUID], *, now: datetime) -> dict[UUID, int]:
    """Count the open sessions of agents; agents without any are left out."""
    is_open = (sessions.c.ended_at.is_(None), sessions.c.expires_at > now)
    query = select(sessions.c.agent_id, func.count()).where(sessions.c.agent_id.in_(agent_ids), *is_open)
    return {row[0]: row[1] for row in execute(query.group_by(sessions.c.agent_id))}


def find_last_uses(execute: Execute, agent_ids: Collection[UUID]) -> dict[UUID, datetime]:
    """Find when agents last used a session; agents that never did are left out."""
    query = select(uses.c.agent_id, func.max(uses.c.last_used_at)).where(uses.c.agent_id.in_(agent_ids))
    return {row[0]: row[1] for row in execute(query.group_by(uses.c.agent_id))}
