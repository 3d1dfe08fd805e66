"""Tables of token keys, sessions and refresh tokens."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import LargeBinary
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr


class TokenKey(SQLModel, table=True):
    """A key that signs access tokens; its private key is sealed. The newest key signs, all are published."""

    __tablename__ = "token_keys"

    kid: str = Field(primary_key=True, max_length=64)
    alg: str = Field(max_length=8)
    spki: bytes = Field(sa_type=LargeBinary)
    sealed: bytes = Field(sa_type=LargeBinary, repr=False)
    created_at: datetime


@short_repr
class TokenKeyRecord(NamedTuple):
    """A row of `token_keys`."""

    kid: str
    alg: str
    spki: bytes
    sealed: bytes
    created_at: datetime


class Session(SQLModel, table=True):
    """A session of a person, from login to logout: the family of their refresh tokens.

    Once it has ended, `ended_at` is its end and `ended_because` the reason.
    """

    __tablename__ = "sessions"

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id")
    user_id: UUID = Field(foreign_key="users.id", index=True)
    created_at: datetime
    ended_at: datetime | None = None
    ended_because: str | None = Field(default=None, max_length=16)


@short_repr
class SessionRecord(NamedTuple):
    """A row of `sessions`."""

    id: UUID
    tenant_id: UUID
    user_id: UUID
    created_at: datetime
    ended_at: datetime | None = None
    ended_because: str | None = None


class RefreshToken(SQLModel, table=True):
    """A refresh token of a session, used once; only the SHA-256 of its secret is stored."""

    __tablename__ = "refresh_tokens"

    id: UUID = Field(primary_key=True)
    session_id: UUID = Field(foreign_key="sessions.id", index=True)
    secret_sha256: bytes = Field(unique=True, sa_type=LargeBinary, repr=False)
    issued_at: datetime
    expires_at: datetime
    used_at: datetime | None = None


@short_repr
class RefreshTokenRecord(NamedTuple):
    """A row of `refresh_tokens`."""

    id: UUID
    session_id: UUID
    secret_sha256: bytes
    issued_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
