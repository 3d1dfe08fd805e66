"""The delivery worker of a server process: delivers due mails, several at once.

No delivery runs within a transaction. The delivery threads are daemons, so that a mail server that does not respond
cannot keep the process from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Protocol, TypeVar

from attestlab.core.db.transaction import Transaction
from attestlab.mail.messages import InvalidMessage, Sender, compose
from attestlab.mail.rules import LEASE_RENEWAL_INTERVAL_S, MAX_DELIVERIES, describe_error
from attestlab.mail.service import LeasedMail, Mails
from attestlab.mail.transports import Transport
from attestlab.web import logging_setup
from attestlab.web.supervisor import Round, Supervisor

POLL_INTERVAL_S = 5.0
RECORD_RETRY_INTERVAL_S = 1.0

Job = Callable[[Transaction], object]
Result = TypeVar("Result")


class Write(Protocol):
    """Runs a job in the next group commit, and returns its result once that is durable."""

    def __call__(self, job: Callable[[Transaction], Result], /) -> Coroutine[object, object, Result]:
        """Run `job`."""
        ...


class DeliveryWorker:
    """Delivers mails from `start` to `finish`; `write` runs a job in the next group commit."""

    def __init__(
        self,
        mails: Mails,
        transport: Transport,
        *,
        sender: Sender,
        write: Write,
        renewal_interval_s: float = LEASE_RENEWAL_INTERVAL_S,
    ) -> None:
        self._mails = mails
        self._transport = transport
        self._sender = sender
        self._write = write
        self._renewal_interval_s = renewal_interval_s
        self._wake_up = asyncio.Event()
        self._deliveries: set[asyncio.Task[None]] = set()
        self._stopping = False

    def start(self, background: Supervisor) -> None:
        """Starts the worker as a task of the running event loop."""
        self._task = background.start("mail", self._run)

    async def finish(self, *, within_s: float) -> None:
        """Starts no further delivery and waits up to `within_s` seconds for running ones.

        A slower delivery is abandoned and repeated later.
        """
        self._stopping = True
        self._wake_up.set()
        loop = asyncio.get_running_loop()
        until = loop.time() + within_s
        await self._task.finish(within_s=within_s)
        if self._deliveries:
            await asyncio.wait(self._deliveries, timeout=max(0, until - loop.time()))
        for delivery in self._deliveries:
            delivery.cancel()

    async def _run(self, completed_round: Round) -> None:
        """Delivers mails that are due, mails that are enqueued, and mails that become due.

        An error, such as an unreachable database, ends this task: the supervisor restarts it, and due mails stay due.
        """
        loop = asyncio.get_running_loop()

        def wake_up() -> None:
            loop.call_soon_threadsafe(self._wake_up.set)

        self._mails.on_enqueued.append(wake_up)
        try:
            while not self._stopping:
                await self._start_due_deliveries()
                completed_round()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wake_up.wait(), POLL_INTERVAL_S)
                self._wake_up.clear()
        finally:
            self._mails.on_enqueued.remove(wake_up)

    async def _start_due_deliveries(self) -> None:
        """Starts a delivery of each due mail, up to the limit; a finished delivery wakes the worker."""
        while self._has_room() and (mail := await self._write(self._mails.lease)) is not None:
            delivery = asyncio.create_task(self._process(mail))
            self._deliveries.add(delivery)
            delivery.add_done_callback(self._on_delivery_done)

    def _has_room(self) -> bool:
        return not self._stopping and len(self._deliveries) < MAX_DELIVERIES

    def _on_delivery_done(self, delivery: asyncio.Task[None]) -> None:
        self._deliveries.discard(delivery)
        self._wake_up.set()

    async def _process(self, mail: LeasedMail) -> None:
        renewing = asyncio.create_task(self._keep_lease(mail))
        try:
            outcome = await self._attempt(mail)
        finally:
            renewing.cancel()
        await self._record(outcome)

    async def _attempt(self, mail: LeasedMail) -> Job:
        """Delivers a mail; returns the job that records the outcome."""
        try:
            await _run_in_daemon_thread(lambda: self._deliver(mail))
        except InvalidMessage as error:
            reason = f"{type(error).__name__}: {error}"
            logging_setup.log_warning("mail refused", mail_id=str(mail.id), reason=str(error))
            return lambda tx: self._mails.give_up(tx, mail, error=reason)
        except Exception as error:
            reason = describe_error(error)
            return lambda tx: self._mails.mark_failed(tx, mail, error=reason)
        return lambda tx: self._mails.mark_sent(tx, mail.id)

    async def _keep_lease(self, mail: LeasedMail) -> None:
        """Renews the lease while the delivery runs, unless another process holds it now."""
        is_leased = True
        while is_leased:
            await asyncio.sleep(self._renewal_interval_s)
            with suppress(Exception):  # the database is unreachable, so no other process can lease the mail either
                is_leased = await self._write(lambda tx: self._mails.renew_lease(tx, mail))

    async def _record(self, outcome: Job) -> None:
        """Records an outcome, with unlimited retries: a mail that was accepted must not be sent again."""
        while True:
            try:
                await self._write(outcome)
            except Exception as error:
                logging_setup.log_repeated_failure("outcome of a mail not recorded", error)
                await asyncio.sleep(RECORD_RETRY_INTERVAL_S)
            else:
                return

    def _deliver(self, mail: LeasedMail) -> None:
        message = compose(
            mail_id=mail.id,
            sender=self._sender,
            recipient=mail.recipient,
            subject=mail.subject,
            text=self._mails.text_of(mail),
            at=mail.created_at,
        )
        self._transport.deliver(message)


async def _run_in_daemon_thread(work: Callable[[], None]) -> None:
    """Runs `work` in a thread that ends with the process."""
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
        with suppress(RuntimeError):  # the loop is closed, so nothing waits for the outcome
            loop.call_soon_threadsafe(settle, fault)

    threading.Thread(target=run, name="attestlab-mail", daemon=True).start()
    await done
