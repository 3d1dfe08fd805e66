"""Tables of consumers' accounts: what they show, further addresses, and sign-ups that wait for their verification.

An account is a person in a tenant of the consumers' realm (`orgs`), whose `email` is the primary address.
"""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import Index, text
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class ConsumerAccountRecord(NamedTuple):
    """What a consumer shows of themselves; an account without a row has the defaults.

    The row of a deleted account keeps the username, so that no one else can have it.
    """

    user_id: Annotated[UUID, Field(primary_key=True, foreign_key="users.id")]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    username: Annotated[str | None, Field(max_length=30, unique=True)]
    bio: Annotated[str, Field(max_length=500)]
    portfolio_visibility: Annotated[str, Field(max_length=8)]
    created_at: datetime
    updated_at: datetime
    email_verified_at: datetime | None = None
    deleted_at: datetime | None = None


@short_repr
class ConsumerAddressRecord(NamedTuple):
    """An address of a consumer beside the primary one; once verified, it belongs to one account alone.

    Of a removed address only the id remains.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    user_id: Annotated[UUID, Field(foreign_key="users.id", index=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    email: Annotated[str, Field(max_length=254)]
    created_at: datetime
    verified_at: datetime | None = None
    removed_at: datetime | None = None


@short_repr
class ConsumerSignupRecord(NamedTuple):
    """A sign-up whose address is not verified yet; nothing else of the account exists.

    `username` is the one that was asked for. Of a sign-up that ended, by its verification or without one, only the id
    remains.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    email: Annotated[str, Field(max_length=254, index=True)]
    name: Annotated[str, Field(max_length=200)]
    password_hash: Annotated[str, Field(max_length=200, repr=False)]
    username: Annotated[str | None, Field(max_length=30)]
    created_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None


ConsumerAccount = model_of(ConsumerAccountRecord, "consumer_accounts")
ConsumerAddress = model_of(
    ConsumerAddressRecord,
    "consumer_addresses",
    Index("ix_consumer_addresses_verified", "email", unique=True, sqlite_where=text("verified_at IS NOT NULL")),
)
ConsumerSignup = model_of(
    ConsumerSignupRecord,
    "consumer_signups",
    Index("ix_consumer_signups_waiting", "expires_at", sqlite_where=text("ended_at IS NULL")),
)
