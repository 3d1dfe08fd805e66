"""Sign-up of consumers: with a mail that verifies the address, or by the invitation that a mint has sent.

Nothing tells whether an address has an account. Each sign-up hashes a password, stores a row and a token, and sends a
mail; the row of an address that has an account is never used, because its token is in no mail.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from attestlab.consumer.accounts import messages, rules, store
from attestlab.consumer.accounts.invitations import find_invitation, invite
from attestlab.consumer.accounts.rows import change_account
from attestlab.consumer.accounts.rules import SignupStatus
from attestlab.consumer.accounts.shapes import SignupIn
from attestlab.consumer.accounts.tables import ConsumerSignupRecord
from attestlab.core.clock import Clock
from attestlab.core.counting import plural
from attestlab.core.crypto import passwords
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, RateLimited
from attestlab.core.ids import new_id
from attestlab.core.limits.rate_counters import Counters
from attestlab.core.records import audited_write
from attestlab.core.records.actors import COMMAND_LINE, SystemActor, UserActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.identity import mail_throttle, mailed_tokens
from attestlab.identity.rules import TokenPurpose
from attestlab.identity.service import AuthenticatedUser, Identity
from attestlab.identity.sessions import Tokens
from attestlab.mail.rules import MailText
from attestlab.mail.service import Mails
from attestlab.orgs import role_rules
from attestlab.orgs import store as org_store
from attestlab.orgs.rules import validate_display_name
from attestlab.orgs.service import ConsumerCreated, NewConsumer, Orgs
from attestlab.web.rate_limit.client_address import rate_limit_key

ACTOR = SystemActor("attestlab-consumer")
MAX_DROPPED = 100  # sign-ups that one sweep ends, to hold the lock briefly


@dataclass(frozen=True)
class PreparedSignup:
    """A valid sign-up with the hash of its password."""

    email: str
    name: str
    username: str | None
    password_hash: str = field(repr=False)
    invitation_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class SignedUp:
    """The result of a sign-up; with an invitation the account exists, and the person is signed in."""

    id: UUID
    email: str
    name: str
    username: str | None
    status: SignupStatus
    created_at: datetime
    tokens: Tokens | None = field(default=None, repr=False)


class Invited(NamedTuple):
    """An invitation of the operator's, until when it can be accepted, and the link that its mail has."""

    email: str
    until: datetime
    link: str


