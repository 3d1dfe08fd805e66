"""Tables of requests for votes about a claim, and of the votes that agents signed."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import Double, Index, text
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class VoteRequestRecord(NamedTuple):
    """A request for votes about a claim that an agent makes.

    `claim_sha256` is the digest of the claim in base64url, which every vote signs. `confirm`, `deny` and `abstain`
    count its votes. `status` is pending until one of the first two reaches `required_votes`, or time is over.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    originator_agent_id: Annotated[UUID, Field(foreign_key="agents.id")]
    subject: Annotated[str, Field(max_length=1000)]
    claim_type: Annotated[str, Field(max_length=1000)]
    claim_value: Annotated[str, Field(max_length=1000)]
    claim_sha256: Annotated[str, Field(max_length=43)]
    required_votes: int
    min_trust_score: Annotated[float, Field(sa_type=Double)]
    status: Annotated[str, Field(max_length=9)]
    confirm: int
    deny: int
    abstain: int
    expires_at: datetime
    created_at: datetime
    decided_at: datetime | None = None


_PENDING = "status = 'pending'"
VoteRequest = model_of(
    VoteRequestRecord,
    "vote_requests",
    Index("ix_vote_requests_of_tenant", "tenant_id", "id"),
    Index("ix_vote_requests_of_agent", "originator_agent_id", "id"),
    Index("ix_vote_requests_pending", "expires_at", sqlite_where=text(_PENDING)),
)


@short_repr
class VoteRecord(NamedTuple):
    """The one vote of an agent about a request; `jws` is what it signed, with its key `kid`."""

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    request_id: Annotated[UUID, Field(foreign_key="vote_requests.id")]
    agent_id: Annotated[UUID, Field(foreign_key="agents.id")]
    verdict: Annotated[str, Field(max_length=7)]
    evidence: Annotated[str | None, Field(max_length=4000)]
    confidence: Annotated[float | None, Field(sa_type=Double)]
    kid: Annotated[str, Field(max_length=40)]
    jws: str
    created_at: datetime


Vote = model_of(
    VoteRecord,
    "votes",
    Index("ix_votes_of_request", "request_id", "agent_id", unique=True),
    Index("ix_votes_of_agent", "agent_id", "id"),
)
