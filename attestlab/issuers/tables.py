"""Tables of issuers, their logos and their keys."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index, LargeBinary
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr

SINCE_0018 = {"info": {"since": "0018"}}


class Issuer(SQLModel, table=True):
    """An issuer of attestations. `revoked_index` is the log entry that revoked it.

    `domain_proven_at` is when its current domain was proven; null also if that was before revision 0018.
    """

    __tablename__ = "issuers"
    __table_args__ = (Index("ix_issuers_tenant_id_id", "tenant_id", "id"),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id")
    name: str = Field(max_length=200)
    domain: str = Field(max_length=253)
    legal_name: str | None = Field(default=None, max_length=200)
    display_name: str | None = Field(default=None, max_length=200)
    status: str = Field(max_length=10)
    trust_tier: str = Field(max_length=12)
    risk_rating: str = Field(max_length=8)
    jurisdiction: str | None = Field(default=None, max_length=2)
    primary_color: str | None = Field(default=None, max_length=7)
    accent_color: str | None = Field(default=None, max_length=7)
    logo_url: str | None = Field(default=None, max_length=2048)
    revoked_index: int | None = Field(default=None, sa_type=BigInteger)
    created_at: datetime
    updated_at: datetime
    domain_proven_at: datetime | None = Field(default=None, sa_column_kwargs=SINCE_0018)


@short_repr
class IssuerRecord(NamedTuple):
    """A row of `issuers`."""

    id: UUID
    tenant_id: UUID
    name: str
    domain: str
    legal_name: str | None
    display_name: str | None
    status: str
    trust_tier: str
    risk_rating: str
    jurisdiction: str | None
    primary_color: str | None
    accent_color: str | None
    logo_url: str | None
    revoked_index: int | None
    created_at: datetime
    updated_at: datetime
    domain_proven_at: datetime | None


class IssuerLogo(SQLModel, table=True):
    """An uploaded logo; a removed logo keeps its row, with empty content."""

    __tablename__ = "issuer_logos"

    issuer_id: UUID = Field(primary_key=True, foreign_key="issuers.id")
    tenant_id: UUID = Field(foreign_key="tenants.id")
    media_type: str = Field(max_length=16)
    content: bytes = Field(sa_type=LargeBinary)
    sha256: str = Field(max_length=64)
    created_at: datetime


@short_repr
class IssuerLogoRecord(NamedTuple):
    """A row of `issuer_logos`."""

    issuer_id: UUID
    tenant_id: UUID
    media_type: str
    content: bytes
    sha256: str
    created_at: datetime


class IssuerKey(SQLModel, table=True):
    """A signing key: the public key as SubjectPublicKeyInfo, and for managed keys the sealed private key.

    `log_index` is the key's first log entry, `changed_index` that of its last change of status.
    """

    __tablename__ = "issuer_keys"
    __table_args__ = (Index("ix_issuer_keys_issuer_id", "issuer_id"),)

    tenant_id: UUID = Field(primary_key=True, foreign_key="tenants.id")
    kid: str = Field(primary_key=True, max_length=64)
    issuer_id: UUID = Field(foreign_key="issuers.id")
    alg: str = Field(max_length=8)
    spki: bytes = Field(sa_type=LargeBinary)
    sealed: bytes | None = Field(default=None, sa_type=LargeBinary, repr=False)
    custody: str = Field(max_length=8)
    status: str = Field(max_length=12)
    created_at: datetime
    rotated_at: datetime | None = None
    revoked_at: datetime | None = None
    compromised_at: datetime | None = None
    log_index: int = Field(sa_type=BigInteger)
    changed_index: int | None = Field(default=None, sa_type=BigInteger)


@short_repr
class IssuerKeyRecord(NamedTuple):
    """A row of `issuer_keys`."""

    tenant_id: UUID
    kid: str
    issuer_id: UUID
    alg: str
    spki: bytes
    sealed: bytes | None
    custody: str
    status: str
    created_at: datetime
    rotated_at: datetime | None
    revoked_at: datetime | None
    compromised_at: datetime | None
    log_index: int
    changed_index: int | None
