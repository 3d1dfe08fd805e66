"""Forgotten passwords: a mailed link to choose another one, for people of every realm.

Nothing tells whether an address has an account: each request stores a token and sends a mail, and only the mail to the
address says which.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.crypto import passwords
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.ids import new_id
from attestlab.core.limits.rate_counters import Counters
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.actors import SystemActor, UserActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.identity import login_throttle, mail_throttle, mailed_tokens, rules, store
from attestlab.identity.events import PasswordChanged
from attestlab.identity.rules import SessionEndReason, TokenPurpose
from attestlab.identity.sessions import Sessions
from attestlab.identity.tables import MailedTokenRecord
from attestlab.mail.rules import MailText
from attestlab.mail.service import Mails
from attestlab.orgs import role_rules
from attestlab.orgs import store as org_store
from attestlab.orgs.tables import UserRecord

TOKEN_TTL = timedelta(hours=1)
ACTOR = SystemActor("attestlab-identity")


@dataclass(frozen=True)
class NewPassword:
    """A valid token of a reset, and the hash of the password that its bearer chose."""

    token: str = field(repr=False)
    password_hash: str = field(repr=False)


class PasswordResets:
    """Resets of forgotten passwords."""

    def __init__(self, *, storage: Storage, clock: Clock, counters: Counters, mails: Mails, sessions: Sessions) -> None:
        self.storage = storage
        self.clock = clock
        self.counters = counters
        self.mails = mails
        self.sessions = sessions

    def count_request(self, email: str, *, now: datetime) -> str:
        """Count a request for a mail to this address; return the address in lower case.

        Raises:
            ValidationFailed: mail cannot be delivered to the address.
            RateLimited: the address was sent three such mails within an hour.
        """
        return mail_throttle.count_mail(self.counters, email, now=now)

    def request(self, address: str, *, tx: Transaction | None = None) -> None:
        """Mail a link to choose another password, or that no account signs in with this address."""
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            person = org_store.find_user_by_address(tx.exec, address)
            has_account = person is not None and role_rules.is_active(person.status)
            subject = new_id(now) if person is None or not has_account else person.id
            tenant_id = org_store.get_operator_id(tx)
            token = mailed_tokens.create_token(
                tx, TokenPurpose.PASSWORD, str(subject), ttl=TOKEN_TTL, tenant_id=tenant_id, actor=ACTOR, at=now
            )
            until = now + TOKEN_TTL
            mail = _reset_mail(self.mails.portal_url, token, until=until) if has_account else _unknown_mail()
            self.mails.enqueue(tx, tenant_id=tenant_id, recipient=address, subject=mail.subject, text=mail.text, at=now)

    def prepare(self, token: str, password: str) -> NewPassword:
        """Validate a token and hash the new password; slow.

        Raises:
            ValidationFailed: the token is unknown, used or expired, or the password is too easy to guess.
        """
        with self.storage.read() as connection:
            _, person = self._find(connection.execute, token)
        passwords.require_acceptable(password, email=person.email, field="/password")
        return NewPassword(token, passwords.hash_password(password))

    def reset(self, new: NewPassword, *, tx: Transaction | None = None) -> UUID:
        """Replace the password and end all sessions of the person; return their id.

        Raises:
            ValidationFailed: the token was used since `prepare`, or the password changed after it was mailed.
        """
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            row, person = self._find(tx.exec, new.token)
            context = AuditContext(person.tenant_id, UserActor(str(person.id)), "user.reset_password", now)
            changes = {"password_hash": new.password_hash, "password_changed_at": now}
            audited_write.change(tx, org_store.users, person, changes, context)
            mailed_tokens.mark_used(tx, row, actor=ACTOR, at=now)
            ended = self.sessions.end_all(tx, person.id, SessionEndReason.PASSWORD, context=context)
            event = PasswordChanged(user_id=person.id, sessions_ended=ended, changed_at=now)
            outbox.publish(tx, person.tenant_id, event, at=now)
            account = rules.hash_address(person.email)
            tx.after_commit(lambda: login_throttle.forgive_account(self.counters, account))
        return person.id

    def _find(self, execute: Execute, token: str) -> tuple[MailedTokenRecord, UserRecord]:
        """Return an unused token and its person, whose password has not changed since it was mailed."""
        row = mailed_tokens.find_token(execute, token, TokenPurpose.PASSWORD, now=self.clock.now())
        if row is None or row.used_at is not None:
            raise mailed_tokens.token_invalid()
        person = store.find_user(execute, UUID(row.subject))
        if person is None or not role_rules.is_active(person.status):
            raise mailed_tokens.token_invalid()
        if person.password_changed_at is not None and row.created_at < person.password_changed_at:
            raise mailed_tokens.token_invalid()
        return row, person


def _reset_mail(portal_url: str, token: str, *, until: datetime) -> MailText:
    return MailText(
        "Choose another password",
        f"Someone asked for another password for the account with this address at {portal_url}.\n\n"
        f"Choose one here, by {until:%d %B %Y, %H:%M} UTC:\n\n"
        f"{portal_url}/reset-password?token={token}\n\n"
        "Anyone with this link can choose it. If it was not you, do nothing: your password stays as it is.\n",
    )


def _unknown_mail() -> MailText:
    return MailText(
        "Choose another password",
        "Someone asked for another password, but no account signs in with this address. Nothing changed.\n\n"
        "If it was you: your account may have another address, or its address is not verified yet.\n",
    )
