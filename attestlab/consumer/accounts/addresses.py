"""Further addresses of a consumer: added by a mailed link, one of them primary; each claims what waits for it.

An address of another account is listed like any other that is not verified yet; only the mail to it says whose it is.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from attestlab.consumer.accounts import messages, rules, store
from attestlab.consumer.accounts.rows import change_account
from attestlab.consumer.accounts.store import PersonalAccount
from attestlab.consumer.accounts.tables import ConsumerAddressRecord
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound
from attestlab.core.ids import new_id
from attestlab.core.limits.rate_counters import Counters
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.identity import mail_throttle, mailed_tokens
from attestlab.identity.rules import TokenPurpose, normalize_address
from attestlab.identity.store import find_user
from attestlab.mail.service import Mails
from attestlab.orgs import store as org_store
from attestlab.orgs.role_rules import removed_address
from attestlab.orgs.rules import Caller


class AccountEmail(NamedTuple):
    """An address of an account; `primary` is the one that it signs in with."""

    email: str
    primary: bool
    verified_at: datetime | None


class Addresses:
    """Addresses of consumers' accounts.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock, counters: Counters, mails: Mails) -> None:
        self.storage = storage
        self.clock = clock
        self.counters = counters
        self.mails = mails

    def count_mail(self, email: str, *, now: datetime) -> str:
        """Count the mail that adds this address; return the address in lower case.

        Raises:
            ValidationFailed: mail cannot be delivered to the address.
            RateLimited: the address was sent three such mails within an hour.
        """
        return mail_throttle.count_mail(self.counters, email, now=now)

    def add(self, address: str, *, caller: Caller, tx: Transaction | None = None) -> AccountEmail:
        """Add an address that is not verified yet, and mail the link that verifies it; repeated, mail another link.

        Raises:
            Conflict: the account has this address verified, or five addresses.
        """
        with self.storage.write(tx) as tx:
            now, account = self.clock.now(), store.get_account_of(tx.exec, caller.tenant_id)
            listed = store.list_further(tx.exec, account.id)
            row = next((each for each in listed if each.email == address), None)
            if address == account.email or (row is not None and row.verified_at is not None):
                raise Conflict(f"{address} is an address of this account already.", details={"reason": "address_added"})
            if row is None:
                row = self._insert(tx, address, account, len(listed), caller, now)
            self._mail_link(tx, row, account, caller, now)
        return AccountEmail(address, primary=False, verified_at=None)

    def make_primary(self, email: str, *, caller: Caller, tx: Transaction | None = None) -> AccountEmail:
        """Let the account sign in with another of its verified addresses.

        Raises:
            NotFound: the account has no such address.
            Conflict: the address is not verified yet.
        """
        with self.storage.write(tx) as tx:
            now, account = self.clock.now(), store.get_account_of(tx.exec, caller.tenant_id)
            address = normalize_address(email)
            if address == account.email:
                return AccountEmail(address, primary=True, verified_at=account.email_verified_at)
            row = _get_further(tx.exec, account, address)
            if row.verified_at is None:
                message = f"{address} is not verified yet. Follow the link in the mail that was sent to it."
                raise Conflict(message, details={"reason": "not_verified"})
            self._swap(tx, row, account, caller, now)
        return AccountEmail(address, primary=True, verified_at=row.verified_at)

    def remove(self, email: str, *, caller: Caller, tx: Transaction | None = None) -> None:
        """Remove an address, which is free for another account; what it claimed stays.

        Raises:
            NotFound: the account has no such address.
            Conflict: it is the primary one.
        """
        with self.storage.write(tx) as tx:
            account = store.get_account_of(tx.exec, caller.tenant_id)
            address = normalize_address(email)
            if address == account.email:
                message = f"{address} is the primary address. Make another one primary first."
                raise Conflict(message, details={"reason": "primary_address"})
            erase_address(tx, _get_further(tx.exec, account, address), caller, self.clock.now())

    def _insert(
        self, tx: Transaction, address: str, account: PersonalAccount, further: int, caller: Caller, now: datetime
    ) -> ConsumerAddressRecord:
        if 1 + further >= rules.MAX_ADDRESSES:
            raise Conflict(
                f"An account has at most {rules.MAX_ADDRESSES} addresses. Remove one first.",
                details={"reason": "too_many_addresses", "limit": rules.MAX_ADDRESSES},
            )
        row = ConsumerAddressRecord(new_id(now), account.id, account.tenant_id, address, now)
        context = AuditContext(account.tenant_id, caller, "consumer_address.create", now)
        return audited_write.insert(tx, store.addresses, row, context)

    def _mail_link(
        self, tx: Transaction, row: ConsumerAddressRecord, account: PersonalAccount, caller: Caller, now: datetime
    ) -> None:
        tenant_id, until = account.tenant_id, now + rules.SIGNUP_TTL
        token = mailed_tokens.create_token(
            tx, TokenPurpose.ADDRESS, str(row.id), ttl=rules.SIGNUP_TTL, tenant_id=tenant_id, actor=caller, at=now
        )
        if store.is_taken(tx.exec, row.email):
            mail = messages.taken_address_mail(self.mails.portal_url)
        else:
            mail = messages.further_address_mail(self.mails.portal_url, token, until=until)
        self.mails.enqueue(tx, tenant_id=tenant_id, recipient=row.email, subject=mail.subject, text=mail.text, at=now)

    def _swap(
        self, tx: Transaction, row: ConsumerAddressRecord, account: PersonalAccount, caller: Caller, now: datetime
    ) -> None:
        """Exchange a further address and the primary one, each with the time of its verification."""
        context = AuditContext(account.tenant_id, caller, "consumer_address.make_primary", now)
        former = {"email": account.email, "verified_at": account.email_verified_at}
        audited_write.change(tx, store.addresses, row, former, context)
        person = find_user(tx.exec, account.id)
        assert person is not None  # `account` is its row
        deed = AuditContext(account.tenant_id, caller, "user.change_address", now)
        audited_write.change(tx, org_store.users, person, {"email": row.email}, deed)
        verified = {"email_verified_at": row.verified_at}
        change_account(tx, account.id, verified, tenant_id=account.tenant_id, actor=caller, at=now)


def list_emails(execute: Execute, account: PersonalAccount) -> list[AccountEmail]:
    """List the addresses of an account, the primary one first."""
    further = [AccountEmail(row.email, False, row.verified_at) for row in store.list_further(execute, account.id)]
    return [AccountEmail(account.email, True, account.email_verified_at), *further]


def erase_address(tx: Transaction, row: ConsumerAddressRecord, caller: Caller, at: datetime) -> None:
    """Remove an address, of which only the id remains."""
    tx.cache[org_store.ADDRESSES_CHANGED] = True
    context = AuditContext(row.tenant_id, caller, "consumer_address.remove", at)
    changes = {"email": removed_address(row.id), "verified_at": None, "removed_at": at}
    audited_write.change(tx, store.addresses, row, changes, context)


def require_unclaimed(execute: Execute, address: str) -> None:
    """Require that an address, which becomes the primary one of a new account, is no further one of a consumer's.

    Raises:
        Conflict: it is.
    """
    if store.is_further_address(execute, address):
        raise Conflict("This address belongs to an account already.", details={"reason": "address_taken"})


def _get_further(execute: Execute, account: PersonalAccount, address: str) -> ConsumerAddressRecord:
    for row in store.list_further(execute, account.id):
        if row.email == address:
            return row
    raise NotFound("address of this account", address)
