"""Queries of requests for votes and of votes; every query names its columns and binds values as parameters."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, and_, func, or_, select

from attestlab.agents.store import keys
from attestlab.agents.witnessing.rules import VoteRequestStatus
from attestlab.agents.witnessing.shapes import VoteRequestsQuery
from attestlab.agents.witnessing.tables import Vote, VoteRecord, VoteRequest, VoteRequestRecord
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.core.filters import build_conditions

requests = table_of(VoteRequest)
votes = table_of(Vote)


class DecisionCount(NamedTuple):
    """How many requests of an agent were confirmed, and how many confirmed or denied."""

    confirmed: int
    decided: int


def get(execute: Execute, request_id: UUID, *, tenant_id: UUID) -> VoteRequestRecord:
    """Get a request of the tenant; those of other tenants are not found.

    Raises:
        NotFound: the tenant has no such request.
    """
    mine = (requests.c.id == request_id, requests.c.tenant_id == tenant_id)
    row = fetch_one(execute(select(*requests.c).where(*mine)), VoteRequestRecord)
    if row is None:
        raise NotFound("request for votes", request_id)
    return row


def page(
    execute: Execute, query: VoteRequestsQuery, *, tenant_id: UUID, now: datetime, before: UUID | None, limit: int
) -> list[VoteRequestRecord]:
    """List the tenant's requests, newest first, starting after `before`."""
    conditions = [requests.c.tenant_id == tenant_id, *build_conditions(query, requests.c)]
    if query.status is not None:
        conditions.append(_has_status(query.status, now))
    if before is not None:
        conditions.append(requests.c.id < before)
    newest_first = select(*requests.c).where(*conditions).order_by(requests.c.id.desc()).limit(limit)
    return fetch_all(execute(newest_first), VoteRequestRecord)


def _has_status(status: VoteRequestStatus, now: datetime) -> ColumnElement[bool]:
    """Whether a request has a status now: a pending one whose time is over has expired, whatever the row says."""
    pending = requests.c.status == VoteRequestStatus.PENDING.value
    if status is VoteRequestStatus.PENDING:
        return and_(pending, requests.c.expires_at > now)
    stored = requests.c.status == status.value
    return or_(stored, and_(pending, requests.c.expires_at <= now)) if status is VoteRequestStatus.EXPIRED else stored


def find_overdue(tx: Transaction, *, now: datetime, limit: int) -> list[VoteRequestRecord]:
    """Find up to `limit` pending requests of all tenants whose time is over, earliest first."""
    due = (requests.c.status == VoteRequestStatus.PENDING.value, requests.c.expires_at <= now)
    query = select(*requests.c).where(*due).order_by(requests.c.expires_at).limit(limit)
    return fetch_all(tx.exec(query), VoteRequestRecord)


def list_votes(execute: Execute, request_id: UUID) -> list[tuple[VoteRecord, int]]:
    """List the votes about a request, the earliest first, each with the log index of the key that signed it."""
    query = select(*votes.c, keys.c.log_index).join(keys, keys.c.kid == votes.c.kid)
    earliest_first = query.where(votes.c.request_id == request_id).order_by(votes.c.created_at, votes.c.id)
    return [(VoteRecord(*row[:-1]), row[-1]) for row in execute(earliest_first)]


def find_vote(execute: Execute, request_id: UUID, agent_id: UUID) -> VoteRecord | None:
    """Find the vote of an agent about a request."""
    theirs = (votes.c.request_id == request_id, votes.c.agent_id == agent_id)
    return fetch_one(execute(select(*votes.c).where(*theirs)), VoteRecord)


def has_vote(execute: Execute, vote_id: UUID) -> bool:
    """Whether a vote with this id exists, of any tenant."""
    return execute(select(votes.c.id).where(votes.c.id == vote_id)).first() is not None


def count_decisions(execute: Execute, agent_id: UUID) -> DecisionCount:
    """Count the decided requests that an agent made; expired ones have no decision and do not count."""
    decided = (VoteRequestStatus.CONFIRMED.value, VoteRequestStatus.DENIED.value)
    theirs = (requests.c.originator_agent_id == agent_id, requests.c.status.in_(decided))
    query = select(requests.c.status, func.count()).where(*theirs).group_by(requests.c.status)
    counts: dict[str, int] = {row[0]: row[1] for row in execute(query)}
    return DecisionCount(counts.get(VoteRequestStatus.CONFIRMED.value, 0), sum(counts.values()))
