"""SMTP transport: delivery to a real SMTP server; after its acceptance, nothing makes the delivery fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from uuid import uuid4

import pytest

from attestlab.core.clock import SystemClock
from attestlab.mail import smtp
from attestlab.mail.messages import Message, Sender, compose
from attestlab.mail.rules import LEASE_TTL
from attestlab.mail.smtp import SmtpTimeouts
from support.mail_server import FaultKind, MailFault, MailServer, SmtpStage, serve_mail
from support.timeouts import WAIT_TIMEOUT_S

LINK = "http://127.0.0.1/invitations/accept?token=" + "x" * 80
BEFORE_ACCEPTANCE = [stage for stage in SmtpStage if stage is not SmtpStage.QUIT]
REFUSALS = [FaultKind.RESET, FaultKind.GARBAGE, FaultKind.LATER, FaultKind.NEVER]
SHORT = SmtpTimeouts(reply_s=0.2, handover_s=WAIT_TIMEOUT_S, final_reply_s=0.2, quit_s=0.1)
PATIENT = SmtpTimeouts(reply_s=WAIT_TIMEOUT_S, handover_s=WAIT_TIMEOUT_S, final_reply_s=WAIT_TIMEOUT_S, quit_s=0.1)


def letter(recipient: str = "ada@people.example", text: str = f"Choose a password:\n\n{LINK}\n") -> Message:
    return compose(
        mail_id=uuid4(),
        sender=Sender("AttestLab", "attestlab@localhost.example"),
        recipient=recipient,
        subject="Invitation",
        text=text,
        at=SystemClock().now(),
    )


@contextmanager
def misbehaving(stage: SmtpStage, kind: FaultKind) -> Iterator[MailServer]:
    with serve_mail(lambda connection: MailFault(stage, kind)) as server:
        yield server


def delivered(server: MailServer, message: Message, timeouts: SmtpTimeouts = PATIENT) -> None:
    smtp.MailServer.of(server.url, timeouts=timeouts).deliver(message)


def test_the_mail_server_receives_the_whole_message() -> None:
    with serve_mail() as server:
        delivered(server, letter())

    ((recipient, content),) = server.accepted
    assert recipient == "ada@people.example"
    assert b"To: ada@people.example\r\n" in content
    assert LINK.encode() in content


def test_lines_that_begin_with_a_dot_arrive_unchanged() -> None:
    with serve_mail() as server:
        delivered(server, letter(text=".\n..\n.x\n\nend"))

    ((_, content),) = server.accepted
    assert content.endswith(b"\r\n\r\n..\r\n...\r\n..x\r\n\r\nend\r\n")
    assert [line[:4] for line in server.commands] == [b"ehlo", b"MAIL", b"RCPT", b"DATA", b"QUIT"]


TEXTS = ["Chère Sofia, une attestation vous attend.\n\n" + LINK + "\n", ".é\n..\n\n", "é" * 600, "ASCII alone\n"]


@pytest.mark.parametrize("text", TEXTS, ids=["words", "dots", "a long line", "ascii"])
def test_a_server_without_8bitmime_receives_seven_bits_and_the_same_text(text: str) -> None:
    """RFC 6152: the bytes above 127 of a text are for a server that takes them."""
    with serve_mail(extensions=()) as server:
        delivered(server, letter(text=text))

    ((_, content),) = server.accepted
    parsed = message_from_bytes(content, policy=policy.default)
    assert content.isascii()
    assert max(map(len, content.split(b"\r\n"))) < 998
    assert [header for header in server.commands if b"8BITMIME" in header] == []
    assert (parsed.defects, parsed.get_content().replace("\r\n", "\n")) == ([], text)


def test_an_unreachable_mail_server_is_an_error() -> None:
    with pytest.raises(OSError, match="refused"):
        smtp.MailServer.of("smtp://127.0.0.1:1").deliver(letter())


@pytest.mark.parametrize("kind", REFUSALS)
@pytest.mark.parametrize("stage", BEFORE_ACCEPTANCE)
def test_a_server_that_accepts_nothing_is_an_error(stage: SmtpStage, kind: FaultKind) -> None:
    with misbehaving(stage, kind) as server, pytest.raises(OSError, match=r".*"):
        delivered(server, letter())

    assert server.accepted == []


@pytest.mark.parametrize("stage", [SmtpStage.BANNER, SmtpStage.RCPT, SmtpStage.DOT])
def test_a_silent_server_is_an_error(stage: SmtpStage) -> None:
    with misbehaving(stage, FaultKind.SILENT) as server, pytest.raises(OSError, match=r".*"):
        delivered(server, letter(), SHORT)


@pytest.mark.parametrize("kind", [FaultKind.DRIP, FaultKind.ENDLESS])
@pytest.mark.parametrize("stage", [SmtpStage.BANNER, SmtpStage.EHLO, SmtpStage.DATA])
def test_a_reply_that_never_ends_is_an_error(stage: SmtpStage, kind: FaultKind) -> None:
    with misbehaving(stage, kind) as server, pytest.raises(OSError, match=r".*"):
        delivered(server, letter(), SHORT)

    assert server.accepted == []


def test_replies_in_time_do_not_extend_the_handover() -> None:
    """The handover has one deadline, in addition to the generous limit for each reply."""
    timeouts = SmtpTimeouts(reply_s=WAIT_TIMEOUT_S, handover_s=0.5)
    with misbehaving(SmtpStage.RCPT, FaultKind.DRIP) as server, pytest.raises(OSError, match=r".*"):
        delivered(server, letter(), timeouts)


@pytest.mark.parametrize("kind", FaultKind)
def test_no_reply_to_quit_makes_an_accepted_message_fail(kind: FaultKind) -> None:
    with misbehaving(SmtpStage.QUIT, kind) as server:
        delivered(server, letter())

    assert len(server.accepted) == 1


@pytest.mark.parametrize("kind", [FaultKind.DRIP, FaultKind.ENDLESS])
def test_the_code_alone_accepts_a_message_even_if_the_reply_never_ends(kind: FaultKind) -> None:
    with misbehaving(SmtpStage.DOT, kind) as server:
        delivered(server, letter())

    assert len(server.accepted) == 1


def test_the_reply_to_the_final_dot_may_take_longer_than_any_other() -> None:
    timeouts = SmtpTimeouts(reply_s=0.2, handover_s=WAIT_TIMEOUT_S, final_reply_s=WAIT_TIMEOUT_S)
    with serve_mail() as server:
        server.seconds_until_reply_to_dot = 2 * timeouts.reply_s
        while not server.accepted:
            try:
                delivered(server, letter(), timeouts)
            except OSError:  # a busy machine took longer than `reply_s` for an early reply
                assert not server.messages

    assert len(server.accepted) == 1


def test_the_handover_ends_before_the_lease() -> None:
    timeouts = SmtpTimeouts()

    assert timeouts.handover_s < LEASE_TTL.total_seconds()
    assert timeouts.final_reply_s == 600


@pytest.mark.parametrize("typed", ["ada@bücher.example", "ada@xn--bcher-kva.example"])
def test_an_ascii_local_part_uses_an_a_label_domain(typed: str) -> None:
    with serve_mail(extensions=()) as server:
        delivered(server, letter(typed))

    ((recipient, content),) = server.accepted
    assert recipient == "ada@xn--bcher-kva.example"
    assert b"\r\nTo: ada@xn--bcher-kva.example\r\n" in content
    assert content.isascii()


def test_a_local_part_outside_of_ascii_needs_smtputf8() -> None:
    with serve_mail(extensions=("8BITMIME", "SMTPUTF8")) as server:
        delivered(server, letter("ädä@bücher.example"))
    with serve_mail() as other, pytest.raises(OSError, match="SMTPUTF8"):
        delivered(other, letter("ädä@bücher.example"))

    assert b"MAIL FROM:<attestlab@localhost.example> BODY=8BITMIME SMTPUTF8\r\n" in server.commands
    assert [recipient for recipient, _ in server.accepted] == ["ädä@bücher.example"]
    assert "\r\nTo: ädä@bücher.example\r\n".encode() in server.accepted[0].content
