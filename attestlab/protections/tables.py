"""Tables of protections: what consumers protect or show, how often it was verified, and the issuer that attests it."""

from datetime import date, datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class ProtectionRecord(NamedTuple):
    """Content that a consumer protects, or a received credential that they show; `content_hash` is of the former only.

    Of a deleted one only the row remains, without its texts, its hash and its attestation, so that the owner can
    protect the same content again.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    user_id: Annotated[UUID, Field(foreign_key="users.id")]
    attestation_id: Annotated[UUID | None, Field(foreign_key="attestations.id", index=True)]
    content_hash: Annotated[str | None, Field(max_length=64)]
    title: Annotated[str, Field(max_length=200)]
    description: Annotated[str, Field(max_length=2000)]
    content_type: Annotated[str, Field(max_length=127)]
    category: Annotated[str, Field(max_length=64)]
    file_name: Annotated[str | None, Field(max_length=255)]
    file_size: Annotated[int | None, Field(sa_type=BigInteger)]
    visibility: Annotated[str, Field(max_length=8)]
    source: Annotated[str, Field(max_length=8)]
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None


Protection = model_of(
    ProtectionRecord,
    "protections",
    Index("ix_protections_of_user", "user_id", "id"),
    Index("ix_protections_of_visibility", "user_id", "visibility", "id"),  # portfolios read the public ones alone
    Index("ix_protections_of_hash", "user_id", "content_hash", unique=True),
    Index("ix_protections_of_received", "user_id", "attestation_id", unique=True),
)


@short_repr
class ProtectionDayRecord(NamedTuple):
    """Verifications of a protection on one UTC day: those with the verdict VALID, and the others."""

    protection_id: Annotated[UUID, Field(primary_key=True, foreign_key="protections.id")]
    day: Annotated[date, Field(primary_key=True)]
    valid: Annotated[int, Field(sa_type=BigInteger)]
    other: Annotated[int, Field(sa_type=BigInteger)]


ProtectionDay = model_of(ProtectionDayRecord, "protection_days")


@short_repr
class PlatformIssuerRecord(NamedTuple):
    """The operator's issuer for one purpose of the platform; the key is the purpose, so there is never a second."""

    purpose: Annotated[str, Field(max_length=32, primary_key=True)]
    issuer_id: Annotated[UUID, Field(foreign_key="issuers.id")]
    created_at: datetime


PlatformIssuer = model_of(PlatformIssuerRecord, "platform_issuers")
