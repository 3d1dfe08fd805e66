"""Queries for sessions, tokens and their users; columns are named, values are parameters."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, bindparam, exists, select

from attestlab.core.db.tables import Execute, fetch_all, fetch_one, short_repr, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.identity.tables import (
    MailedToken,
    MailedTokenRecord,
    RefreshToken,
    RefreshTokenRecord,
    Session,
    SessionRecord,
    TokenKey,
    TokenKeyRecord,
)
from attestlab.orgs.store import api_keys, orgs, tenants, users
from attestlab.orgs.tables import UserRecord

token_keys = table_of(TokenKey)
sessions = table_of(Session)
refresh_tokens = table_of(RefreshToken)
mailed_tokens = table_of(MailedToken)

_PERSON = (
    users.c.id,
    users.c.tenant_id,
    users.c.org_id,
    users.c.email,
    users.c.name,
    users.c.roles,
    users.c.status,
    users.c.password_hash,
    tenants.c.name.label("tenant_name"),
    tenants.c.plan,
    tenants.c.adjusted,
    tenants.c.realm,
    tenants.c.addons,
)
_PEOPLE = select(*_PERSON).join(tenants, tenants.c.id == users.c.tenant_id)
_BY_ID = _PEOPLE.where(users.c.id == bindparam("id"))
_BY_ADDRESS = _PEOPLE.where(users.c.email == bindparam("address"))
_BY_SESSION = (
    select(*_PERSON, sessions.c.ended_at)
    .join(tenants, tenants.c.id == users.c.tenant_id)
    .join(sessions, sessions.c.user_id == users.c.id)
    .where(sessions.c.id == bindparam("session_id"))
)
_BY_SECRET = select(*refresh_tokens.c).where(refresh_tokens.c.secret_sha256 == bindparam("secret_sha256"))
_KEY_HOLDER = (
    select(api_keys.c.id, api_keys.c.name, tenants.c.id.label("tenant_id"), tenants.c.name.label("tenant_name"))
    .join(tenants, tenants.c.id == api_keys.c.tenant_id)
    .where(api_keys.c.id == bindparam("id"))
)


@short_repr
class Person(NamedTuple):
    """A person with the columns of their tenant that authentication needs."""

    id: UUID
    tenant_id: UUID
    org_id: UUID
    email: str
    name: str
    roles: str
    status: str | None
    password_hash: str
    tenant_name: str
    plan: str
    adjusted: str | None
    realm: str | None
    addons: str | None


class KeyHolder(NamedTuple):
    """An API key and its tenant, by id and name."""

    id: UUID
    name: str
    tenant_id: UUID
    tenant_name: str


def find_person(connection: Connection, user_id: UUID) -> Person | None:
    """Return a person with the needed columns of their tenant, or None."""
    return fetch_one(connection.execute(_BY_ID, {"id": user_id}), Person)


def find_person_by_address(connection: Connection, address: str) -> Person | None:
    """Return the person with this e-mail address, trimmed and lowercased as stored addresses are."""
    return fetch_one(connection.execute(_BY_ADDRESS, {"address": address}), Person)


def find_person_by_session(connection: Connection, session_id: UUID) -> tuple[Person, datetime | None] | None:
    """Return the person of a session, and when the session ended."""
    row = connection.execute(_BY_SESSION, {"session_id": session_id}).first()
    return None if row is None else (Person._make(row[:-1]), row[-1])


def find_key_holder(connection: Connection, key_id: UUID) -> KeyHolder | None:
    """Return an API key's name and tenant."""
    return fetch_one(connection.execute(_KEY_HOLDER, {"id": key_id}), KeyHolder)


def find_first_org(connection: Connection, tenant_id: UUID) -> UUID | None:
    """Return the organization that was created with the tenant."""
    oldest = select(orgs.c.id).where(orgs.c.tenant_id == tenant_id).order_by(orgs.c.created_at, orgs.c.id)
    return connection.execute(oldest.limit(1)).scalar()


def find_user(execute: Execute, user_id: UUID) -> UserRecord | None:
    """Return a user's own row, for an update."""
    return fetch_one(execute(select(*users.c).where(users.c.id == user_id)), UserRecord)


