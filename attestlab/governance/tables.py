"""Table of governance requests."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr


class IssuerRequest(SQLModel, table=True):
    """A request to change an issuer's status or ratings.

    `approvals` is a JSON array of `{user_id, approved_at}`. `impact` is a JSON object with the counts of affected
    attestations and keys, taken at the request, at each approval and at the execution.
    """

    __tablename__ = "issuer_requests"
    __table_args__ = (Index("ix_issuer_requests_of_tenant", "tenant_id", "id"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id")
    issuer_id: UUID = Field(foreign_key="issuers.id", index=True)
    type: str = Field(max_length=20)
    reason: str = Field(max_length=1024)
    new_trust_tier: str | None = Field(default=None, max_length=12)
    new_risk_rating: str | None = Field(default=None, max_length=8)
    status: str = Field(max_length=8)
    requested_by: str = Field(max_length=64)
    created_at: datetime
    approvals: str = Field(max_length=2048)
    impact: str = Field(max_length=512)
    rejected_by: str | None = Field(default=None, max_length=64)
    rejected_at: datetime | None = None
    rejection_reason: str | None = Field(default=None, max_length=1024)
    executed_by: str | None = Field(default=None, max_length=64)
    executed_at: datetime | None = None
    log_index: int | None = Field(default=None, sa_type=BigInteger)


@short_repr
class IssuerRequestRecord(NamedTuple):
    """A row of `issuer_requests`."""

    id: UUID
    tenant_id: UUID
    issuer_id: UUID
    type: str
    reason: str
    new_trust_tier: str | None
    new_risk_rating: str | None
    status: str
    requested_by: str
    created_at: datetime
    approvals: str
    impact: str
    rejected_by: str | None = None
    rejected_at: datetime | None = None
    rejection_reason: str | None = None
    executed_by: str | None = None
    executed_at: datetime | None = None
    log_index: int | None = None
