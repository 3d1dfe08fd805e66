"""A mail server that misbehaves in each stage of SMTP, and two mail workers: nothing is lost, nothing is sent twice."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from attestlab.core.clock import FixedClock
from attestlab.core.records.audit import AuditEvent
from attestlab.installation import Installation
from attestlab.mail import smtp
from attestlab.mail.delivery_queue import MailQueue
from attestlab.mail.messages import Sender
from attestlab.mail.rules import MAX_ATTEMPTS, MAX_DELIVERIES, MAX_RETRY_PAUSE, MailStatus
from attestlab.mail.service import Mails
from attestlab.mail.smtp import SmtpTimeouts
from attestlab.mail.store import mails
from attestlab.orgs.rules import Caller
from attestlab.server.write_queue import WriteQueue
from attestlab.web.delivery_worker import DeliveryWorker
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer
from support.in_process_server import wait_until
from support.mail_server import EVERY_FAULT, FaultKind, MailFault, MailServer, SmtpStage, serve_mail
from support.timeouts import WAIT_TIMEOUT_S

pytestmark = pytest.mark.soak

MAILS = 30
# A message that the server accepts counts as sent only with its reply, so that one has the time of a busy machine.
TIMEOUTS = SmtpTimeouts(reply_s=1, handover_s=3, final_reply_s=12, quit_s=0.5)
ENDS = ("mail.attempt_failed", "mail.carry", "mail.give_up")


def each_once(connection: int) -> MailFault | None:
    """Every fault in a separate connection; after these the server behaves."""
    return EVERY_FAULT[connection] if connection < len(EVERY_FAULT) else None


@contextmanager
def mail_worker(lab: Installation, server: MailServer) -> Iterator[None]:
    """A courier with its own thread and event loop, as in a server process."""
    over: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
    started = threading.Event()

    async def work() -> None:
        desk, carrier = WriteQueue(lab), smtp.MailServer.of(server.url, timeouts=TIMEOUTS)
        queue = MailQueue(lab.mails, carrier, storage=lab.storage, sender=Sender("", "lab@lab.example"))
        courier = DeliveryWorker(queue, write=desk.write)
        courier.start(desk.background)
        over.append((asyncio.get_running_loop(), asyncio.Event()))
        started.set()
        await over[0][1].wait()
        await courier.finish(within_s=WAIT_TIMEOUT_S)
        await desk.finish()

    thread = threading.Thread(target=asyncio.run, args=(work(),))
    thread.start()
    assert started.wait(WAIT_TIMEOUT_S)
    try:
        yield
    finally:
        over[0][0].call_soon_threadsafe(over[0][1].set)
        thread.join(WAIT_TIMEOUT_S)


def statuses(lab: Installation) -> Counter[str]:
    with lab.storage.read() as connection:
        return Counter(connection.scalars(select(mails.c.status)))


def is_quiet(lab: Installation) -> bool:
    """Whether each attempt that began has ended, and no mail is due."""
    with lab.storage.read() as connection:
        of = select(AuditEvent.action, func.count().label("times")).group_by(AuditEvent.action)
        actions = {row.action: row.times for row in connection.execute(of)}
        due = connection.scalar(select(func.count()).where(mails.c.next_attempt_at <= lab.clock.now()))
    return due == 0 and actions.get("mail.attempt", 0) == sum(actions.get(end, 0) for end in ENDS)


def wake(*workers: Mails) -> None:
    for worker in workers:
        for wake_up in worker.on_enqueued:
            wake_up()


@pytest.mark.both_engines
def test_every_mail_is_sent_exactly_once_whatever_the_server_does(
    lab: Installation, caller: Caller, clock: FixedClock
) -> None:
    other = Installation.open(lab.settings, clock=clock)
    for number in range(MAILS):
        with lab.storage.write() as tx:
            to, text = f"p{number}@people.example", f"number {number}\n"
            lab.mails.enqueue(tx, tenant_id=caller.tenant_id, recipient=to, subject="S", text=text, at=clock.now())

    with serve_mail(each_once) as server, ExitStack() as workers:
        workers.callback(other.close)
        for at_work in (lab, other):
            workers.enter_context(mail_worker(at_work, server))
        for _ in range(MAX_ATTEMPTS):
            wake(lab.mails, other.mails)
            until = time.monotonic() + WAIT_TIMEOUT_S
            while not is_quiet(lab):
                assert time.monotonic() < until, statuses(lab)
                time.sleep(0.05)
            clock.advance(MAX_RETRY_PAUSE + timedelta(minutes=1))

    assert server.connections > len(EVERY_FAULT)
    assert statuses(lab) == {MailStatus.CARRIED: MAILS}
    assert Counter(accepted.recipient for accepted in server.accepted) == {
        f"p{number}@people.example": 1 for number in range(MAILS)
    }


@pytest.mark.on_postgresql
def test_a_hanging_mail_server_delays_no_mail_health_check_or_shutdown(
    fork_server: ForkServer, tmp_path: Path, empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two real servers with the times of production: of the first six connections none is answered."""
    hung = 2 * (MAX_DELIVERIES - 1)
    fault = MailFault(SmtpStage.RCPT, FaultKind.SILENT)
    with serve_mail(lambda connection: fault if connection < hung else None) as server:
        monkeypatch.setenv("ATTESTLAB_SMTP_URL", server.url)
        with ForkedServer.founded(fork_server, tmp_path / "data", empty_database) as one, one.another() as other:
            with one.client() as http, other.client() as http_of_other:
                for number in range(hung + MAILS):
                    answer = http.post("/v1/users", json={"email": f"p{number}@people.example", "role": "member"})
                    assert answer.status_code == 201, answer.text
                wait_until(lambda: len(server.accepted), MAILS)
                assert [client.get("/readyz").status_code for client in (http, http_of_other)] == [200, 200]
            one.stop()
            other.stop()
            one.check()

    assert len({accepted.recipient for accepted in server.accepted}) == MAILS