class Signups:
    """Sign-ups of consumers.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(
        self,
        *,
        storage: Storage,
        clock: Clock,
        counters: Counters,
        mails: Mails,
        orgs: Orgs,
        identity: Identity,
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.counters = counters
        self.mails = mails
        self.orgs = orgs
        self.identity = identity

    def prepare(self, signup: SignupIn, *, peer: str, now: datetime) -> PreparedSignup:
        """Validate a sign-up, count it and hash its password; slow, whether the address has an account or not.

        Raises:
            ValidationFailed: a field is not acceptable, or the invitation is of another address, used or expired.
            Conflict: the username is taken or reserved.
            RateLimited: the client or the address has too many sign-ups within an hour.
        """
        address, name = role_rules.normalize_address(signup.email), validate_display_name("name", signup.name)
        passwords.require_acceptable(signup.password, email=address, field="/password")
        with self.storage.read() as connection:
            if signup.username is not None:
                _require_free(connection.execute, signup.username)
            if signup.invitation_token is not None:
                find_invitation(connection.execute, signup.invitation_token, address, now=self.clock.now())
        self._count_signup(peer, now)
        if signup.invitation_token is None:
            mail_throttle.count_mail(self.counters, address, now=now)
        password_hash = passwords.hash_password(signup.password)
        return PreparedSignup(address, name, signup.username, password_hash, signup.invitation_token)

    def sign_up(self, signup: PreparedSignup, *, tx: Transaction | None = None) -> SignedUp:
        """Store a sign-up and mail the link that verifies its address, or open the account that an invitation allows.

        Raises:
            ValidationFailed: the invitation was used since `prepare`.
        """
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            if signup.invitation_token is not None:
                return self._accept_invitation(tx, signup, signup.invitation_token, now)
            is_taken = store.is_taken(tx.exec, signup.email)
            row = ConsumerSignupRecord(
                id=new_id(now),
                email=signup.email,
                name=signup.name,
                password_hash=signup.password_hash,
                username=signup.username,
                created_at=now,
                expires_at=now + rules.SIGNUP_TTL,
            )
            context = AuditContext(org_store.get_operator_id(tx), ACTOR, "consumer_signup.create", now)
            audited_write.insert(tx, store.signups, row, context)
            self._mail_link(tx, row.email, row.id, is_taken=is_taken, at=now)
        return SignedUp(row.id, row.email, row.name, None, SignupStatus.PENDING_VERIFICATION, now)

    def resend(self, address: str, *, tx: Transaction | None = None) -> None:
        """Mail the link of the newest sign-up with this address again, or that none waits."""
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            waiting = [row for row in store.list_waiting(tx.exec, address) if now < row.expires_at]
            is_taken = store.is_taken(tx.exec, address)
            self._mail_link(tx, address, waiting[-1].id if waiting else None, is_taken=is_taken, at=now)

    def invite(self, email: str, *, tx: Transaction | None = None) -> Invited:
        """Mail an invitation from the operator to an address without an account.

        Raises:
            ValidationFailed: mail cannot be delivered to the address.
            Conflict: the address belongs to an existing account.
        """
        address = role_rules.normalize_address(email)
        with self.storage.write(tx) as tx:
            if store.is_taken(tx.exec, address):
                raise Conflict("This address belongs to an account already.", details={"reason": "address_taken"})
            now, tenant_id = self.clock.now(), org_store.get_operator_id(tx)
            portal_url = self.mails.portal_url
            link = invite(tx, address, portal_url=portal_url, tenant_id=tenant_id, actor=COMMAND_LINE, at=now)
            until = now + rules.INVITATION_TTL
            mail = messages.invitation_mail(portal_url, link, until=until)
            self.mails.enqueue(tx, tenant_id=tenant_id, recipient=address, subject=mail.subject, text=mail.text, at=now)
        return Invited(address, until, self.mails.name_portal(link))

    def find_invited(self, token: str) -> str:
        """Return the address that an invitation is for; it stays open.

        Raises:
            ValidationFailed: the token is unknown, used or expired, or the address has an account by now.
        """
        with self.storage.read() as connection:
            return find_invitation(connection.execute, token, now=self.clock.now()).subject

    def open_account(
        self, tx: Transaction, consumer: NewConsumer, username: str | None, at: datetime
    ) -> ConsumerCreated:
        """Open the account of a verified address, which ends all sign-ups that wait for it.

        It gets the username if that is still free.
        """
        actor = UserActor(str(consumer.id))
        created = self.orgs.open_consumer(tx, consumer, actor=actor, at=at)
        if username is not None and not store.has_username(tx.exec, username):
            change_account(
                tx, created.consumer_id, {"username": username}, tenant_id=created.tenant_id, actor=actor, at=at
            )
        for row in store.list_waiting(tx.exec, consumer.email):
            _end(tx, row, at)
        return created

    def drop_overdue(self, tx: Transaction) -> int:
        """End the sign-ups whose address was not verified within a day; return their number."""
        now = self.clock.now()
        overdue = store.list_overdue(tx.exec, now, limit=MAX_DROPPED)
        for row in overdue:
            _end(tx, row, now)
        return len(overdue)

    def _accept_invitation(self, tx: Transaction, signup: PreparedSignup, token: str, now: datetime) -> SignedUp:
        invitation = find_invitation(tx.exec, token, signup.email, now=now)
        consumer = NewConsumer(new_id(now), signup.email, signup.name, signup.password_hash)
        created = self.open_account(tx, consumer, signup.username, now)
        mailed_tokens.mark_used(tx, invitation, actor=ACTOR, at=now, subject=str(consumer.id), claimed=created.claimed)
        tokens = self.identity.sign_in(AuthenticatedUser(consumer.id, consumer.password_hash), tx=tx)
        account = store.get_account(tx.exec, consumer.id)
        return SignedUp(account.id, account.email, account.name, account.username, SignupStatus.ACTIVE, now, tokens)

    def _mail_link(
        self, tx: Transaction, address: str, signup_id: UUID | None, *, is_taken: bool, at: datetime
    ) -> None:
        """Mail a link to verify the address, or why there is none; a token is stored in each case."""
        tenant_id = org_store.get_operator_id(tx)
        subject = str(signup_id or new_id(at))
        token = mailed_tokens.create_token(
            tx, TokenPurpose.SIGNUP, subject, ttl=rules.SIGNUP_TTL, tenant_id=tenant_id, actor=ACTOR, at=at
        )
        mail = self._choose_mail(
            token, has_signup=signup_id is not None, is_taken=is_taken, until=at + rules.SIGNUP_TTL
        )
        self.mails.enqueue(tx, tenant_id=tenant_id, recipient=address, subject=mail.subject, text=mail.text, at=at)

    def _choose_mail(self, token: str, *, has_signup: bool, is_taken: bool, until: datetime) -> MailText:
        portal_url = self.mails.portal_url
        if is_taken:
            return messages.known_address_mail(portal_url)
        if not has_signup:
            return messages.no_signup_mail(portal_url)
        return messages.verification_mail(portal_url, token, until=until)

    def _count_signup(self, peer: str, now: datetime) -> None:
        key = f"signup:peer:{rate_limit_key(peer)}"
        count = self.counters.count(key, limit=rules.MAX_SIGNUPS_PER_PEER, window_s=rules.SIGNUP_WINDOW_S, now=now)
        if not count.allowed:
            raise RateLimited.of_limit(
                f"At most {rules.MAX_SIGNUPS_PER_PEER} people can sign up from one network address an hour. Retry "
                f"in {plural(max(1, round(count.retry_after_s / 60)), 'minute')}.",
                limit=rules.MAX_SIGNUPS_PER_PEER,
                window_s=rules.SIGNUP_WINDOW_S,
                wait_s=count.retry_after_s,
            )


def _require_free(execute: Execute, username: str) -> None:
    rules.require_unreserved(username)
    if store.has_username(execute, username):
        raise rules.username_taken(username)


def _end(tx: Transaction, row: ConsumerSignupRecord, at: datetime) -> None:
    """End a sign-up, of which only the id remains."""
    nothing = {"email": role_rules.removed_address(row.id), "name": "", "password_hash": "", "username": None}
    context = AuditContext(org_store.get_operator_id(tx), ACTOR, "consumer_signup.end", at)
    audited_write.change(tx, store.signups, row, {**nothing, "ended_at": at}, context)
