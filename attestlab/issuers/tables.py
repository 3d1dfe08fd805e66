"""Tables of issuers, their logos and their keys."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr

SINCE_0018 = {"info": {"since": "0018"}}


@short_repr
class IssuerRecord(NamedTuple):
    """An issuer of attestations. `revoked_index` is the log entry that revoked it.

    `domain_proven_at` is when its current domain was proven; null also if that was before revision 0018.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    name: Annotated[str, Field(max_length=200)]
    domain: Annotated[str, Field(max_length=253)]
    legal_name: Annotated[str | None, Field(max_length=200)]
    display_name: Annotated[str | None, Field(max_length=200)]
    status: Annotated[str, Field(max_length=10)]
    trust_tier: Annotated[str, Field(max_length=12)]
    risk_rating: Annotated[str, Field(max_length=8)]
    jurisdiction: Annotated[str | None, Field(max_length=2)]
    primary_color: Annotated[str | None, Field(max_length=7)]
    accent_color: Annotated[str | None, Field(max_length=7)]
    logo_url: Annotated[str | None, Field(max_length=2048)]
    revoked_index: Annotated[int | None, Field(sa_type=BigInteger)]
    created_at: datetime
    updated_at: datetime
    domain_proven_at: Annotated[datetime | None, Field(sa_column_kwargs=SINCE_0018)]


Issuer = model_of(IssuerRecord, "issuers", Index("ix_issuers_tenant_id_id", "tenant_id", "id"))


@short_repr
class IssuerLogoRecord(NamedTuple):
    """An uploaded logo; a removed logo keeps its row, with empty content."""

    issuer_id: Annotated[UUID, Field(primary_key=True, foreign_key="issuers.id")]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    media_type: Annotated[str, Field(max_length=16)]
    content: bytes
    sha256: Annotated[str, Field(max_length=64)]
    created_at: datetime


IssuerLogo = model_of(IssuerLogoRecord, "issuer_logos")


@short_repr
class IssuerKeyRecord(NamedTuple):
    """A signing key: the public key as SubjectPublicKeyInfo, and for managed keys the sealed private key.

    `log_index` is the key's first log entry, `changed_index` that of its last change of status.
    """

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    kid: Annotated[str, Field(primary_key=True, max_length=64)]
    issuer_id: Annotated[UUID, Field(foreign_key="issuers.id")]
    alg: Annotated[str, Field(max_length=8)]
    spki: bytes
    sealed: Annotated[bytes | None, Field(repr=False)]
    custody: Annotated[str, Field(max_length=8)]
    status: Annotated[str, Field(max_length=12)]
    created_at: datetime
    rotated_at: datetime | None
    revoked_at: datetime | None
    compromised_at: datetime | None
    log_index: Annotated[int, Field(sa_type=BigInteger)]
    changed_index: Annotated[int | None, Field(sa_type=BigInteger)]

    @property
    def owner_id(self) -> UUID:
        """The issuer, to which the sealed private key is bound."""
        return self.issuer_id


IssuerKey = model_of(IssuerKeyRecord, "issuer_keys", Index("ix_issuer_keys_issuer_id", "issuer_id"))
