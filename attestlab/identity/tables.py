"""Tables of token keys, sessions, refresh tokens, and the one-use tokens in mailed links."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class TokenKeyRecord(NamedTuple):
    """A key that signs access tokens; its private key is sealed. The newest key signs, all are published."""

    kid: Annotated[str, Field(primary_key=True, max_length=64)]
    alg: Annotated[str, Field(max_length=8)]
    spki: bytes
    sealed: Annotated[bytes, Field(repr=False)]
    created_at: datetime


TokenKey = model_of(TokenKeyRecord, "token_keys")


@short_repr
class SessionRecord(NamedTuple):
    """A session of a person, from login to logout: the family of their refresh tokens.

    Once it has ended, `ended_at` is its end and `ended_because` the reason.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    user_id: Annotated[UUID, Field(foreign_key="users.id", index=True)]
    created_at: datetime
    ended_at: datetime | None = None
    ended_because: Annotated[str | None, Field(max_length=16)] = None


Session = model_of(SessionRecord, "sessions")


@short_repr
class RefreshTokenRecord(NamedTuple):
    """A refresh token of a session, used once; only the SHA-256 of its secret is stored."""

    id: Annotated[UUID, Field(primary_key=True)]
    session_id: Annotated[UUID, Field(foreign_key="sessions.id", index=True)]
    secret_sha256: Annotated[bytes, Field(unique=True, repr=False)]
    issued_at: datetime
    expires_at: datetime
    used_at: datetime | None = None


RefreshToken = model_of(RefreshTokenRecord, "refresh_tokens")


@short_repr
class MailedTokenRecord(NamedTuple):
    """A one-use token in a mailed link, which proves that its bearer reads an address.

    Only its SHA-256 is stored. It serves one purpose, for one `subject`: the id of what it verifies, or the address
    that is invited. `tenant_id` is whose audit trail has its changes. `claimed` attestations were delivered by its use.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    token_sha256: Annotated[bytes, Field(unique=True, repr=False)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    purpose: Annotated[str, Field(max_length=16)]
    subject: Annotated[str, Field(max_length=254, index=True)]
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    claimed: int | None = None


MailedToken = model_of(MailedTokenRecord, "mailed_tokens")
