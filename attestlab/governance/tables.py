"""Table of governance requests."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class IssuerRequestRecord(NamedTuple):
    """A request to change an issuer's status or ratings.

    `approvals` is a JSON array of `{user_id, approved_at}`. `impact` is a JSON object with the counts of affected
    attestations and keys, taken at the request, at each approval and at the execution.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    issuer_id: Annotated[UUID, Field(foreign_key="issuers.id", index=True)]
    type: Annotated[str, Field(max_length=20)]
    reason: Annotated[str, Field(max_length=1024)]
    new_trust_tier: Annotated[str | None, Field(max_length=12)]
    new_risk_rating: Annotated[str | None, Field(max_length=8)]
    status: Annotated[str, Field(max_length=8)]
    requested_by: Annotated[str, Field(max_length=64)]
    created_at: datetime
    approvals: Annotated[str, Field(max_length=2048)]
    impact: Annotated[str, Field(max_length=512)]
    rejected_by: Annotated[str | None, Field(max_length=64)] = None
    rejected_at: datetime | None = None
    rejection_reason: Annotated[str | None, Field(max_length=1024)] = None
    executed_by: Annotated[str | None, Field(max_length=64)] = None
    executed_at: datetime | None = None
    log_index: Annotated[int | None, Field(sa_type=BigInteger)] = None


IssuerRequest = model_of(
    IssuerRequestRecord, "issuer_requests", Index("ix_issuer_requests_of_tenant", "tenant_id", "id")
)
