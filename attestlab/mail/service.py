"""Service for e-mails: enqueue one with the change that it reports, lease it, record the outcome.

A mail is delivered at least once. A process that leases a mail sets its next attempt to the end of the lease, under
the writer lock, and renews the lease while it delivers, so that no two processes deliver it at once. If the process
dies, the mail is only delayed until the lease ends. The Message-ID stays the same, which identifies a second copy.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.crypto import sealing
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import ValidationFailed
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.actors import SystemActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.core.short_text import shorten
from attestlab.mail import store
from attestlab.mail.rules import (
    LEASE_TTL,
    MAX_ATTEMPTS,
    MAX_SUBJECT_CHARACTERS,
    UNKNOWN_PORTAL,
    HtmlFile,
    MailStatus,
    pause_after,
    require_attachable,
)
from attestlab.mail.store import MailRecord
from attestlab.settings import Settings

ACTOR = SystemActor("attestlab-mail")
_NO_CONTENT: Mapping[str, object] = {"sealed": b"", "sealed_attachment": None, "next_attempt_at": None}


@dataclass(frozen=True)
class LeasedMail:
    """A mail that this process delivers in its n-th attempt; the text is still sealed."""

    id: UUID
    recipient: str
    subject: str
    created_at: datetime
    sealed: bytes = field(repr=False)
    attempt: int = 1
    attachment_name: str | None = None
    sealed_attachment: bytes | None = field(default=None, repr=False)


class Mails:
    """The queue of e-mails; the callbacks in `on_enqueued` run once new mails are durable.

    Links in mails begin with `portal_url`. A process that is no server may not know the portal's address: it writes
    `UNKNOWN_PORTAL`, and the server that delivers the mail puts the address there.
    """

    def __init__(self, *, keyring: Keyring, clock: Clock, settings: Settings) -> None:
        self.keyring = keyring
        self.clock = clock
        self.portal_url = settings.public_url if settings.portal_url else UNKNOWN_PORTAL
        self._public_url = settings.public_url
        self.on_enqueued: list[Callable[[], None]] = []

    def enqueue(
        self,
        tx: Transaction,
        *,
        tenant_id: UUID,
        recipient: str,
        subject: str,
        text: str,
        at: datetime,
        attachment: HtmlFile | None = None,
    ) -> UUID:
        """Store a mail in the transaction that it reports on: it is sent if and only if the transaction commits.

        Raises:
            ValidationFailed: recipient or subject contain more than one line, or the file cannot be attached.
        """
        _require_one_line(recipient=recipient, subject=subject)
        if attachment is not None:
            require_attachable(attachment)
        mail_id = new_id(at)
        row = MailRecord(
            id=mail_id,
            tenant_id=tenant_id,
            recipient=recipient,
            subject=shorten(subject, MAX_SUBJECT_CHARACTERS),
            sealed=sealing.seal_secret(tx, self.keyring, text.encode(), purpose=_purpose(mail_id)),
            status=MailStatus.WAITING.value,
            attempts=0,
            next_attempt_at=at,
            last_error=None,
            created_at=at,
            carried_at=None,
            attachment_name=None if attachment is None else attachment.name,
            sealed_attachment=None if attachment is None else self._seal_file(tx, mail_id, attachment),
        )
        audited_write.insert(tx, store.mails, row, AuditContext(tenant_id, ACTOR, "mail.create", at))
        tx.after_commit(self._notify_enqueued)
        return mail_id

    def list_due(self, execute: Execute, *, limit: int) -> list[UUID]:
        """List the ids of the mails that have been due longest."""
        return store.list_due(execute, self.clock.now(), limit=limit)

    def lease(self, tx: Transaction) -> LeasedMail | None:
        """Lease the mail that has been due longest, for `LEASE_TTL`; return None if no mail is due."""
        now = self.clock.now()
        row = store.find_due(tx, now)
        if row is None:
            return None
        attempt = row.attempts + 1
        changes = {"attempts": attempt, "next_attempt_at": now + LEASE_TTL, "last_error": None}
        self._change(tx, row, changes, "mail.attempt", now)
        return LeasedMail(
            row.id,
            row.recipient,
            row.subject,
            row.created_at,
            row.sealed,
            attempt,
            row.attachment_name,
            row.sealed_attachment,
        )

    def renew_lease(self, tx: Transaction, mail: LeasedMail) -> bool:
        """Extend a lease by `LEASE_TTL`; return False if the attempt ended or another process has leased the mail."""
        now, row = self.clock.now(), store.get_mail(tx, mail.id)
        if is_leased := _is_leased(row, mail):
            self._change(tx, row, {"next_attempt_at": now + LEASE_TTL}, "mail.renew", now)
        return is_leased

    def text_of(self, mail: LeasedMail) -> str:
        """Unseal the mail's text, with the portal's address in its links.

        Raises:
            IntegrityFailed: the text was altered, or sealed under another key.
        """
        return self.name_portal(self.keyring.unseal_secret(mail.sealed, purpose=_purpose(mail.id)).decode())

    def attachment_of(self, mail: LeasedMail) -> HtmlFile | None:
        """Unseal the file that is attached to a mail; None if there is none.

        Raises:
            IntegrityFailed: the file was altered, or sealed under another key.
        """
        if mail.attachment_name is None or mail.sealed_attachment is None:
            return None
        packed = self.keyring.unseal_secret(mail.sealed_attachment, purpose=_file_purpose(mail.id))
        return HtmlFile(mail.attachment_name, zlib.decompress(packed))

    def name_portal(self, text: str) -> str:
        """Put the portal's address, as this process knows it, where a text leaves it open."""
        return text.replace(UNKNOWN_PORTAL, self._public_url)

    def mark_sent(self, tx: Transaction, mail_id: UUID) -> None:
        """Record the delivery, even if another process now holds the lease, and delete the text."""
        now = self.clock.now()
        changes = {"status": MailStatus.CARRIED.value, "carried_at": now, "last_error": None}
        self._end(tx, store.get_mail(tx, mail_id), changes, "mail.carry", now)

    def mark_failed(self, tx: Transaction, mail: LeasedMail, *, error: str) -> None:
        """Record a failed attempt: schedule the next one after a pause, or give the mail up after the last one."""
        now, row = self.clock.now(), store.get_mail(tx, mail.id)
        if not _is_leased(row, mail):
            return
        if mail.attempt < MAX_ATTEMPTS:
            changes = {"last_error": error, "next_attempt_at": now + pause_after(mail.attempt)}
            self._change(tx, row, changes, "mail.attempt_failed", now)
        else:
            given_up = {"status": MailStatus.FAILED.value, "last_error": error}
            self._end(tx, row, given_up, "mail.give_up", now)

    def _end(self, tx: Transaction, row: MailRecord, changes: Mapping[str, object], action: str, now: datetime) -> None:
        """Make a mail final, unless another process has already done so."""
        if row.status == MailStatus.WAITING:
            self._change(tx, row, {**changes, **_NO_CONTENT}, action, now)

    def rewrap(self, tx: Transaction, new: Keyring, *, on_sealed: Callable[[], None] = lambda: None) -> int:
        """Seal the waiting texts under another key-encryption key; return their number.

        `on_sealed` is called after each.
        """
        now, waiting = self.clock.now(), store.list_waiting(tx)
        for row in waiting:
            sealed: dict[str, object] = {
                "sealed": self.keyring.rewrap_secret(row.sealed, new, purpose=_purpose(row.id))
            }
            if row.sealed_attachment is not None:
                purpose = _file_purpose(row.id)
                sealed["sealed_attachment"] = self.keyring.rewrap_secret(row.sealed_attachment, new, purpose=purpose)
            self._change(tx, row, sealed, "mail.rewrap", now)
            on_sealed()
        return len(waiting)

    def _seal_file(self, tx: Transaction, mail_id: UUID, file: HtmlFile) -> bytes:
        packed = zlib.compress(file.content)
        return sealing.seal_secret(tx, self.keyring, packed, purpose=_file_purpose(mail_id))

    def _change(
        self, tx: Transaction, row: MailRecord, changes: Mapping[str, object], action: str, now: datetime
    ) -> None:
        audited_write.change(tx, store.mails, row, changes, AuditContext(row.tenant_id, ACTOR, action, now))

    def _notify_enqueued(self) -> None:
        for callback in self.on_enqueued:
            callback()


def _is_leased(row: MailRecord, mail: LeasedMail) -> bool:
    """Whether the attempt is the running one: its error ends a lease, and waits for the next attempt."""
    return row.status == MailStatus.WAITING and row.attempts == mail.attempt and row.last_error is None


def _file_purpose(mail_id: UUID) -> str:
    return f"attachment of mail {mail_id}"


def _purpose(mail_id: UUID) -> str:
    return f"mail {mail_id}"


def _require_one_line(**texts: str) -> None:
    for name, text in texts.items():
        if len(text.splitlines()) != 1:
            raise ValidationFailed.of(name, "one_line", f"The {name} of an e-mail must be one line.")
