"""Service for consumers' accounts: read, change, choose a username, export and delete (CONTRACT 11.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from attestlab.consumer.accounts import rules, store
from attestlab.consumer.accounts.addresses import AccountEmail, erase_address, list_emails
from attestlab.consumer.accounts.rows import change_account
from attestlab.consumer.accounts.rules import PortfolioVisibility
from attestlab.consumer.accounts.shapes import AccountPatch
from attestlab.consumer.accounts.signups import ACTOR
from attestlab.consumer.accounts.store import PersonalAccount
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, PermissionDenied
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.identity import mailed_tokens
from attestlab.identity import store as identity_store
from attestlab.identity.rules import SessionEndReason, SignInFailed
from attestlab.identity.service import Identity
from attestlab.identity.tables import SessionRecord
from attestlab.orgs import store as org_store
from attestlab.orgs.members import removal_changes
from attestlab.orgs.rules import Caller, validate_display_name
from attestlab.orgs.service import Orgs
from attestlab.orgs.tables import ApiKeyRecord

DELETED = "Deleted account"
CountName = Literal["unread", "protections"]
CountOf = Callable[[Execute, PersonalAccount], int]
"""Returns a number that `GET /v1/consumer/me` shows of an account."""


class AccountPart(Protocol):
    """What another capability keeps about accounts: exported with them, and erased when one is deleted.

    Such capabilities stand above this one, so the composition root registers their parts.
    """

    @property
    def name(self) -> str:
        """Its name in an export, such as `inbox`."""
        ...

    def export(self, execute: Execute, account: PersonalAccount) -> object:
        """Return all that it keeps about an account, as values that JSON can hold."""
        ...

    def erase(self, tx: Transaction, account: PersonalAccount, at: datetime) -> None:
        """Erase what it keeps about an account that is deleted, in the transaction that deletes it."""
        ...


class AccountView(NamedTuple):
    """An account with its addresses and the address of its portfolio, as its owner sees it."""

    account: PersonalAccount
    emails: Sequence[AccountEmail]
    portfolio_url: str | None
    unread: int
    protections: int


@dataclass(frozen=True)
class AccountExport:
    """All that the service keeps about an account, read at one moment."""

    exported_at: datetime
    view: AccountView
    sessions: Sequence[SessionRecord]
    api_keys: Sequence[ApiKeyRecord]
    parts: dict[str, object]


class Accounts:
    """Consumers' accounts; `parts` are what other capabilities keep about them, `counts` the numbers that they show.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock, identity: Identity, orgs: Orgs, portal_url: str) -> None:
        self.storage = storage
        self.clock = clock
        self.identity = identity
        self.orgs = orgs
        self.portal_url = portal_url
        self.parts: list[AccountPart] = []
        self.counts: dict[CountName, CountOf] = {}

    def get(self, *, caller: Caller) -> AccountView:
        """Return the caller's account.

        Raises:
            NotFound: the caller is no consumer.
        """
        with self.storage.read() as connection:
            return self._view(connection.execute, store.get_account_of(connection.execute, caller.tenant_id))

    def update(self, patch: AccountPatch, *, caller: Caller, tx: Transaction | None = None) -> AccountView:
        """Change the given fields of the caller's account.

        Raises:
            ValidationFailed: the name is not one line.
        """
        with self.storage.write(tx) as tx:
            now, account = self.clock.now(), store.get_account_of(tx.exec, caller.tenant_id)
            if "name" in patch.model_fields_set:
                self.orgs.rename_consumer(tx, account.id, validate_display_name("name", patch.name), caller=caller)
            given = patch.model_dump(exclude_unset=True, exclude={"name"}, mode="json")
            if given:
                change_account(tx, account.id, given, tenant_id=account.tenant_id, actor=caller, at=now)
            return self._view(tx.exec, store.get_account_of(tx.exec, caller.tenant_id))

    def choose_username(self, username: str, *, caller: Caller, tx: Transaction | None = None) -> AccountView:
        """Give the caller's account its username, once.

        Raises:
            Conflict: the username is reserved or taken, or the account has one.
        """
        rules.require_unreserved(username)
        with self.storage.write(tx) as tx:
            now, account = self.clock.now(), store.get_account_of(tx.exec, caller.tenant_id)
            if account.username is not None:
                message = f"This account has the username {account.username}, which stays."
                raise Conflict(message, details={"reason": "username_chosen"})
            if store.has_username(tx.exec, username):
                raise rules.username_taken(username)
            changes = {"username": username}
            change_account(tx, account.id, changes, tenant_id=account.tenant_id, actor=caller, at=now)
            return self._view(tx.exec, account._replace(username=username))

    def export(self, *, caller: Caller) -> AccountExport:
        """Return all that the service keeps about the caller's account."""
        with self.storage.read() as connection:
            execute = connection.execute
            account = store.get_account_of(execute, caller.tenant_id)
            view = self._view(execute, account)
            return AccountExport(
                exported_at=self.clock.now(),
                view=view,
                sessions=identity_store.list_sessions(execute, account.id),
                api_keys=org_store.list_keys(execute, account.tenant_id),
                parts={part.name: part.export(execute, account) for part in self.parts},
            )

    def require_password(self, password: str, *, caller: Caller, peer: str, now: datetime) -> None:
        """Require the password of the caller's account; slow.

        Raises:
            PermissionDenied: it is wrong.
            RateLimited: too many attempts failed.
        """
        with self.storage.read() as connection:
            email = store.get_account_of(connection.execute, caller.tenant_id).email
        try:
            self.identity.authenticate(email, password, peer=peer, now=now)
        except SignInFailed:
            raise PermissionDenied("The password is wrong.", details={"reason": "wrong_password"}) from None

    def delete(self, *, caller: Caller, tx: Transaction | None = None) -> None:
        """Delete the caller's account: of the person only an id remains, and the username stays taken.

        Entries of the log stay, because they name no one.
        """
        with self.storage.write(tx) as tx:
            now, account = self.clock.now(), store.get_account_of(tx.exec, caller.tenant_id)
            tx.cache[org_store.ADDRESSES_CHANGED] = True
            for part in self.parts:
                part.erase(tx, account, now)
            deed = AuditContext(account.tenant_id, caller, "user.delete", now)
            self.identity.sessions.end_all(tx, account.id, SessionEndReason.DELETION, context=deed)
            self.orgs.api_keys.erase_all(tx, caller=caller)
            _erase_addresses(tx, account, caller, now)
            emptied = {"bio": "", "portfolio_visibility": PortfolioVisibility.PRIVATE.value, "deleted_at": now}
            change_account(tx, account.id, emptied, tenant_id=account.tenant_id, actor=caller, at=now)
            person = self.orgs.rename_consumer(tx, account.id, DELETED, caller=caller)
            audited_write.change(tx, org_store.users, person, removal_changes(person, now), deed)

    def portfolio_url(self, username: str) -> str:
        """Return the page of a portfolio."""
        return f"{self.portal_url}/u/{username}"

    def _view(self, execute: Execute, account: PersonalAccount) -> AccountView:
        numbers: dict[CountName, int] = {name: count(execute, account) for name, count in self.counts.items()}
        return AccountView(
            account=account,
            emails=list_emails(execute, account),
            portfolio_url=None if account.username is None else self.portfolio_url(account.username),
            unread=numbers.get("unread", 0),
            protections=numbers.get("protections", 0),
        )


def _erase_addresses(tx: Transaction, account: PersonalAccount, caller: Caller, now: datetime) -> None:
    """Erase the further addresses, and the tokens that were mailed about the account and its own addresses."""
    further, own = store.list_further(tx.exec, account.id), store.list_addresses(tx.exec, account.id)
    for token in identity_store.list_tokens_about(tx.exec, [str(account.id), *(str(row.id) for row in further), *own]):
        mailed_tokens.mark_used(tx, token, actor=ACTOR, at=now, subject=str(account.id), claimed=token.claimed)
    for row in further:
        erase_address(tx, row, caller, now)
