"""Queries of consumers' accounts; columns are named, values are parameters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, func, or_, select

from attestlab.consumer.accounts.rules import PortfolioVisibility
from attestlab.consumer.accounts.tables import (
    ConsumerAccount,
    ConsumerAccountRecord,
    ConsumerAddress,
    ConsumerAddressRecord,
    ConsumerSignup,
    ConsumerSignupRecord,
)
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, short_repr, table_of
from attestlab.core.errors import NotFound
from attestlab.orgs.rules import Realm
from attestlab.orgs.store import IS_ACTIVE, tenants, users

accounts = table_of(ConsumerAccount)
addresses = table_of(ConsumerAddress)
signups = table_of(ConsumerSignup)


@short_repr
class PersonalAccount(NamedTuple):
    """A consumer's account: the person with what they show, or its defaults; `email` is the primary address."""

    id: UUID
    tenant_id: UUID
    email: str
    name: str
    created_at: datetime
    email_verified_at: datetime
    username: str | None
    bio: str
    portfolio_visibility: str


_ACCOUNTS = (
    select(
        users.c.id,
        users.c.tenant_id,
        users.c.email,
        users.c.name,
        users.c.created_at,
        func.coalesce(accounts.c.email_verified_at, users.c.joined_at, users.c.created_at),
        accounts.c.username,
        func.coalesce(accounts.c.bio, ""),
        func.coalesce(accounts.c.portfolio_visibility, PortfolioVisibility.PUBLIC.value),
    )
    .join(tenants, tenants.c.id == users.c.tenant_id)
    .outerjoin(accounts, accounts.c.user_id == users.c.id)
    .where(tenants.c.realm == Realm.CONSUMER.value, IS_ACTIVE)
)
_IS_THERE = addresses.c.removed_at.is_(None)


def get_account(execute: Execute, user_id: UUID) -> PersonalAccount:
    """Return a consumer's account.

    Raises:
        NotFound: no consumer has this id, or the account was deleted.
    """
    account = fetch_one(execute(_ACCOUNTS.where(users.c.id == user_id)), PersonalAccount)
    if account is None:
        raise NotFound("account", user_id)
    return account


def get_account_of(execute: Execute, tenant_id: UUID) -> PersonalAccount:
    """Return the account of the consumer to whom a tenant belongs.

    Raises:
        NotFound: the tenant is no consumer's, or the account was deleted.
    """
    account = fetch_one(execute(_ACCOUNTS.where(users.c.tenant_id == tenant_id)), PersonalAccount)
    if account is None:
        raise NotFound("account of tenant", tenant_id)
    return account


def find_account_by_username(execute: Execute, username: str) -> PersonalAccount | None:
    """Return the consumer's account that has this username."""
    return fetch_one(execute(_ACCOUNTS.where(accounts.c.username == username)), PersonalAccount)


def find_account_by_address(execute: Execute, address: str) -> PersonalAccount | None:
    """Return the consumer's account to which an address belongs, in lower case: the primary or a verified one."""
    return fetch_one(execute(_ACCOUNTS.where(_has_address(address))), PersonalAccount)


def is_taken(execute: Execute, address: str) -> bool:
    """Whether an address belongs to any account, also in a team, or to an invitation that holds it."""
    return execute(select(users.c.id).where(_has_address(address))).first() is not None


def is_further_address(execute: Execute, address: str) -> bool:
    """Whether an address is a verified one of a consumer's, beside the primary one."""
    verified = select(addresses.c.id).where(addresses.c.email == address, addresses.c.verified_at.is_not(None))
    return execute(verified).first() is not None


def list_addresses(execute: Execute, user_id: UUID) -> Sequence[str]:
    """List the verified addresses of an account, the primary one first."""
    further = select(addresses.c.email).where(
        addresses.c.user_id == user_id, addresses.c.verified_at.is_not(None), _IS_THERE
    )
    primary = execute(select(users.c.email).where(users.c.id == user_id)).scalar_one()
    return [primary, *execute(further.order_by(addresses.c.id)).scalars()]


def list_further(execute: Execute, user_id: UUID) -> list[ConsumerAddressRecord]:
    """List the addresses of an account beside its primary one, oldest first, also those not verified yet."""
    further = select(*addresses.c).where(addresses.c.user_id == user_id, _IS_THERE)
    return fetch_all(execute(further.order_by(addresses.c.id)), ConsumerAddressRecord)


def find_address(execute: Execute, address_id: UUID) -> ConsumerAddressRecord | None:
    """Return an address that was not removed, by its id."""
    query = select(*addresses.c).where(addresses.c.id == address_id, _IS_THERE)
    return fetch_one(execute(query), ConsumerAddressRecord)


def find_row(execute: Execute, user_id: UUID) -> ConsumerAccountRecord | None:
    """Return the row of an account, for an update; one that never changed has none."""
    return fetch_one(execute(select(*accounts.c).where(accounts.c.user_id == user_id)), ConsumerAccountRecord)


def has_username(execute: Execute, username: str) -> bool:
    """Whether an account has or had this username."""
    return execute(select(accounts.c.user_id).where(accounts.c.username == username)).first() is not None


def find_signup(execute: Execute, signup_id: UUID) -> ConsumerSignupRecord | None:
    """Return a sign-up, whether it waits or has ended."""
    return fetch_one(execute(select(*signups.c).where(signups.c.id == signup_id)), ConsumerSignupRecord)


def list_waiting(execute: Execute, address: str) -> list[ConsumerSignupRecord]:
    """List the sign-ups with this address that have not ended, oldest first."""
    waiting = select(*signups.c).where(signups.c.email == address, signups.c.ended_at.is_(None))
    return fetch_all(execute(waiting.order_by(signups.c.id)), ConsumerSignupRecord)


def list_overdue(execute: Execute, now: datetime, *, limit: int) -> list[ConsumerSignupRecord]:
    """List the sign-ups that were not verified in time, oldest first."""
    overdue = select(*signups.c).where(signups.c.ended_at.is_(None), signups.c.expires_at <= now)
    return fetch_all(execute(overdue.order_by(signups.c.expires_at).limit(limit)), ConsumerSignupRecord)


def _has_address(address: str) -> ColumnElement[bool]:
    """Look a person up by their address; a scalar subquery, so that both engines use the index of each table."""
    verified = select(addresses.c.user_id).where(addresses.c.email == address, addresses.c.verified_at.is_not(None))
    return or_(users.c.email == address, users.c.id == verified.scalar_subquery())
