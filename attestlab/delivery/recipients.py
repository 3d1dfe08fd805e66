"""Recipients: to whom an address or a username belongs, read once for all mints of a group.

A person who gets or loses an address in a group marks its transaction, and later reads see it.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from operator import attrgetter
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, CompoundSelect, String, any_, bindparam, false, select, true, union_all

from attestlab.consumer.accounts import store as account_store
from attestlab.core.db.foreseen_reads import ForeseenRead
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.orgs.rules import Realm
from attestlab.orgs.store import ADDRESSES_CHANGED, IS_ACTIVE, IS_THERE, tenants, users


class Recipient(NamedTuple):
    """Who gets an attestation: the address for the mail, the account if there is one, and the username if named so.

    A consumer's account has an inbox; one in a team has none. Someone who is invited to a team has no account yet, and
    opens one by the mail of the team.
    """

    address: str
    account_id: UUID | None
    username: str | None = None
    is_invited: bool = False
    has_inbox: bool = False


class KnownPerson(NamedTuple):
    """A person with an address: with an account, or invited to a team until `invited_until`."""

    id: UUID
    has_account: bool
    is_consumer: bool
    invited_until: datetime | None = None

    @property
    def rank(self) -> tuple[bool, bool, datetime | None]:
        """Order people with the same address: who has an account, then who can accept an invitation the longest."""
        return self.has_account, self.invited_until is not None, self.invited_until


_further = account_store.addresses


def _build_query(wanted: object) -> CompoundSelect[str, UUID, bool, datetime]:
    """Build the query of the people with a primary, a verified further or an invited address."""
    until = users.c.invited_until
    primary = select(users.c.email, users.c.id, IS_ACTIVE, tenants.c.realm == Realm.CONSUMER.value, until)
    further = select(_further.c.email, _further.c.user_id, true(), true(), until)  # of consumers alone
    invited = select(users.c.invited_address, users.c.id, false(), false(), until)
    return union_all(
        primary.join(tenants, tenants.c.id == users.c.tenant_id).where(users.c.email == wanted, IS_THERE),
        invited.where(users.c.invited_address == wanted, users.c.invitation_sha256.is_not(None)),
        further.join(users, users.c.id == _further.c.user_id).where(
            _further.c.email == wanted,
            _further.c.verified_at.is_not(None),
            _further.c.removed_at.is_(None),
            IS_ACTIVE,
        ),
    )


_BY_ADDRESS = _build_query(bindparam("address"))
_BY_ADDRESSES = _build_query(any_(bindparam("addresses", type_=ARRAY(String()))))


def _find_person(execute: Execute, address: str) -> KnownPerson | None:
    people = [KnownPerson(*row[1:]) for row in execute(_BY_ADDRESS, {"address": address})]
    return max(people, key=attrgetter("rank"), default=None)


def _find_people(execute: Execute, addresses: Collection[str]) -> dict[str, KnownPerson]:
    people: dict[str, list[KnownPerson]] = {}
    for row in execute(_BY_ADDRESSES, {"addresses": list(addresses)}):
        people.setdefault(row[0], []).append(KnownPerson(*row[1:]))
    return {address: max(named, key=attrgetter("rank")) for address, named in people.items()}


PEOPLE = ForeseenRead("people by address", find=_find_person, find_all=_find_people)


def find_by_address(tx: Transaction, address: str, *, at: datetime) -> Recipient:
    """Find the recipient with an address, which is in lower case, at the time of the delivery."""
    person = _find_person(tx.exec, address) if ADDRESSES_CHANGED in tx.cache else PEOPLE.get(tx, address)
    if person is not None and person.has_account:
        return Recipient(address, person.id, has_inbox=bool(person.is_consumer))
    until = None if person is None else person.invited_until
    return Recipient(address, None, is_invited=until is not None and at < until)


def find_by_username(tx: Transaction, username: str) -> Recipient:
    """Find the recipient with a username.

    Raises:
        NotFound: no account has it.
    """
    account = account_store.find_account_by_username(tx.exec, username)
    if account is None:
        raise NotFound("account with the username", username)
    return Recipient(account.email, account.id, username, has_inbox=True)
