"""Service for votes: request them, vote, and read what the votes decided (CONTRACT 11.11)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from attestlab.agents import rules as agent_rules
from attestlab.agents import store as agent_store
from attestlab.agents.delegation import store as delegation_store
from attestlab.agents.keys import AgentKeys
from attestlab.agents.lifecycle import get_active
from attestlab.agents.tables import AgentRecord
from attestlab.agents.witnessing import rules, store
from attestlab.agents.witnessing.ending import settle
from attestlab.agents.witnessing.results import Consensus, CountedVote, LoggedVote
from attestlab.agents.witnessing.rules import Voter, VoteRequestStatus, VoteTally, VoteVerdict
from attestlab.agents.witnessing.shapes import VoteIn, VoteRequestIn, VoteRequestsQuery
from attestlab.agents.witnessing.tables import VoteRecord, VoteRequestRecord
from attestlab.agents.witnessing.vote_tokens import UnsignedVote, compute_evidence_digest, sign_vote
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, ValidationFailed
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs.rules import Caller


class Witnessing:
    """Requests for votes and the votes of all tenants. `tx` is the unit of work to join; without it, a verb commits."""

    def __init__(self, *, storage: Storage, clock: Clock, keys: AgentKeys) -> None:
        self.storage = storage
        self.clock = clock
        self.keys = keys

    def request(self, body: VoteRequestIn, *, caller: Caller, tx: Transaction | None = None) -> VoteRequestRecord:
        """Request votes about a claim that an agent makes: a row and an audit line.

        Raises:
            NotFound: the caller's tenant has no such agent.
            PermissionDenied: the caller is another agent.
            Conflict: the agent is not active.
        """
        originator_id = agent_rules.parse_agent_id(body.originator_agent_id, tenant_id=caller.tenant_id)
        agent_rules.require_own(caller, originator_id, verb="request votes for")
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            get_active(tx.exec, originator_id, caller, now, verb="request votes")
            row = _build_request(originator_id, body, caller.tenant_id, now)
            context = AuditContext(caller.tenant_id, caller, "witness_request.create", now)
            return audited_write.insert(tx, store.requests, row, context)

    def get(self, request_id: UUID, *, caller: Caller) -> VoteRequestRecord:
        """Get a request, as it is now.

        Raises:
            NotFound: the caller's tenant has no such request.
        """
        with self.storage.read() as connection:
            row = store.get(connection.execute, request_id, tenant_id=caller.tenant_id)
        return _at(row, self.clock.now())

    def page(
        self, query: VoteRequestsQuery, *, caller: Caller, before: UUID | None = None, limit: int = 50
    ) -> list[VoteRequestRecord]:
        """List the tenant's requests as they are now, newest first, starting after `before`."""
        now, mine = self.clock.now(), caller.tenant_id
        with self.storage.read() as connection:
            rows = store.page(connection.execute, query, tenant_id=mine, now=now, before=before, limit=limit)
        return [_at(row, now) for row in rows]

    def vote(self, request_id: UUID, body: VoteIn, *, caller: Caller, tx: Transaction | None = None) -> CountedVote:
        """Count the vote of an agent: its JWS, its row, audit lines; the vote that decides publishes the event.

        Raises:
            NotFound: the caller's tenant has no such request or agent.
            PermissionDenied: the caller is another agent, or the voter is not independent or has too little trust.
            Conflict: the request is decided or expired, or has 100 abstentions, or the agent is not active
                or has voted.
            ValidationFailed: the key is the agent's own, and the signature is missing or not of this vote; or the
                service holds the key, and there is a signature. `details` has what to sign.
        """
        agent_id = agent_rules.parse_agent_id(body.agent_id, tenant_id=caller.tenant_id)
        agent_rules.require_own(caller, agent_id, verb="vote for")
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            request = store.get(tx.exec, request_id, tenant_id=caller.tenant_id)
            agent = get_active(tx.exec, agent_id, caller, now, verb="vote")
            rules.require_pending(rules.status_at(request.status, request.expires_at, now), request.expires_at)
            _require_may_vote(tx.exec, agent, request)
            row = self._sign(tx, agent, request, body, now)
            context = AuditContext(caller.tenant_id, caller, "witness_vote.create", now)
            audited_write.insert(tx, store.votes, row, context)
            return CountedVote(row, _count(tx, request, body.verdict, replace(context, action="witness_request.count")))

    def consensus(self, request_id: UUID, *, caller: Caller) -> Consensus:
        """Get what the votes about a request decided, with every vote and what its agent signed.

        Raises:
            NotFound: the caller's tenant has no such request.
        """
        with self.storage.read() as connection:
            row = store.get(connection.execute, request_id, tenant_id=caller.tenant_id)
            votes = store.list_votes(connection.execute, request_id)
        return Consensus(_at(row, self.clock.now()), [LoggedVote(*each) for each in votes])

    def _sign(
        self, tx: Transaction, agent: AgentRecord, request: VoteRequestRecord, body: VoteIn, now: datetime
    ) -> VoteRecord:
        key = agent_store.get_key(tx.exec, agent.id, agent.key_id)
        unsigned = UnsignedVote(
            id=new_id(now),
            agent_id=agent.id,
            request_id=request.id,
            claim_sha256=request.claim_sha256,
            verdict=body.verdict,
            evidence_sha256=compute_evidence_digest(body.evidence),
            confidence=body.confidence,
            issued_at=now.replace(microsecond=0),
        )
        signed = sign_vote(unsigned, key, self.keys.unseal_signer(key), body.signature, now=now)
        if store.has_vote(tx.exec, signed.vote.id):
            message = f"The signed vote is {signed.vote.id}, which exists. Ask again what to sign."
            raise ValidationFailed.of("/signature", "used", message)
        return VoteRecord(
            id=signed.vote.id,
            tenant_id=request.tenant_id,
            request_id=request.id,
            agent_id=agent.id,
            verdict=body.verdict.value,
            evidence=body.evidence,
            confidence=body.confidence,
            kid=key.kid,
            jws=signed.jws,
            created_at=now,
        )


