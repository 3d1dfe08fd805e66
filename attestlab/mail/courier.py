"""The courier of one server process: takes mails that are due to where they go, one after another.

Nothing is delivered within a transaction. The thread that delivers is one that the process need not
wait for: a mail server that does not answer must not keep it from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from attestlab.core.transaction import Transaction
from attestlab.mail.carriers import Carrier, composed
from attestlab.mail.rules import fault_shown
from attestlab.mail.service import Claimed, Mails
from attestlab.web import journal

LOOKS_EVERY_S = 5.0

Write = Callable[[Callable[[Transaction], Any]], Coroutine[Any, Any, Any]]


class Courier:
    """Carries mails from `start` to `finish`; `write` runs a job in the next group commit."""

    def __init__(self, mails: Mails, carrier: Carrier, *, sender: str, write: Write) -> None:
        self._mails = mails
        self._carrier = carrier
        self._sender = sender
        self._write = write
        self._woken = asyncio.Event()
        self._stopping = False

    def start(self) -> None:
        """Begin to carry, in a task of the running loop."""
        self._task = asyncio.create_task(self._run())

    async def finish(self, *, within_s: float) -> None:
        """Carry no more than the mail that is on its way; one that takes longer is left, and carried again."""
        self._stopping = True
        self._woken.set()
        await asyncio.wait([self._task], timeout=within_s)
        self._task.cancel()

    async def _run(self) -> None:
        """Carry what is due now, what is posted, and what falls due."""
        loop = asyncio.get_running_loop()

        def posted() -> None:
            loop.call_soon_threadsafe(self._woken.set)

        self._mails.posted.append(posted)
        try:
            while not self._stopping:
                await self._carry_all_due()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), LOOKS_EVERY_S)
                self._woken.clear()
        finally:
            self._mails.posted.remove(posted)

    async def _carry_all_due(self) -> None:
        try:
            while not self._stopping and (mail := await self._write(self._mails.claim)) is not None:
                await self._carry(mail)
        except Exception as fault:  # the records cannot be reached: what is due stays due
            journal.part_failed(fault, part="courier")

    async def _carry(self, mail: Claimed) -> None:
        try:
            await _aside(lambda: self._deliver(mail))
        except Exception as fault:
            error = fault_shown(fault)
            await self._write(lambda tx: self._mails.failed(tx, mail.id, error=error))
        else:
            await self._write(lambda tx: self._mails.carried(tx, mail.id))

    def _deliver(self, mail: Claimed) -> None:
        message = composed(
            mail_id=mail.id,
            sender=self._sender,
            recipient=mail.recipient,
            subject=mail.subject,
            text=self._mails.text_of(mail),
            at=mail.created_at,
        )
        self._carrier.deliver(message)


async def _aside(work: Callable[[], None]) -> None:
    """Run `work` in a thread that ends with the process."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def settle(fault: BaseException | None) -> None:
        if not done.done():
            done.set_result(None) if fault is None else done.set_exception(fault)

    def run() -> None:
        fault: BaseException | None = None
        try:
            work()
        except BaseException as raised:
            fault = raised
        with suppress(RuntimeError):  # the loop is closed, so nobody waits any more
            loop.call_soon_threadsafe(settle, fault)

    threading.Thread(target=run, name="attestlab-mail", daemon=True).start()
    await done
