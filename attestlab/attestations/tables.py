"""Tables of attestations, verification packs and verification tallies."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index, LargeBinary, text
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr

SINCE_0006 = {"info": {"since": "0006"}}
SINCE_0015 = {"info": {"since": "0015"}}
_REVOKED_OR_SUPERSEDED = "status IN ('REVOKED', 'SUPERSEDED')"
_VALID_WITH_EXPIRY = "status = 'VALID' AND expiry_at IS NOT NULL"


class Attestation(SQLModel, table=True):
    """A minted attestation.

    The columns of the signed statement never change; `nonce` opens the log entry's
    commitment. The `snapshot_*` columns hold the issuer's status and ratings at the mint. The
    file itself is never stored, only its hash and size. `changed_index` and `changed_at` are the
    index and time of the log entry that changed the status. `decision_id` is the policy decision
    that allowed the mint; null if no policy applied.
    """

    __tablename__ = "attestations"
    __table_args__ = (
        Index("ix_attestations_of_tenant", "tenant_id", "log_index"),
        Index("ix_attestations_of_issuer", "issuer_id", "log_index"),
        Index("ix_attestations_of_key", "tenant_id", "kid", "log_index"),
        # PostgreSQL uses the same conditions: see `migrations.models`.
        Index("ix_attestations_ended", "issuer_id", "log_index", sqlite_where=text(_REVOKED_OR_SUPERSEDED)),
        Index("ix_attestations_running_out", "expiry_at", sqlite_where=text(_VALID_WITH_EXPIRY)),
    )

    id: UUID = Field(primary_key=True)
    tenant_id: UUID
    issuer_id: UUID
    kid: str = Field(max_length=64)
    alg: str = Field(max_length=8)
    schema_id: str = Field(max_length=40)
    content_type: str = Field(max_length=40)
    claims: bytes = Field(sa_type=LargeBinary)
    claims_hash: str = Field(max_length=43)
    payload_hash: str = Field(max_length=43)
    payload_size: int | None = Field(default=None, sa_type=BigInteger)
    document_hash: str | None = Field(default=None, max_length=64, index=True)
    expiry_at: datetime | None = None
    created_at: datetime
    status: str = Field(max_length=10)
    signature: str
    custody: str = Field(max_length=8)
    log_index: int = Field(sa_type=BigInteger, unique=True)
    nonce: bytes = Field(sa_type=LargeBinary)
    snapshot_status: str = Field(max_length=10)
    snapshot_trust_tier: str = Field(max_length=12)
    snapshot_risk_rating: str = Field(max_length=8)
    snapshot_jurisdiction: str | None = Field(default=None, max_length=2)
    subject_reference: str | None = Field(default=None, max_length=256)
    recipient_email: str | None = Field(default=None, max_length=254)
    extra: bytes | None = Field(default=None, sa_type=LargeBinary)
    pack_id: UUID | None = None
    superseded_by: UUID | None = None
    revocation_reason: str | None = Field(default=None, max_length=1024)
    revoked_at: datetime | None = None
    changed_index: int | None = Field(default=None, sa_type=BigInteger, sa_column_kwargs=SINCE_0006)
    changed_at: datetime | None = Field(default=None, sa_column_kwargs=SINCE_0006)
    supersedes: UUID | None = Field(default=None, sa_column_kwargs=SINCE_0006)
    decision_id: str | None = Field(default=None, max_length=30, sa_column_kwargs=SINCE_0015)


@short_repr
class AttestationRecord(NamedTuple):
    """A row of `attestations`."""

    id: UUID
    tenant_id: UUID
    issuer_id: UUID
    kid: str
    alg: str
    schema_id: str
    content_type: str
    claims: bytes
    claims_hash: str
    payload_hash: str
    payload_size: int | None
    document_hash: str | None
    expiry_at: datetime | None
    created_at: datetime
    status: str
    signature: str
    custody: str
    log_index: int
    nonce: bytes
    snapshot_status: str
    snapshot_trust_tier: str
    snapshot_risk_rating: str
    snapshot_jurisdiction: str | None
    subject_reference: str | None
    recipient_email: str | None
    extra: bytes | None
    pack_id: UUID | None
    superseded_by: UUID | None
    revocation_reason: str | None
    revoked_at: datetime | None
    changed_index: int | None
    changed_at: datetime | None
    supersedes: UUID | None
    decision_id: str | None


class AttestationPack(SQLModel, table=True):
    """A verification pack: a group of related attestations, such as the documents of one person or case."""

    __tablename__ = "attestation_packs"
    __table_args__ = (Index("ix_attestation_packs_of_tenant", "tenant_id", "id"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id")
    name: str = Field(max_length=200)
    description: str | None = Field(default=None, max_length=2048)
    created_at: datetime


@short_repr
class AttestationPackRecord(NamedTuple):
    """A row of `attestation_packs`."""

    id: UUID
    tenant_id: UUID
    name: str
    description: str | None
    created_at: datetime


class VerificationTally(SQLModel, table=True):
    """Count of an issuer's verifications in one minute, by event type; `untold` of them have no event yet."""

    __tablename__ = "verification_tallies"

    issuer_id: UUID = Field(primary_key=True)
    minute: datetime = Field(primary_key=True)
    type: str = Field(primary_key=True, max_length=40)
    tenant_id: UUID
    counted: int = Field(sa_type=BigInteger)
    untold: int = Field(sa_type=BigInteger)


@short_repr
class VerificationTallyRecord(NamedTuple):
    """A row of `verification_tallies`."""

    issuer_id: UUID
    minute: datetime
    type: str
    tenant_id: UUID
    counted: int
    untold: int
