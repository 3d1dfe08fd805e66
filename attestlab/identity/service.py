"""Service for identity: authenticate a user, sign in, change the password, return the current user."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.crypto import passwords
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AuthInvalid, PermissionDenied
from attestlab.core.limits.rate_counters import Counters
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.actors import UserActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.identity import login_throttle, rules, store
from attestlab.identity.events import PasswordChanged
from attestlab.identity.login_throttle import LoginAttempt
from attestlab.identity.reader_tokens import ReaderTokens
from attestlab.identity.rules import SessionEndReason, SignInFailed
from attestlab.identity.sessions import Sessions, Tokens
from attestlab.identity.store import Person
from attestlab.identity.tokens import AccessTokens
from attestlab.orgs import role_rules
from attestlab.orgs import store as org_store
from attestlab.orgs.credential_uses import CredentialUses
from attestlab.orgs.rules import Caller
from attestlab.settings import Settings

Found = TypeVar("Found")


@dataclass(frozen=True)
class AuthenticatedUser:
    """A person whose password was just verified; `next_hash`, if set, replaces the password's stored hash.

    `realm` is that of their tenant, as it is stored.
    """

    user_id: UUID
    password_hash: str = field(repr=False)
    next_hash: str | None = field(default=None, repr=False)
    realm: str | None = None


@dataclass(frozen=True)
class CurrentUser:
    """The user or API key of a credential; `email` is None for a key, whose own id and name are given."""

    id: UUID
    tenant_id: UUID
    tenant_name: str
    org_id: UUID | None
    email: str | None
    name: str


class Identity:
    """Accounts and their passwords; `issuer` returns the `iss` of their tokens.

    Methods marked slow create or verify an argon2id hash. Call them neither on the event loop nor under the writer
    lock. `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(
        self,
        *,
        storage: Storage,
        keyring: Keyring,
        clock: Clock,
        counters: Counters,
        settings: Settings,
        issuer: Callable[[], str],
        credential_uses: CredentialUses,
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.counters = counters
        self.tokens = AccessTokens(storage=storage, keyring=keyring, issuer=issuer)
        self.readers = ReaderTokens(storage=storage, keyring=keyring)
        self.sessions = Sessions(
            storage=storage,
            clock=clock,
            tokens=self.tokens,
            key_prefix=settings.key_prefix,
            credential_uses=credential_uses,
        )

    def authenticate(self, email: str, password: str, *, peer: str, now: datetime) -> AuthenticatedUser:
        """Return the person with this address and password; slow, whether the account exists or not.

        Raises:
            RateLimited: too many attempts failed, for this account or from this peer.
            SignInFailed: no such person exists, the password is wrong, or they may not sign in.
        """
        attempt = LoginAttempt(rules.hash_address(email), peer)
        login_throttle.count_attempt(self.counters, attempt, now=now)
        with self.storage.read() as connection:
            row = store.find_person_by_address(connection, rules.normalize_address(email))
        stored = row.password_hash if row is not None and role_rules.is_active(row.status) else None
        if not passwords.matches(password, stored) or row is None or stored is None:
            raise _sign_in_error(attempt, row)
        login_throttle.clear_attempt(self.counters, attempt, now=now)
        next_hash = passwords.hash_password(password) if passwords.is_outdated(stored) else None
        return AuthenticatedUser(row.id, stored, next_hash, row.realm)

    def sign_in(self, user: AuthenticatedUser, *, tx: Transaction | None = None) -> Tokens:
        """Start a session.

        Raises:
            AuthInvalid: the account or its password changed since it was authenticated.
        """
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            person = _require_unchanged(tx, user)
            if user.next_hash is not None:
                deed = AuditContext(person.tenant_id, UserActor(str(person.id)), "user.rehash_password", now)
                self._store_hash(tx, user, {}, deed)
            return self.sessions.begin(tx, person, at=now)

    def prepare_password(
        self, current: str, new: str, *, caller: Caller, peer: str, now: datetime
    ) -> AuthenticatedUser:
        """Verify the caller's current password and hash the new one; slow.

        Raises:
            ValidationFailed: the new password is too easy to guess.
            RateLimited: too many attempts failed.
            PermissionDenied: the current password is wrong.
        """
        with self.storage.read() as connection:
            email = _require_row(store.find_person(connection, UUID(caller.actor_id))).email
        passwords.require_acceptable(new, email=email, field="/new_password")
        try:
            user = self.authenticate(email, current, peer=peer, now=now)
        except SignInFailed:
            message = "The current password is wrong."
            raise PermissionDenied(message, details={"reason": "wrong_password"}) from None
        return replace(user, next_hash=passwords.hash_password(new))

    def change_password(self, user: AuthenticatedUser, *, caller: Caller, tx: Transaction | None = None) -> None:
        """Replace the password's hash and end all other sessions of the caller.

        Raises:
            AuthInvalid: the account or its password changed since it was authenticated.
        """
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            person = _require_unchanged(tx, user)
            deed = AuditContext(person.tenant_id, caller, "user.change_password", now)
            self._store_hash(tx, user, {"password_changed_at": now}, deed)
            ended = self.sessions.end_others(tx, SessionEndReason.PASSWORD, caller=caller, at=now)
            event = PasswordChanged(user_id=person.id, sessions_ended=ended, changed_at=now)
            outbox.publish(tx, person.tenant_id, event, at=now)

    def current_user(self, *, caller: Caller) -> CurrentUser:
        """Return the user, API key or agent of the caller's credential.

        Raises:
            AuthInvalid: the user or key no longer exists.
        """
        with self.storage.read() as connection:
            if caller.actor_type == "USER":
                row = _require_row(store.find_person(connection, UUID(caller.actor_id)))
                return CurrentUser(row.id, row.tenant_id, row.tenant_name, row.org_id, row.email, row.name)
            if caller.actor_type in ("SERVICE", "AGENT"):
                tenant = org_store.get_tenant(connection.execute, caller.tenant_id)
                org_id = store.find_first_org(connection, tenant.id)
                is_agent = caller.actor_type == "AGENT"
                user_id, name = (UUID(caller.actor_id), caller.actor_name) if is_agent else (tenant.id, caller.actor_id)
                return CurrentUser(user_id, tenant.id, tenant.name, org_id, None, name)
            key = _require_row(store.find_key_holder(connection, UUID(caller.actor_id)))
            org_id = store.find_first_org(connection, key.tenant_id)
            return CurrentUser(key.id, key.tenant_id, key.tenant_name, org_id, None, key.name)

    def _store_hash(
        self, tx: Transaction, user: AuthenticatedUser, more: dict[str, datetime], deed: AuditContext
    ) -> None:
        row = _require_row(store.find_user(tx.exec, user.user_id))
        audited_write.change(tx, org_store.users, row, {"password_hash": user.next_hash, **more}, deed)


def _sign_in_error(attempt: LoginAttempt, row: Person | None) -> SignInFailed:
    if row is None:
        return SignInFailed(attempt.address_sha256)
    return SignInFailed(attempt.address_sha256, tenant_id=row.tenant_id, user_id=row.id)


def _require_row(row: Found | None) -> Found:
    if row is None:
        raise AuthInvalid
    return row


def _require_unchanged(tx: Transaction, user: AuthenticatedUser) -> Person:
    """Return the person's row, read under the writer lock, if they may sign in and the password is unchanged."""
    tx.flush()
    person = _require_row(store.find_person(tx.connection, user.user_id))
    same = hmac.compare_digest(person.password_hash, user.password_hash)
    if not (same and role_rules.is_active(person.status)):
        raise AuthInvalid
    return person
