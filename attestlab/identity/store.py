"""Queries for sessions, tokens and their users; columns are named, values are parameters."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import Connection, bindparam, select

from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import AnyRow, Transaction
from attestlab.identity.tables import RefreshToken, Session, TokenKey
from attestlab.orgs.store import api_keys, orgs, tenants, users

token_keys = table_of(TokenKey)
sessions = table_of(Session)
refresh_tokens = table_of(RefreshToken)

Columns = dict[str, Any]  # a whole row, by column

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
_KEY_HOLDER = (
    select(api_keys.c.id, api_keys.c.name, tenants.c.id.label("tenant_id"), tenants.c.name.label("tenant_name"))
    .join(tenants, tenants.c.id == api_keys.c.tenant_id)
    .where(api_keys.c.id == bindparam("id"))
)


def find_person(connection: Connection, user_id: UUID) -> AnyRow | None:
    """Returns a person with the needed columns of their tenant, or None."""
    return connection.execute(_BY_ID, {"id": user_id}).first()


def find_person_by_address(connection: Connection, address: str) -> AnyRow | None:
    """Returns the person with this e-mail address, trimmed and lowercased as stored addresses are."""
    return connection.execute(_BY_ADDRESS, {"address": address}).first()


def find_person_by_session(connection: Connection, session_id: UUID) -> AnyRow | None:
    """Returns the person of a session, with the session's `ended_at`."""
    return connection.execute(_BY_SESSION, {"session_id": session_id}).first()


def find_key_holder(connection: Connection, key_id: UUID) -> AnyRow | None:
    """Returns an API key's name and tenant."""
    return connection.execute(_KEY_HOLDER, {"id": key_id}).first()


def find_first_org(connection: Connection, tenant_id: UUID) -> UUID | None:
    """Returns the organization that was created with the tenant."""
    org_id: UUID | None = connection.execute(
        select(orgs.c.id).where(orgs.c.tenant_id == tenant_id).order_by(orgs.c.created_at, orgs.c.id).limit(1)
    ).scalar()
    return org_id


def get_user(tx: Transaction, user_id: UUID) -> Columns:
    """Returns a user's own row, for an update."""
    return dict(tx.exec(select(*users.c).where(users.c.id == user_id)).mappings().one())


def list_open_sessions(tx: Transaction, user_id: UUID) -> list[Columns]:
    """Lists a person's open sessions, for an update."""
    ongoing = select(*sessions.c).where(sessions.c.user_id == user_id, sessions.c.ended_at.is_(None))
    return [dict(row) for row in tx.exec(ongoing.order_by(sessions.c.id)).mappings()]


def find_refresh_token(tx: Transaction, secret_sha256: bytes) -> Columns | None:
    """Returns the refresh token whose secret has this SHA-256, for an update."""
    result = tx.exec(select(*refresh_tokens.c).where(refresh_tokens.c.secret_sha256 == secret_sha256))
    row = result.mappings().first()
    return None if row is None else dict(row)


def list_signing_keys(connection: Connection) -> list[AnyRow]:
    """Lists all keys that sign or signed access tokens, newest first."""
    newest_first = select(*token_keys.c).order_by(token_keys.c.created_at.desc(), token_keys.c.kid)
    return list(connection.execute(newest_first))


def list_token_keys(tx: Transaction) -> list[dict[str, Any]]:
    """Lists all columns of all keys that sign or signed access tokens."""
    return [dict(row) for row in tx.exec(select(*token_keys.c).order_by(token_keys.c.kid)).mappings()]


def find_newest_signing_key(tx: Transaction) -> AnyRow | None:
    """Returns the current signing key, including one created in this transaction; None if there is none yet."""
    newest_first = select(*token_keys.c).order_by(token_keys.c.created_at.desc(), token_keys.c.kid)
    return tx.exec(newest_first.limit(1)).first()
