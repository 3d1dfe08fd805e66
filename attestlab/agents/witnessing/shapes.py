"""Wire models of requests for votes, votes and their consensus (CONTRACT 11.11)."""

from typing import Annotated

from pydantic import Field, StringConstraints

from attestlab.agents.delegation.shapes import AgentReference
from attestlab.agents.witnessing.rules import (
    DEFAULT_MIN_TRUST_SCORE,
    DEFAULT_REQUIRED_VOTES,
    DEFAULT_TTL_S,
    MAX_CLAIM_TEXT_LENGTH,
    MAX_EVIDENCE_LENGTH,
    MAX_REQUIRED_VOTES,
    MAX_TTL_S,
    MIN_REQUIRED_VOTES,
    MIN_TTL_S,
    VoteRequestStatus,
    VoteVerdict,
)
from attestlab.agents.witnessing.vote_tokens import MAX_VOTE_LENGTH
from attestlab.core.filters import NO_CONDITION, Filters, Where
from attestlab.core.shapes import In, Moment, Out, Uuid, one_of
from attestlab.web.paging import PageQuery

ClaimText = Annotated[str, StringConstraints(min_length=1, max_length=MAX_CLAIM_TEXT_LENGTH)]
UnitShare = Annotated[float, Field(ge=0, le=1)]
VoteRequestStatusName = Annotated[str, one_of(VoteRequestStatus)]
VerdictName = Annotated[str, one_of(VoteVerdict)]


class VotedClaimIn(In, wire_name="voted_claim_input", source="CONTRACT 11.11"):
    """A claim that other agents shall vote about."""

    subject: ClaimText
    """What it is about. Format: text, 1-1000 characters."""
    claim_type: ClaimText
    """What is claimed of it. Format: text, 1-1000 characters."""
    claim_value: ClaimText
    """The value that is claimed. Format: text, 1-1000 characters."""


class VoteRequestIn(In, wire_name="vote_request_input", source="CONTRACT 11.11"):
    """A request for votes about a claim that an agent makes."""

    originator_agent_id: AgentReference
    """The agent that makes the claim. Format: UUID of 36 characters, or maip:<8 digits>:<ULID>."""
    claim: VotedClaimIn
    """The claim."""
    required_witnesses: Annotated[int, Field(ge=MIN_REQUIRED_VOTES, le=MAX_REQUIRED_VOTES)] = DEFAULT_REQUIRED_VOTES
    """How many agents must confirm, or deny, to decide. Format: 1-10, by default 3."""
    min_trust_score: UnitShare = DEFAULT_MIN_TRUST_SCORE
    """The least trust score of who votes. Format: 0-1, by default 0.5."""
    ttl_seconds: Annotated[int, Field(ge=MIN_TTL_S, le=MAX_TTL_S)] = DEFAULT_TTL_S
    """How long it takes votes. Format: 300-604800 seconds, by default 86400."""


class VoteIn(In, wire_name="vote_input", source="CONTRACT 11.11"):
    """The vote of an agent about a claim."""

    agent_id: AgentReference
    """The agent that votes. Format: UUID of 36 characters, or maip:<8 digits>:<ULID>."""
    verdict: VoteVerdict
    """What it says. Format: confirm, deny or abstain."""
    evidence: Annotated[str, StringConstraints(min_length=1, max_length=MAX_EVIDENCE_LENGTH)] | None = None
    """Why; the vote signs its SHA-256. Format: text, 1-4000 characters."""
    confidence: UnitShare | None = None
    """How sure the agent is; it does not weigh the vote. Format: 0-1."""
    signature: Annotated[str, StringConstraints(min_length=1, max_length=MAX_VOTE_LENGTH)] | None = None
    """Own keys: the vote as the agent's holder signed it. Format: compact JWS, RFC 7515."""


