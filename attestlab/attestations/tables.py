"""Tables of attestations, verification packs and verification tallies."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr

SINCE_0006 = {"info": {"since": "0006"}}
SINCE_0015 = {"info": {"since": "0015"}}
_REVOKED_OR_SUPERSEDED = "status IN ('REVOKED', 'SUPERSEDED')"
_VALID_WITH_EXPIRY = "status = 'VALID' AND expiry_at IS NOT NULL"


@short_repr
class AttestationRecord(NamedTuple):
    """A minted attestation.

    The columns of the signed statement never change; `nonce` opens the log entry's
    commitment. The `snapshot_*` columns hold the issuer's status and ratings at the mint. The
    file itself is never stored, only its hash and size. `changed_index` and `changed_at` are the
    index and time of the log entry that changed the status. `decision_id` is the policy decision
    that allowed the mint; null if no policy applied.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: UUID
    issuer_id: UUID
    kid: Annotated[str, Field(max_length=64)]
    alg: Annotated[str, Field(max_length=8)]
    schema_id: Annotated[str, Field(max_length=40)]
    content_type: Annotated[str, Field(max_length=40)]
    claims: bytes
    claims_hash: Annotated[str, Field(max_length=43)]
    payload_hash: Annotated[str, Field(max_length=43)]
    payload_size: Annotated[int | None, Field(sa_type=BigInteger)]
    document_hash: Annotated[str | None, Field(max_length=64, index=True)]
    expiry_at: datetime | None
    created_at: datetime
    status: Annotated[str, Field(max_length=10)]
    signature: str
    custody: Annotated[str, Field(max_length=8)]
    log_index: Annotated[int, Field(sa_type=BigInteger, unique=True)]
    nonce: bytes
    snapshot_status: Annotated[str, Field(max_length=10)]
    snapshot_trust_tier: Annotated[str, Field(max_length=12)]
    snapshot_risk_rating: Annotated[str, Field(max_length=8)]
    snapshot_jurisdiction: Annotated[str | None, Field(max_length=2)]
    subject_reference: Annotated[str | None, Field(max_length=256)]
    recipient_email: Annotated[str | None, Field(max_length=254)]
    extra: bytes | None
    pack_id: UUID | None
    superseded_by: UUID | None
    revocation_reason: Annotated[str | None, Field(max_length=1024)]
    revoked_at: datetime | None
    changed_index: Annotated[int | None, Field(sa_type=BigInteger, sa_column_kwargs=SINCE_0006)]
    changed_at: Annotated[datetime | None, Field(sa_column_kwargs=SINCE_0006)]
    supersedes: Annotated[UUID | None, Field(sa_column_kwargs=SINCE_0006)]
    decision_id: Annotated[str | None, Field(max_length=30, sa_column_kwargs=SINCE_0015)]


Attestation = model_of(
    AttestationRecord,
    "attestations",
    Index("ix_attestations_of_tenant", "tenant_id", "log_index"),
    Index("ix_attestations_of_tenant_by_id", "tenant_id", "id"),
    Index("ix_attestations_of_issuer", "issuer_id", "log_index"),
    Index("ix_attestations_of_key", "tenant_id", "kid", "log_index"),
    Index("ix_attestations_ended", "issuer_id", "log_index", sqlite_where=text(_REVOKED_OR_SUPERSEDED)),
    Index("ix_attestations_running_out", "expiry_at", sqlite_where=text(_VALID_WITH_EXPIRY)),
)


@short_repr
class AttestationPackRecord(NamedTuple):
    """A verification pack: a group of related attestations, such as the documents of one person or case."""

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    name: Annotated[str, Field(max_length=200)]
    description: Annotated[str | None, Field(max_length=2048)]
    created_at: datetime


AttestationPack = model_of(
    AttestationPackRecord, "attestation_packs", Index("ix_attestation_packs_of_tenant", "tenant_id", "id")
)


@short_repr
class VerificationTallyRecord(NamedTuple):
    """Count of an issuer's verifications in one minute, by event type; `unpublished` of them have no event yet."""

    issuer_id: Annotated[UUID, Field(primary_key=True)]
    minute: Annotated[datetime, Field(primary_key=True)]
    type: Annotated[str, Field(primary_key=True, max_length=40)]
    tenant_id: UUID
    counted: Annotated[int, Field(sa_type=BigInteger)]
    unpublished: Annotated[int, Field(sa_type=BigInteger)]


VerificationTally = model_of(VerificationTallyRecord, "verification_tallies")