def list_open_sessions(tx: Transaction, user_id: UUID) -> list[SessionRecord]:
    """List a person's open sessions, for an update."""
    ongoing = select(*sessions.c).where(sessions.c.user_id == user_id, sessions.c.ended_at.is_(None))
    return fetch_all(tx.exec(ongoing.order_by(sessions.c.id)), SessionRecord)


def get_session(execute: Execute, session_id: UUID, *, tenant_id: UUID) -> SessionRecord:
    """Return a session of a person of the tenant, for an update.

    Raises:
        NotFound: the tenant has no such session.
    """
    mine = select(*sessions.c).where(sessions.c.id == session_id, sessions.c.tenant_id == tenant_id)
    row = fetch_one(execute(mine), SessionRecord)
    if row is None:
        raise NotFound("session", session_id)
    return row


def list_usable_sessions(
    execute: Execute, tenant_id: UUID, user_id: UUID | None, *, now: datetime, before: UUID | None, limit: int
) -> list[SessionRecord]:
    """List the sessions that can still be used, newest first; without `user_id` those of all people of the tenant.

    A session has one refresh token that is unused, so it is over once that has expired.
    """
    is_refreshable = exists().where(
        refresh_tokens.c.session_id == sessions.c.id,
        refresh_tokens.c.used_at.is_(None),
        refresh_tokens.c.expires_at > now,
    )
    people = select(users.c.id).where(users.c.tenant_id == tenant_id)
    if user_id is not None:
        people = people.where(users.c.id == user_id)
    query = select(*sessions.c).where(sessions.c.user_id.in_(people), sessions.c.ended_at.is_(None), is_refreshable)
    if before is not None:
        query = query.where(sessions.c.id < before)
    return fetch_all(execute(query.order_by(sessions.c.id.desc()).limit(limit)), SessionRecord)


def list_sessions(execute: Execute, user_id: UUID) -> list[SessionRecord]:
    """List all sessions of a person, oldest first, also those that ended."""
    theirs = select(*sessions.c).where(sessions.c.user_id == user_id)
    return fetch_all(execute(theirs.order_by(sessions.c.id)), SessionRecord)


def find_refresh_token(tx: Transaction, secret_sha256: bytes) -> RefreshTokenRecord | None:
    """Return the refresh token whose secret has this SHA-256, for an update."""
    matching = select(*refresh_tokens.c).where(refresh_tokens.c.secret_sha256 == secret_sha256)
    return fetch_one(tx.exec(matching), RefreshTokenRecord)


def find_mailed_token(execute: Execute, token_sha256: bytes) -> MailedTokenRecord | None:
    """Return the token of a mailed link that has this SHA-256, also one that was used or has expired."""
    matching = select(*mailed_tokens.c).where(mailed_tokens.c.token_sha256 == token_sha256)
    return fetch_one(execute(matching), MailedTokenRecord)


def list_tokens_about(execute: Execute, subjects: Collection[str]) -> list[MailedTokenRecord]:
    """List the mailed tokens with one of these subjects, for an update."""
    matching = select(*mailed_tokens.c).where(mailed_tokens.c.subject.in_(subjects))
    return fetch_all(execute(matching.order_by(mailed_tokens.c.id)), MailedTokenRecord)


def list_signing_keys(connection: Connection) -> list[TokenKeyRecord]:
    """List all keys that sign or signed access tokens, newest first."""
    newest_first = select(*token_keys.c).order_by(token_keys.c.created_at.desc(), token_keys.c.kid)
    return fetch_all(connection.execute(newest_first), TokenKeyRecord)


def list_token_keys(tx: Transaction) -> list[TokenKeyRecord]:
    """List all columns of all keys that sign or signed access tokens."""
    return fetch_all(tx.exec(select(*token_keys.c).order_by(token_keys.c.kid)), TokenKeyRecord)


def find_newest_signing_key(tx: Transaction) -> TokenKeyRecord | None:
    """Return the current signing key, including one created in this transaction; None if there is none yet."""
    newest_first = select(*token_keys.c).order_by(token_keys.c.created_at.desc(), token_keys.c.kid)
    return fetch_one(tx.exec(newest_first.limit(1)), TokenKeyRecord)


def read_refresh_token(connection: Connection, secret_sha256: bytes) -> RefreshTokenRecord | None:
    """Return the refresh token whose secret has this SHA-256, for a read."""
    return fetch_one(connection.execute(_BY_SECRET, {"secret_sha256": secret_sha256}), RefreshTokenRecord)