class VoteRequestOut(Out, wire_name="vote_request", source="CONTRACT 11.11"):
    """A request for votes, as it is now."""

    request_id: Uuid
    """The request. Format: UUID, 36 characters."""
    originator_agent_id: Uuid
    """The agent that makes the claim. Format: UUID, 36 characters."""
    claim: VotedClaimIn
    """The claim."""
    claim_sha256: str
    """The SHA-256 of the claim's canonical JSON, which every vote signs. Format: base64url, 43 characters."""
    required_witnesses: int
    """How many agents must confirm, or deny, to decide. Format: 1-10."""
    min_trust_score: float
    """The least trust score of who votes. Format: 0-1."""
    status: VoteRequestStatusName
    """What the votes decided. Format: pending, confirmed, denied or expired."""
    confirm: int
    """The votes that confirm. Format: from 0."""
    deny: int
    """The votes that deny. Format: from 0."""
    abstain: int
    """The votes that do neither. Format: from 0."""
    expires_at: Moment
    """When it stops to take votes. Format: RFC 3339 date-time, UTC, milliseconds."""
    created_at: Moment
    """When it was made. Format: RFC 3339 date-time, UTC, milliseconds."""
    decided_at: Moment | None
    """When the last vote decided it, or it expired. Format: RFC 3339 date-time, UTC, milliseconds."""


class VoteResultOut(Out, wire_name="vote_result", source="CONTRACT 11.11"):
    """A vote that counts, and the request after it."""

    vote_id: Uuid
    """The vote. Format: UUID, 36 characters."""
    request_id: Uuid
    """The request. Format: UUID, 36 characters."""
    verdict: VerdictName
    """What the agent said. Format: confirm, deny or abstain."""
    status: VoteRequestStatusName
    """What the votes decided. Format: pending, confirmed or denied."""
    confirm: int
    """The votes that confirm. Format: from 0."""
    deny: int
    """The votes that deny. Format: from 0."""
    abstain: int
    """The votes that do neither. Format: from 0."""
    attested_at: Moment
    """When the vote counted. Format: RFC 3339 date-time, UTC, milliseconds."""


class VoteOut(Out, wire_name="vote", source="CONTRACT 11.11"):
    """A vote with what its agent signed."""

    vote_id: Uuid
    """The vote. Format: UUID, 36 characters."""
    agent_id: Uuid
    """The agent that voted. Format: UUID, 36 characters."""
    verdict: VerdictName
    """What it said. Format: confirm, deny or abstain."""
    evidence: str | None
    """Why. Format: text, 1-4000 characters."""
    confidence: float | None
    """How sure the agent was. Format: 0-1."""
    kid: str
    """The key that signed. Format: agk_ and 24 hex digits."""
    key_log_index: int
    """The log entry with which the agent got this key. Format: from 0."""
    jws: str
    """What the agent signed, of the type agent-vote+jwt. Format: compact JWS, RFC 7515."""
    attested_at: Moment
    """When the vote counted. Format: RFC 3339 date-time, UTC, milliseconds."""


class ConsensusOut(Out, wire_name="consensus", source="CONTRACT 11.11"):
    """What the votes about a claim decided, with every vote."""

    request_id: Uuid
    """The request. Format: UUID, 36 characters."""
    status: VoteRequestStatusName
    """What the votes decided. Format: pending, confirmed, denied or expired."""
    confirm: int
    """The votes that confirm. Format: from 0."""
    deny: int
    """The votes that deny. Format: from 0."""
    abstain: int
    """The votes that do neither. Format: from 0."""
    required_witnesses: int
    """How many agents must confirm, or deny, to decide. Format: 1-10."""
    claim_sha256: str
    """The SHA-256 of the claim's canonical JSON, which every vote signs. Format: base64url, 43 characters."""
    votes: list[VoteOut]
    """The votes, the earliest first. Format: one of each agent, at most 119."""
    decided_at: Moment | None
    """When the last vote decided it, or it expired. Format: RFC 3339 date-time, UTC, milliseconds."""


class VoteRequestsQuery(PageQuery, Filters, wire_name="vote_requests_query", source="CONTRACT 11.11"):
    """Filters of the list of requests for votes."""

    status: Annotated[VoteRequestStatus | None, NO_CONDITION] = None
    """Only requests in this state. Format: pending, confirmed, denied or expired."""
    originator_agent_id: Annotated[Uuid | None, Where("originator_agent_id")] = None
    """Only requests about claims of this agent. Format: UUID, 36 characters."""
