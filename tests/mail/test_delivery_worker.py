"""The delivery worker: concurrent deliveries, one process per mail, and recorded outcomes."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import UUID

import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.db.group_commit import Job
from attestlab.core.errors import Unavailable
from attestlab.installation import Installation
from attestlab.mail import store
from attestlab.mail.rules import FIRST_PAUSE, LEASE_TTL, MAX_DELIVERIES, MailStatus
from attestlab.orgs.rules import Caller
from attestlab.web.delivery_worker import Write
from support.mail_delivery import carrying, until
from support.mail_server import FaultKind, MailFault, MailServer, SmtpStage, serve_mail
from support.timeouts import WAIT_TIMEOUT_S


def post(lab: Installation, caller: Caller, name: str, *, subject: str = "Invitation") -> UUID:
    with lab.storage.write() as tx:
        now = lab.clock.now()
        recipient = f"{name}@people.example"
        return lab.mails.enqueue(
            tx, tenant_id=caller.tenant_id, recipient=recipient, subject=subject, text="t\n", at=now
        )


def row(lab: Installation, mail_id: UUID) -> dict[str, Any]:
    with lab.storage.read() as connection:
        return dict(connection.execute(store.mails.select().where(store.mails.c.id == mail_id)).mappings().one())


def recipients(server: MailServer) -> list[str]:
    return sorted(accepted.recipient.partition("@")[0] for accepted in server.accepted)


def test_a_slow_delivery_does_not_delay_other_mails(lab: Installation, caller: Caller) -> None:
    """All delivery slots but one may hang."""
    hung = MAX_DELIVERIES - 1

    async def story(server: MailServer) -> None:
        for number in range(hung + 3):
            post(lab, caller, f"p{number}")
        async with carrying(lab, server):
            await until(lambda: len(server.accepted) == 3)
            server.is_over.set()

    with serve_mail(
        lambda connection: MailFault(SmtpStage.RCPT, FaultKind.DRIP) if connection < hung else None
    ) as server:
        asyncio.run(story(server))


def test_a_lease_is_renewed_during_a_slow_delivery(lab: Installation, caller: Caller, clock: FixedClock) -> None:
    mail_id = post(lab, caller, "slow")

    async def story(server: MailServer) -> None:
        server.seconds_until_reply_to_dot = WAIT_TIMEOUT_S
        async with carrying(lab, server):
            await until(lambda: server.messages == 1)
            for _ in range(3):
                clock.advance(LEASE_TTL * 0.9)
                await until(lambda: row(lab, mail_id)["next_attempt_at"] == clock.now() + LEASE_TTL)
            with lab.storage.write() as tx:
                assert lab.mails.lease(tx) is None

    with serve_mail() as server:
        asyncio.run(story(server))

    assert recipients(server) == ["slow"]
    assert (row(lab, mail_id)["status"], row(lab, mail_id)["attempts"]) == (MailStatus.CARRIED, 1)


def test_an_accepted_mail_is_not_resent_if_its_outcome_is_recorded_late(lab: Installation, caller: Caller) -> None:
    mail_id, refused = post(lab, caller, "ada"), []

    async def story(server: MailServer) -> None:
        def failing(write: Write) -> Write:
            async def guarded(job: Job) -> Any:
                if server.accepted and not refused:
                    refused.append(job)
                    raise Unavailable("The disk is full.")
                return await write(job)

            return guarded

        async with carrying(lab, server, through=failing):
            await until(lambda: bool(refused))

    with serve_mail() as server:
        asyncio.run(story(server))

    assert (row(lab, mail_id)["status"], row(lab, mail_id)["attempts"], len(refused)) == (MailStatus.CARRIED, 1, 1)
    assert recipients(server) == ["ada"]


def test_a_mail_is_sent_once_even_if_the_server_refuses_quit(lab: Installation, caller: Caller) -> None:
    mail_id = post(lab, caller, "ada")

    async def story(server: MailServer) -> None:
        async with carrying(lab, server):
            await until(lambda: row(lab, mail_id)["status"] != MailStatus.WAITING)

    with serve_mail(lambda connection: MailFault(SmtpStage.QUIT, FaultKind.NEVER)) as server:
        asyncio.run(story(server))

    assert (row(lab, mail_id)["status"], server.connections) == (MailStatus.CARRIED, 1)


def test_an_invalid_message_waits_for_a_version_that_can_send_it(
    lab: Installation, caller: Caller, clock: FixedClock, capsys: pytest.CaptureFixture[str]
) -> None:
    mail_id = post(lab, caller, "ada", subject="Invitation to \N{RIGHT-TO-LEFT OVERRIDE}bal")
    other = post(lab, caller, "bob")

    async def story(server: MailServer) -> None:
        async with carrying(lab, server):
            await until(lambda: row(lab, other)["status"] != MailStatus.WAITING and row(lab, mail_id)["last_error"])

    with serve_mail() as server:
        asyncio.run(story(server))

    (line,) = capsys.readouterr().err.splitlines()
    assert (row(lab, mail_id)["status"], row(lab, mail_id)["attempts"]) == (MailStatus.WAITING, 1)
    assert row(lab, mail_id)["next_attempt_at"] == clock.now() + FIRST_PAUSE
    assert row(lab, mail_id)["sealed"] != b""
    assert json.loads(line)["mail_id"] == str(mail_id)
    assert "ada" not in line
    assert recipients(server) == ["bob"]
