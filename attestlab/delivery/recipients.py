"""Recipients: to whom an address or a username belongs, read once for all mints of a group.

A person who gets or loses an address in a group marks its transaction, and later reads see it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, CompoundSelect, String, any_, bindparam, or_, select, true, union_all

from attestlab.consumer.accounts import store as account_store
from attestlab.core.db.foreseen_reads import ForeseenRead
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.orgs.role_rules import UserStatus
from attestlab.orgs.store import ADDRESSES_CHANGED, users


class Recipient(NamedTuple):
    """Who gets an attestation: the address for the mail, the account if there is one, and the username if named so.

    Someone who is invited to a team has no account yet, and can open no other one.
    """

    address: str
    account_id: UUID | None
    username: str | None = None
    is_invited: bool = False


class KnownPerson(NamedTuple):
    """The person to whom an address belongs: with an account, or only invited to a team."""

    id: UUID
    has_account: bool


_further = account_store.addresses
_is_active = or_(users.c.status.is_(None), users.c.status == UserStatus.ACTIVE.value)
_is_there = or_(users.c.status.is_(None), users.c.status != UserStatus.REMOVED.value)


def _build_query(wanted: object) -> CompoundSelect[str, UUID, bool]:
    """Build the query of the people with a primary or a verified further address."""
    primary = select(users.c.email, users.c.id, _is_active).where(users.c.email == wanted, _is_there)
    further = select(_further.c.email, _further.c.user_id, true()).join(users, users.c.id == _further.c.user_id)
    return union_all(
        primary,
        further.where(
            _further.c.email == wanted,
            _further.c.verified_at.is_not(None),
            _further.c.removed_at.is_(None),
            _is_active,
        ),
    )


_BY_ADDRESS = _build_query(bindparam("address"))
_BY_ADDRESSES = _build_query(any_(bindparam("addresses", type_=ARRAY(String()))))


def _find_person(execute: Execute, address: str) -> KnownPerson | None:
    row = execute(_BY_ADDRESS, {"address": address}).first()
    return None if row is None else KnownPerson(row[1], row[2])


def _find_people(execute: Execute, addresses: Collection[str]) -> dict[str, KnownPerson]:
    return {row[0]: KnownPerson(row[1], row[2]) for row in execute(_BY_ADDRESSES, {"addresses": list(addresses)})}


PEOPLE = ForeseenRead("people by address", find=_find_person, find_all=_find_people)


def find_by_address(tx: Transaction, address: str) -> Recipient:
    """Find the recipient with an address, which is in lower case."""
    person = _find_person(tx.exec, address) if ADDRESSES_CHANGED in tx.cache else PEOPLE.get(tx, address)
    if person is None:
        return Recipient(address, None)
    return Recipient(address, person.id if person.has_account else None, is_invited=not person.has_account)


def find_by_username(tx: Transaction, username: str) -> Recipient:
    """Find the recipient with a username.

    Raises:
        NotFound: no account has it.
    """
    account = account_store.find_account_by_username(tx.exec, username)
    if account is None:
        raise NotFound("account with the username", username)
    return Recipient(account.email, account.id, username)
