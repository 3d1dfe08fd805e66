"""The table of receipts."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr

_DISCLOSED = "redacted_at IS NULL"


@short_repr
class ReceiptRecord(NamedTuple):
    """A minted receipt.

    The columns of the signed statement never change; `nonce` opens the log entry's commitment, `subject_nonce` the
    subject's hash. A redaction sets `payload`, `subject`, `subject_nonce` and `extra` to null. The `snapshot_*` columns
    hold the issuer's status and ratings at the mint. `changed_index` and `changed_at` are the index and time of the
    log entry of the revocation. `decision_id` is the policy decision that allowed the mint; null if no policy applied.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: UUID
    issuer_id: UUID
    kid: Annotated[str, Field(max_length=64)]
    alg: Annotated[str, Field(max_length=8)]
    receipt_type: Annotated[str, Field(max_length=64)]
    receipt_version: Annotated[str, Field(max_length=64)]
    schema_hash: Annotated[str, Field(max_length=43)]
    subject: Annotated[str | None, Field(max_length=256)]
    subject_nonce: bytes | None
    subject_hash: Annotated[str, Field(max_length=43)]
    payload: bytes | None
    payload_hash: Annotated[str, Field(max_length=43)]
    extra: str | None
    retention_policy: Annotated[str, Field(max_length=16)]
    retain_until: datetime | None
    created_at: datetime
    status: Annotated[str, Field(max_length=10)]
    signature: str
    custody: Annotated[str, Field(max_length=8)]
    log_index: Annotated[int, Field(sa_type=BigInteger, unique=True)]
    leaf_hash: bytes
    nonce: bytes
    snapshot_status: Annotated[str, Field(max_length=10)]
    snapshot_trust_tier: Annotated[str, Field(max_length=12)]
    snapshot_risk_rating: Annotated[str, Field(max_length=8)]
    snapshot_jurisdiction: Annotated[str | None, Field(max_length=2)]
    decision_id: Annotated[str | None, Field(max_length=30)]
    revoked_at: datetime | None = None
    revocation_reason: Annotated[str | None, Field(max_length=1000)] = None
    changed_index: Annotated[int | None, Field(sa_type=BigInteger)] = None
    changed_at: datetime | None = None
    redacted_at: datetime | None = None

    @property
    def document_hash(self) -> None:
        """A receipt is about no document."""
        return None


Receipt = model_of(
    ReceiptRecord,
    "receipts",
    Index("ix_receipts_of_tenant", "tenant_id", "log_index"),
    Index("ix_receipts_of_type", "tenant_id", "receipt_type", "log_index"),
    Index("ix_receipts_of_issuer", "issuer_id", "log_index"),
    Index("ix_receipts_of_key", "tenant_id", "kid"),
    Index("ix_receipts_of_subject", "tenant_id", "subject", "log_index"),
    Index("ix_receipts_retained", "retain_until", sqlite_where=text(_DISCLOSED)),
)
