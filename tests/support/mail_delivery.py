"""The delivery worker of mails, which hands what waits to a mail server on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from attestlab.installation import Installation
from attestlab.mail import smtp
from attestlab.mail.delivery_queue import MailQueue
from attestlab.mail.messages import Sender
from attestlab.mail.smtp import SmtpTimeouts
from attestlab.server.write_queue import WriteQueue
from attestlab.web.delivery_worker import DeliveryWorker, Write
from support.mail_server import MailServer
from support.timeouts import WAIT_TIMEOUT_S

PATIENT = SmtpTimeouts(reply_s=WAIT_TIMEOUT_S, handover_s=WAIT_TIMEOUT_S, final_reply_s=WAIT_TIMEOUT_S, quit_s=0.1)
SENDER = Sender("AttestLab", "lab@lab.example")


@asynccontextmanager
async def carrying(
    lab: Installation, server: MailServer, *, through: Callable[[Write], Write] = lambda write: write
) -> AsyncIterator[None]:
    """Runs a delivery worker whose writes pass `through` a test's function."""
    desk = WriteQueue(lab)
    carrier = smtp.MailServer.of(server.url, timeouts=PATIENT)
    queue = MailQueue(lab.mails, carrier, storage=lab.storage, sender=SENDER, renewal_interval_s=0.02)
    courier = DeliveryWorker(queue, write=through(desk.write))
    courier.start(desk.background)
    try:
        yield
    finally:
        server.is_released.set()
        await courier.finish(within_s=WAIT_TIMEOUT_S)
        await desk.finish()


async def until(found: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_TIMEOUT_S):
        while not found():
            await asyncio.sleep(0.01)
