"""Verification of addresses: the mailed link of a sign-up opens the account, that of a further address adds it.

A program sends the token alone. A page also asks for the password, so that a person who follows the mail of a
stranger's sign-up completes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from attestlab.consumer.accounts import store
from attestlab.consumer.accounts.signups import ACTOR, Signups
from attestlab.consumer.accounts.store import PersonalAccount
from attestlab.consumer.accounts.tables import ConsumerAddressRecord
from attestlab.core.clock import Clock
from attestlab.core.crypto import passwords
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound, PermissionDenied
from attestlab.core.limits.rate_counters import Counters
from attestlab.core.records import audited_write
from attestlab.core.records.actors import UserActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.identity import login_throttle, mailed_tokens
from attestlab.identity.login_throttle import LoginAttempt
from attestlab.identity.rules import SignInFailed, TokenPurpose, hash_address
from attestlab.identity.service import Identity
from attestlab.identity.tables import MailedTokenRecord
from attestlab.orgs.members import OnAccountOpened
from attestlab.orgs.service import NewConsumer

MAX_CHECKED_SIGNUPS = 10  # of one address, whose passwords a page compares


@dataclass(frozen=True)
class VerifiedEmail:
    """A verified address, its account, and how many attestations waited for it."""

    id: UUID
    email: str
    claimed: int


class EmailVerification:
    """Verifies addresses by the tokens of mailed links; `on_address_verified` delivers what waited for one.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(
        self,
        *,
        storage: Storage,
        clock: Clock,
        counters: Counters,
        signups: Signups,
        identity: Identity,
        on_address_verified: OnAccountOpened,
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.counters = counters
        self.signups = signups
        self.identity = identity
        self.on_address_verified = on_address_verified

    def require_password(self, token: str, password: str, *, peer: str, now: datetime) -> UUID | None:
        """Require the password of the sign-up or account that a token is about; slow.

        Returns the sign-up to complete: of several for one address, the one that has this password. None for a
        further address, and for a token that was used.

        Raises:
            ValidationFailed: the token is unknown or expired.
            PermissionDenied: the password is wrong.
            RateLimited: too many attempts failed.
        """
        with self.storage.read() as connection:
            row = self._find(connection.execute, token)
            if row.used_at is not None:
                return None
            email, hashes = self._list_candidates(connection.execute, row)
        if row.purpose == TokenPurpose.ADDRESS:
            self._require_account_password(email, password, peer, now)
            return None
        return self._choose_signup(hashes, password, LoginAttempt(hash_address(email), peer), now)

    def verify(self, token: str, *, signup_id: UUID | None = None, tx: Transaction | None = None) -> VerifiedEmail:
        """Verify the address of a token, once; the same token again has the same result.

        `signup_id` is the sign-up to complete in place of the token's own, for the same address.

        Raises:
            ValidationFailed: the token is unknown or expired, or the address belongs to an account by now.
        """
        with self.storage.write(tx) as tx:
            now, row = self.clock.now(), self._find(tx.exec, token)
            if row.used_at is not None:
                return self._repeat(tx.exec, row)
            if row.purpose == TokenPurpose.ADDRESS:
                return self._verify_further(tx, row, now)
            return self._complete_signup(tx, row, signup_id or UUID(row.subject), now)

    def _find(self, execute: Execute, token: str) -> MailedTokenRecord:
        row = mailed_tokens.find_token(execute, token, TokenPurpose.SIGNUP, TokenPurpose.ADDRESS, now=self.clock.now())
        if row is None:
            raise mailed_tokens.token_invalid()
        return row

    def _list_candidates(self, execute: Execute, row: MailedTokenRecord) -> tuple[str, dict[UUID, str]]:
        """Return the address of the token's account or sign-up, and the password hashes of the sign-ups that wait."""
        if row.purpose == TokenPurpose.ADDRESS:
            return self._get_further(execute, row)[1].email, {}
        signup = store.find_signup(execute, UUID(row.subject))
        if signup is None or signup.ended_at is not None:
            raise mailed_tokens.token_invalid()
        waiting = store.list_waiting(execute, signup.email)[-MAX_CHECKED_SIGNUPS:]
        return signup.email, {each.id: each.password_hash for each in waiting}

    def _choose_signup(self, hashes: dict[UUID, str], password: str, attempt: LoginAttempt, now: datetime) -> UUID:
        login_throttle.count_attempt(self.counters, attempt, now=now)
        for signup_id, password_hash in hashes.items():
            if passwords.matches(password, password_hash):
                login_throttle.clear_attempt(self.counters, attempt, now=now)
                return signup_id
        raise _wrong_password()

    def _require_account_password(self, email: str, password: str, peer: str, now: datetime) -> None:
        try:
            self.identity.authenticate(email, password, peer=peer, now=now)
        except SignInFailed:
            raise _wrong_password() from None

    def _complete_signup(
        self, tx: Transaction, row: MailedTokenRecord, signup_id: UUID, now: datetime
    ) -> VerifiedEmail:
        signup, own = store.find_signup(tx.exec, signup_id), store.find_signup(tx.exec, UUID(row.subject))
        if signup is None or own is None or signup.ended_at is not None or signup.email != own.email:
            raise mailed_tokens.token_invalid()
        if store.is_taken(tx.exec, signup.email):
            raise mailed_tokens.token_invalid()
        consumer = NewConsumer(signup.id, signup.email, signup.name, signup.password_hash)
        created = self.signups.open_account(tx, consumer, signup.username, now)
        mailed_tokens.mark_used(tx, row, actor=ACTOR, at=now, subject=str(signup.id), claimed=created.claimed)
        return VerifiedEmail(created.consumer_id, created.email, created.claimed)

    def _verify_further(self, tx: Transaction, row: MailedTokenRecord, now: datetime) -> VerifiedEmail:
        address, account = self._get_further(tx.exec, row)
        if store.is_taken(tx.exec, address.email):
            raise mailed_tokens.token_invalid()
        context = AuditContext(account.tenant_id, UserActor(str(account.id)), "consumer_address.verify", now)
        audited_write.change(tx, store.addresses, address, {"verified_at": now}, context)
        claimed = self.on_address_verified(tx, user_id=account.id, address=address.email, at=now)
        mailed_tokens.mark_used(tx, row, actor=ACTOR, at=now, claimed=claimed)
        return VerifiedEmail(account.id, address.email, claimed)

    def _repeat(self, execute: Execute, row: MailedTokenRecord) -> VerifiedEmail:
        claimed = row.claimed or 0
        if row.purpose == TokenPurpose.ADDRESS:
            address, account = self._get_further(execute, row)
            return VerifiedEmail(account.id, address.email, claimed)
        try:
            account = store.get_account(execute, UUID(row.subject))
        except NotFound:
            raise mailed_tokens.token_invalid() from None
        return VerifiedEmail(account.id, account.email, claimed)

    def _get_further(self, execute: Execute, row: MailedTokenRecord) -> tuple[ConsumerAddressRecord, PersonalAccount]:
        address = store.find_address(execute, UUID(row.subject))
        if address is None:
            raise mailed_tokens.token_invalid()
        return address, store.get_account(execute, address.user_id)


def _wrong_password() -> PermissionDenied:
    message = "The password is wrong. It is the one that was chosen for this account."
    return PermissionDenied(message, details={"reason": "wrong_password"})
