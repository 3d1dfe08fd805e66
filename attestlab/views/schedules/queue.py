"""The queue of due reports as a delivery worker uses it: each is drawn, then its mails are enqueued in one write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, Protocol
from uuid import UUID

from attestlab.core.db.group_commit import Job
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AttestLabError
from attestlab.views.schedules.results import DrawnReport, LeasedReport
from attestlab.views.schedules.rules import LEASE_RENEWAL_INTERVAL_S
from attestlab.views.schedules.service import ViewSchedules
from attestlab.web import logging_setup

POLL_INTERVAL_S: Final = 15.0


class Drawer(Protocol):
    """Draws a page for people, each with their own rights."""

    async def draw(self, page: str, query: str, recipients: Sequence[UUID]) -> Mapping[UUID, DrawnReport]:
        """Draw the page for each person; one whose account has ended is left out.

        Raises:
            AttestLabError: it cannot be drawn.
        """
        ...


class ReportQueue:
    """The due reports of all tenants, and who draws them; see `attestlab.web.delivery_worker.DeliveryQueue`."""

    name = "reports"
    max_attempts_at_once = 1  # a drawing takes a core for seconds
    renewal_interval_s = LEASE_RENEWAL_INTERVAL_S

    def __init__(
        self, schedules: ViewSchedules, drawer: Drawer, *, storage: Storage, poll_interval_s: float = POLL_INTERVAL_S
    ) -> None:
        self.poll_interval_s = poll_interval_s
        self.on_enqueued: list[Callable[[], None]] = []
        self._schedules = schedules
        self._drawer = drawer
        self._storage = storage

    def find_due(self, running: Collection[LeasedReport], *, at_most: int) -> Sequence[UUID]:
        """Return the views whose report has been due longest."""
        with self._storage.read() as connection:
            return self._schedules.list_due(connection.execute, limit=at_most)

    def lease(self, tx: Transaction, due: Sequence[UUID]) -> list[LeasedReport]:
        """Lease as many reports as were due, those that have been due longest."""
        leases = (self._schedules.lease(tx) for _ in due)
        return [report for report in leases if report is not None]

    def renew(self, tx: Transaction, items: Sequence[LeasedReport]) -> None:
        """Extend the leases that this process still holds."""
        for report in items:
            self._schedules.renew_lease(tx, report)

    async def attempt(self, item: LeasedReport) -> Job:
        """Draw a report; returns the job that enqueues its mails, or notes why it failed."""
        try:
            drawn = await self._drawer.draw(item.page, item.query, item.recipients)
        except AttestLabError as error:
            logging_setup.log_warning("report failed", view_id=str(item.view_id), reason=error.message)
            reason = error.message
            return lambda tx: self._schedules.mark_failed(tx, item, error=reason)
        except Exception as error:
            logging_setup.log_part_failure(error, part=self.name)
            reason = f"A mistake of the service ({type(error).__name__}), which is in its log."
            return lambda tx: self._schedules.mark_failed(tx, item, error=reason)
        return lambda tx: self._schedules.send(tx, item, drawn)

    def record(self, tx: Transaction, outcomes: Sequence[Job]) -> None:
        """Enqueue the mails of what was drawn, and note what failed."""
        for job in outcomes:
            job(tx)