def _build_request(originator_id: UUID, body: VoteRequestIn, tenant_id: UUID, now: datetime) -> VoteRequestRecord:
    claim = body.claim
    return VoteRequestRecord(
        id=new_id(now),
        tenant_id=tenant_id,
        originator_agent_id=originator_id,
        subject=claim.subject,
        claim_type=claim.claim_type,
        claim_value=claim.claim_value,
        claim_sha256=rules.compute_claim_digest(claim.subject, claim.claim_type, claim.claim_value),
        required_votes=body.required_witnesses,
        min_trust_score=body.min_trust_score,
        status=VoteRequestStatus.PENDING.value,
        confirm=0,
        deny=0,
        abstain=0,
        expires_at=now + timedelta(seconds=body.ttl_seconds),
        created_at=now,
    )


def _require_may_vote(execute: Execute, agent: AgentRecord, request: VoteRequestRecord) -> None:
    keys = agent_store.list_keys(execute, [agent.id, request.originator_agent_id])

    def describe(agent_id: UUID) -> Voter:
        lineage = delegation_store.list_lineage(execute, agent_id, since=request.created_at)
        return Voter(agent_id, lineage, [key.spki for key in keys[agent_id]])

    rules.require_independent(describe(agent.id), describe(request.originator_agent_id))
    rules.require_trust(agent.trust_score, request.min_trust_score)
    if store.find_vote(execute, request.id, agent.id) is not None:
        message = "The agent has voted about this request; a vote stays as it is. Read GET .../consensus."
        raise Conflict(message, details={"reason": "has_voted"})


def _count(
    tx: Transaction, request: VoteRequestRecord, verdict: VoteVerdict, context: AuditContext
) -> VoteRequestRecord:
    before = VoteTally(request.confirm, request.deny, request.abstain)
    rules.require_room(before, verdict)
    tally = before.add(verdict)
    status = rules.decide(tally, request.required_votes)
    if status is VoteRequestStatus.PENDING:
        return audited_write.change(tx, store.requests, request, tally._asdict(), context)
    return settle(tx, request._replace(**tally._asdict()), status, context)


def _at(row: VoteRequestRecord, now: datetime) -> VoteRequestRecord:
    """Return a request as it is at this time: expired since its end, before the sweeper records it."""
    status = rules.status_at(row.status, row.expires_at, now)
    if status is VoteRequestStatus.EXPIRED:
        return row._replace(status=status.value, decided_at=row.expires_at)
    return row
