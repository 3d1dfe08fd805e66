"""Recipients: whose account has an address or a username, read once for all mints of a group.

An account that a group opens, or that gets or loses an address in it, marks the transaction, and later reads see it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, CompoundSelect, String, any_, bindparam, or_, select, union_all

from attestlab.consumer.accounts import store as account_store
from attestlab.consumer.accounts.store import ACCOUNTS_CHANGED
from attestlab.core.db.foreseen_reads import ForeseenRead
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.orgs.role_rules import UserStatus
from attestlab.orgs.store import users


class Recipient(NamedTuple):
    """Who gets an attestation: the address for the mail, the account if there is one, and the username if named so."""

    address: str
    account_id: UUID | None
    username: str | None = None


_further = account_store.addresses
_is_active = or_(users.c.status.is_(None), users.c.status == UserStatus.ACTIVE.value)


def _build_query(wanted: object) -> CompoundSelect[str, UUID]:
    """Build the query of the active accounts with a primary or a verified further address."""
    primary = select(users.c.email, users.c.id).where(users.c.email == wanted, _is_active)
    further = select(_further.c.email, _further.c.user_id).join(users, users.c.id == _further.c.user_id)
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


def _find_account(execute: Execute, address: str) -> UUID | None:
    row = execute(_BY_ADDRESS, {"address": address}).first()
    return None if row is None else row[1]


def _find_accounts(execute: Execute, addresses: Collection[str]) -> dict[str, UUID]:
    return {row[0]: row[1] for row in execute(_BY_ADDRESSES, {"addresses": list(addresses)})}


ACCOUNTS = ForeseenRead("accounts by address", find=_find_account, find_all=_find_accounts)


def find_by_address(tx: Transaction, address: str) -> Recipient:
    """Find the recipient with an address, which is in lower case."""
    find = _find_account(tx.exec, address) if ACCOUNTS_CHANGED in tx.cache else ACCOUNTS.get(tx, address)
    return Recipient(address, find)


def find_by_username(tx: Transaction, username: str) -> Recipient:
    """Find the recipient with a username.

    Raises:
        NotFound: no account has it.
    """
    account = account_store.find_account_by_username(tx.exec, username)
    if account is None:
        raise NotFound("account with the username", username)
    return Recipient(account.email, account.id, username)
