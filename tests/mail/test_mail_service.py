"""The mail service: a mail is leased by one process at a time, and its text is deleted in the end."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.errors import ValidationFailed
from attestlab.installation import Installation
from attestlab.mail import store
from attestlab.mail.rules import LEASE_TTL, MAX_ATTEMPTS, MAX_RETRY_PAUSE, MailStatus, pause_after
from attestlab.mail.service import LeasedMail
from attestlab.mail.store import MailRecord
from attestlab.orgs.rules import Caller

TEXT = "Choose a password: https://attest.example/invitations/accept?token=secret"


def enqueue_mail(lab: Installation, caller: Caller, **changes: str) -> UUID:
    letter = {"recipient": "ada@people.example", "subject": "Invitation", "text": TEXT, **changes}
    with lab.storage.write() as tx:
        return lab.mails.enqueue(tx, tenant_id=caller.tenant_id, at=lab.clock.now(), **letter)


def claimed(lab: Installation) -> LeasedMail | None:
    with lab.storage.write() as tx:
        return lab.mails.lease(tx)


def read_mail(lab: Installation, mail_id: UUID) -> MailRecord:
    with lab.storage.write() as tx:
        return store.get_mail(tx, mail_id)


def test_a_mail_is_leased_by_one_process_at_a_time(lab: Installation, caller: Caller, clock: FixedClock) -> None:
    mail_id = enqueue_mail(lab, caller)

    first, second = claimed(lab), claimed(lab)
    clock.advance(LEASE_TTL)
    third = claimed(lab)

    assert first is not None
    assert third is not None
    assert (first.id, second, third.id) == (mail_id, None, mail_id)


def test_a_lease_can_be_renewed_repeatedly(lab: Installation, caller: Caller, clock: FixedClock) -> None:
    enqueue_mail(lab, caller)
    mail = claimed(lab)
    assert mail is not None
    for _ in range(3):
        clock.advance(LEASE_TTL * 0.9)
        assert claimed(lab) is None
        with lab.storage.write() as tx:
            assert lab.mails.renew_lease(tx, mail)


def test_a_lost_lease_is_neither_renewed_nor_ended(lab: Installation, caller: Caller, clock: FixedClock) -> None:
    mail_id = enqueue_mail(lab, caller)
    late = claimed(lab)
    clock.advance(LEASE_TTL)
    assert late is not None
    assert claimed(lab) is not None
    before = read_mail(lab, mail_id)

    with lab.storage.write() as tx:
        assert not lab.mails.renew_lease(tx, late)
        lab.mails.mark_failed(tx, late, error="TimeoutError")

    assert read_mail(lab, mail_id) == before


def test_a_failed_attempt_is_retried_after_its_pause(lab: Installation, caller: Caller, clock: FixedClock) -> None:
    enqueue_mail(lab, caller)
    mail = claimed(lab)
    assert mail is not None
    with lab.storage.write() as tx:
        lab.mails.mark_failed(tx, mail, error="TimeoutError")

    assert claimed(lab) is None
    clock.advance(pause_after(1))
    assert claimed(lab) is not None


def test_the_lease_of_a_failed_attempt_is_not_renewed(lab: Installation, caller: Caller, clock: FixedClock) -> None:
    """A renewal may wait in the same commit as the outcome, behind it."""
    mail_id = enqueue_mail(lab, caller)
    renewed = []
    for attempt in (1, 2):
        mail = claimed(lab)
        assert mail is not None
        with lab.storage.write() as tx:
            assert lab.mails.renew_lease(tx, mail)
            lab.mails.mark_failed(tx, mail, error="TimeoutError")
            renewed.append(lab.mails.renew_lease(tx, mail))
        assert read_mail(lab, mail_id).next_attempt_at == clock.now() + pause_after(attempt)
        clock.advance(pause_after(attempt))

    assert renewed == [False, False]


def test_the_text_is_stored_sealed_until_it_is_sent(lab: Installation, caller: Caller, clock: FixedClock) -> None:
    mail_id = enqueue_mail(lab, caller)
    sealed = read_mail(lab, mail_id).sealed
    mail = claimed(lab)
    assert mail is not None
    assert lab.mails.text_of(mail) == TEXT
    assert TEXT.encode() not in sealed

    with lab.storage.write() as tx:
        lab.mails.mark_sent(tx, mail_id)

    assert (read_mail(lab, mail_id).status, read_mail(lab, mail_id).sealed) == (MailStatus.CARRIED, b"")
    clock.advance(MAX_RETRY_PAUSE)
    assert claimed(lab) is None


def test_a_mail_is_given_up_after_its_last_attempt(lab: Installation, caller: Caller, clock: FixedClock) -> None:
    mail_id = enqueue_mail(lab, caller)
    attempts = 0
    while (mail := claimed(lab)) is not None:
        attempts += 1
        assert read_mail(lab, mail.id).status == MailStatus.WAITING
        with lab.storage.write() as tx:
            lab.mails.mark_failed(tx, mail, error="SMTPServerDisconnected")
        clock.advance(MAX_RETRY_PAUSE + timedelta(minutes=1))

    row = read_mail(lab, mail_id)
    assert attempts == MAX_ATTEMPTS
    assert (row.status, row.sealed, row.last_error) == (MailStatus.FAILED, b"", "SMTPServerDisconnected")


@pytest.mark.parametrize(
    "changes",
    [
        {"recipient": "ada@people.example\r\nBcc: eve@people.example"},
        {"recipient": ""},
        {"subject": "Invitation\nX-Header: injected"},
        {"subject": "Invitation\u2028second line"},
    ],
    ids=str,
)
def test_recipient_and_subject_must_be_one_line_each(
    lab: Installation, caller: Caller, changes: dict[str, str]
) -> None:
    with pytest.raises(ValidationFailed, match="one line"):
        enqueue_mail(lab, caller, **changes)
    assert claimed(lab) is None
