"""The queue of e-mails as a delivery worker uses it, with the transport that delivers them.

The delivery threads are daemons, so that a mail server that does not respond cannot keep the process from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from uuid import UUID

from attestlab.core.db.group_commit import Job
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.mail.messages import InvalidMessage, Sender, compose
from attestlab.mail.rules import LEASE_RENEWAL_INTERVAL_S, MAX_DELIVERIES, describe_error
from attestlab.mail.service import LeasedMail, Mails
from attestlab.mail.transports import Transport
from attestlab.web import logging_setup

POLL_INTERVAL_S = 5.0


class MailQueue:
    """The e-mails of all tenants, and their transport; see `attestlab.web.delivery_worker.DeliveryQueue`."""

    name = "mail"
    max_attempts_at_once = MAX_DELIVERIES
    poll_interval_s = POLL_INTERVAL_S

    def __init__(
        self,
        mails: Mails,
        transport: Transport,
        *,
        storage: Storage,
        sender: Sender,
        renewal_interval_s: float = LEASE_RENEWAL_INTERVAL_S,
    ) -> None:
        self.renewal_interval_s = renewal_interval_s
        self.on_enqueued = mails.on_enqueued
        self._mails = mails
        self._transport = transport
        self._storage = storage
        self._sender = sender

    def find_due(self, running: Collection[LeasedMail], *, at_most: int) -> Sequence[UUID]:
        """Return the ids of the mails that have been due longest."""
        with self._storage.read() as connection:
            return self._mails.list_due(connection.execute, limit=at_most)

    def lease(self, tx: Transaction, due: Sequence[UUID]) -> list[LeasedMail]:
        """Lease as many mails as were due, those that have been due longest."""
        leases = (self._mails.lease(tx) for _ in due)
        return [mail for mail in leases if mail is not None]

    def renew(self, tx: Transaction, items: Sequence[LeasedMail]) -> None:
        """Extend the leases, except of mails that are final or that another process has leased since."""
        for mail in items:
            self._mails.renew_lease(tx, mail)

    async def attempt(self, item: LeasedMail) -> Job:
        """Deliver a mail; returns the job that records the outcome.

        Of a message that this version refuses, later attempts may be a newer version's, whose command wrote the mail.
        """
        try:
            await _run_in_daemon_thread(lambda: self._deliver(item))
        except InvalidMessage as error:
            reason = f"{type(error).__name__}: {error}"
            logging_setup.log_warning("mail refused", mail_id=str(item.id), reason=str(error))
            return lambda tx: self._mails.mark_failed(tx, item, error=reason)
        except Exception as error:
            reason = describe_error(error)
            return lambda tx: self._mails.mark_failed(tx, item, error=reason)
        return lambda tx: self._mails.mark_sent(tx, item.id)

    def record(self, tx: Transaction, outcomes: Sequence[Job]) -> None:
        """Record the outcomes of attempts."""
        for job in outcomes:
            job(tx)

    def _deliver(self, mail: LeasedMail) -> None:
        message = compose(
            mail_id=mail.id,
            sender=self._sender,
            recipient=mail.recipient,
            subject=mail.subject,
            text=self._mails.text_of(mail),
            at=mail.created_at,
            attachment=self._mails.attachment_of(mail),
        )
        self._transport.deliver(message)


async def _run_in_daemon_thread(work: Callable[[], None]) -> None:
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
        with suppress(RuntimeError):  # the loop is closed, so nothing waits for the outcome
            loop.call_soon_threadsafe(settle, fault)

    threading.Thread(target=run, name="attestlab-mail", daemon=True).start()
    await done
