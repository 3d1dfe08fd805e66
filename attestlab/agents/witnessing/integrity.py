"""Integrity check of votes: each is what its agent signed with its key, and each request has the tally of its votes."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, func, select

from attestlab.agents import store as agent_store
from attestlab.agents.tables import AgentKeyRecord
from attestlab.agents.witnessing import rules, store
from attestlab.agents.witnessing.rules import VoteRequestStatus, VoteTally, VoteVerdict
from attestlab.agents.witnessing.tables import VoteRecord, VoteRequestRecord
from attestlab.agents.witnessing.vote_tokens import (
    UnsignedVote,
    compute_evidence_digest,
    read_issued_at,
    verify_vote,
)
from attestlab.core.errors import AttestLabError

PAGE = 500
_UNENDED = (VoteRequestStatus.PENDING, VoteRequestStatus.EXPIRED)


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield votes that their agents did not sign, and requests that differ from their votes, as (id, problem)."""
    yield from _check_votes(connection)
    yield from _check_requests(connection)


def _check_votes(connection: Connection) -> Iterator[tuple[str, str]]:
    columns = (*store.votes.c, *agent_store.keys.c, store.requests.c.claim_sha256)
    query = (
        select(*columns)
        .join(agent_store.keys, agent_store.keys.c.kid == store.votes.c.kid, isouter=True)
        .join(store.requests, store.requests.c.id == store.votes.c.request_id)
        .order_by(store.votes.c.id)
        .execution_options(yield_per=PAGE)
    )
    width = len(store.votes.c)
    for row in connection.execute(query):
        vote, key = VoteRecord(*row[:width]), AgentKeyRecord(*row[width:-1])
        problem = _find_problem(vote, key, claim_sha256=row[-1])
        if problem is not None:
            yield str(vote.id), problem


def _find_problem(row: VoteRecord, key: AgentKeyRecord, *, claim_sha256: str) -> str | None:
    if key.agent_id != row.agent_id:
        return f"its key {row.kid} is not one of the agent {row.agent_id}"
    try:
        vote = UnsignedVote(
            id=row.id,
            agent_id=row.agent_id,
            request_id=row.request_id,
            claim_sha256=claim_sha256,
            verdict=VoteVerdict(row.verdict),
            evidence_sha256=compute_evidence_digest(row.evidence),
            confidence=row.confidence,
            issued_at=read_issued_at(row.jws),
        )
        verify_vote(row.jws, vote, key)
    except (AttestLabError, ValueError) as error:
        return f"the row is not what its agent signed: {error}"
    return None


def _check_requests(connection: Connection) -> Iterator[tuple[str, str]]:
    counted = {verdict: func.count().filter(store.votes.c.verdict == verdict.value) for verdict in VoteVerdict}
    query = (
        select(*store.requests.c, *(counted[verdict] for verdict in VoteVerdict))
        .join(store.votes, store.votes.c.request_id == store.requests.c.id, isouter=True)
        .group_by(store.requests.c.id)
        .order_by(store.requests.c.id)
        .execution_options(yield_per=PAGE)
    )
    width = len(store.requests.c)
    for row in connection.execute(query):
        request = VoteRequestRecord(*row[:width])
        problem = _find_difference(request, VoteTally(*row[width:]))
        if problem is not None:
            yield str(request.id), problem


def _find_difference(row: VoteRequestRecord, voted: VoteTally) -> str | None:
    if rules.compute_claim_digest(row.subject, row.claim_type, row.claim_value) != row.claim_sha256:
        return "its claim is not the one of its digest"
    if (row.confirm, row.deny, row.abstain) != voted:
        return f"its tally is {row.confirm}, {row.deny}, {row.abstain}, but its votes count {tuple(voted)}"
    decided = rules.decide(voted, row.required_votes)
    is_right = row.status in _UNENDED if decided is VoteRequestStatus.PENDING else row.status == decided
    return None if is_right else f"its status is {row.status}, but its votes make it {decided}"
