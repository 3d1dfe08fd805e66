"""Service for reports by mail: set and end a schedule, lease what is due, enqueue its mails, record a failure.

A report is leased under the writer's lock, drawn outside of any transaction, and its mails, one for each recipient, are
enqueued in the transaction that notes it as sent. So two servers send it once, and a process that dies neither loses
nor doubles it. After a pause of the service the newest missed report is sent, not each.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.records import audited_write
from attestlab.core.records.actors import Actor, SystemActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.core.short_text import shorten
from attestlab.mail.service import Mails
from attestlab.orgs import store as org_store
from attestlab.orgs.role_rules import UserStatus
from attestlab.orgs.rules import Caller
from attestlab.orgs.tables import UserRecord
from attestlab.views import rules as view_rules
from attestlab.views import store as view_store
from attestlab.views.schedules import rules, store
from attestlab.views.schedules.messages import attach, report_mail
from attestlab.views.schedules.results import DrawnReport, LeasedReport, ScheduledView
from attestlab.views.schedules.shapes import ScheduleIn
from attestlab.views.schedules.tables import ViewScheduleRecord
from attestlab.views.tables import SavedViewRecord

ACTOR: Final = SystemActor("attestlab-reports")
_SET: Final = (
    "weekday",
    "hour",
    "recipients",
    "due_at",
    "next_attempt_at",
    "attempts",
    "is_leased",
    "last_error",
    "updated_at",
)


class ViewSchedules:
    """The schedules of saved views. `tx` is the unit of work to join; without it, a verb commits its own."""

    def __init__(self, *, storage: Storage, clock: Clock, mails: Mails) -> None:
        self.storage = storage
        self.clock = clock
        self.mails = mails

    def find_of(self, view_ids: Collection[UUID], *, tx: Transaction | None = None) -> dict[UUID, ViewScheduleRecord]:
        """Find the schedules of views, by the view; one without a schedule is not in it."""
        with self.storage.read(tx) as connection:
            return store.find_of_views(connection.execute, view_ids)

    def set(self, view_id: UUID, body: ScheduleIn, *, caller: Caller, tx: Transaction | None = None) -> ScheduledView:
        """Send a report of a view by mail every day or week, instead of what was set before.

        Raises:
            NotFound: the person sees no such view, or the tenant has no such recipient.
            PermissionDenied: another person saved it, who has not left.
            ValidationFailed: a recipient was invited or removed, or is named twice.
        """
        with self.storage.write(tx) as tx:
            view = self._get_changeable(tx, view_id, caller)
            statuses = store.find_statuses(tx.exec, body.recipients, tenant_id=caller.tenant_id)
            rules.require_recipients(body.recipients, statuses)
            return ScheduledView(view, self._write(tx, view, body, caller))

    def end(self, view_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> None:
        """Send no more reports of a view; without a schedule nothing changes.

        Raises:
            NotFound: the person sees no such view.
            PermissionDenied: another person saved it, who has not left.
        """
        with self.storage.write(tx) as tx:
            self._get_changeable(tx, view_id, caller)
            self.end_of_view(tx, view_id, actor=caller, at=self.clock.now())

    def end_of_view(self, tx: Transaction, view_id: UUID, *, actor: Actor, at: datetime) -> None:
        """End the schedule of a view that is deleted, if it has one."""
        row = store.find(tx.exec, view_id)
        if row is not None and row.due_at is not None:
            self._change(tx, row, _compose_end(at), "end", actor, at)

    def leave(self, tx: Transaction, person: UserRecord, *, actor: Actor, at: datetime) -> None:
        """Send nothing more to a person who was removed; a report without other recipients ends."""
        for row in store.list_of_recipient(tx.exec, person.id, tenant_id=person.tenant_id):
            others = [user_id for user_id in row.recipient_ids if user_id != person.id]
            changes = {"recipients": rules.format_recipients(others), "updated_at": at} if others else _compose_end(at)
            self._change(tx, row, changes, "leave", actor, at)

    def list_due(self, execute: Execute, *, limit: int) -> list[UUID]:
        """List the views whose report has been due longest."""
        return store.list_due(execute, self.clock.now(), limit=limit)

    def lease(self, tx: Transaction) -> LeasedReport | None:
        """Lease the report that has been due longest; return None if none is due, or it has no recipient left."""
        now = self.clock.now()
        row = store.find_due(tx.exec, now)
        if row is None or row.due_at is None:
            return None
        view = store.find_view(tx.exec, row.view_id)
        members = store.list_members(tx.exec, row.recipient_ids, tenant_id=row.tenant_id)
        if view is None or not members:
            self._change(tx, row, _compose_end(now), "end", ACTOR, now)
            return None
        attempt = row.attempts + 1
        leased = {"attempts": attempt, "is_leased": True, "next_attempt_at": now + rules.LEASE_TTL}
        self._change(tx, row, leased, "attempt", ACTOR, now)
        recipients = tuple(member.id for member in members)
        return LeasedReport(row.view_id, row.tenant_id, row.due_at, attempt, view.page, view.query, recipients)

    def renew_lease(self, tx: Transaction, report: LeasedReport) -> None:
        """Extend a lease, unless another process has leased the report since, or its schedule was changed."""
        row = self._find_leased(tx, report)
        if row is not None:
            now = self.clock.now()
            self._change(tx, row, {"next_attempt_at": now + rules.LEASE_TTL}, "renew", ACTOR, now)

    def send(self, tx: Transaction, report: LeasedReport, drawn: Mapping[UUID, DrawnReport]) -> int:
        """Enqueue a mail for each recipient, and note the report as sent; returns the number of mails.

        A report whose schedule was changed while it was drawn is dropped, and so is a recipient who has left since.
        """
        row, view = self._find_leased(tx, report), store.find_view(tx.exec, report.view_id)
        if row is None or view is None:
            return 0
        now = self.clock.now()
        readers = [
            person
            for person in store.list_members(tx.exec, row.recipient_ids, tenant_id=row.tenant_id)
            if person.id in drawn
        ]
        for person in readers:
            self._enqueue(tx, row, view, person, drawn[person.id], now)
        sent = {**_next(row, now), "last_sent_at": now, "last_error": None}
        self._change(tx, row, sent, "send", ACTOR, now)
        return len(readers)

    def mark_failed(self, tx: Transaction, report: LeasedReport, *, error: str) -> None:
        """Note why a report failed: it is tried again after a pause, or given up until the next one is due."""
        row, now = self._find_leased(tx, report), self.clock.now()
        if row is None:
            return
        paused = {"next_attempt_at": now + rules.pause_after(report.attempt), "is_leased": False}
        later = paused if report.attempt < rules.MAX_ATTEMPTS else _next(row, now)
        reason = shorten(error, rules.MAX_ERROR_LENGTH)
        self._change(tx, row, {**later, "last_error": reason}, "attempt_failed", ACTOR, now)

    def _enqueue(
        self,
        tx: Transaction,
        row: ViewScheduleRecord,
        view: SavedViewRecord,
        person: UserRecord,
        drawn: DrawnReport,
        now: datetime,
    ) -> None:
        url = f"{self.mails.portal_url}{view_rules.compose_url(view.page, view.query)}"
        mail = report_mail(
            name=view.name, sentences=drawn.sentences, url=url, weekday=row.weekday, hour=row.hour, at=now
        )
        self.mails.enqueue(
            tx,
            tenant_id=row.tenant_id,
            recipient=person.email,
            subject=mail.subject,
            text=mail.text,
            at=now,
            attachment=attach(view.page, drawn.html, now),
        )

    def _get_changeable(self, tx: Transaction, view_id: UUID, caller: Caller) -> SavedViewRecord:
        view = view_store.get(tx.exec, view_id, tenant_id=caller.tenant_id, user_id=UUID(caller.actor_id))
        owner = org_store.get_owned(tx.exec, UserRecord, view.user_id, tenant_id=caller.tenant_id)
        view_rules.require_may_delete(view.user_id, has_left=owner.status == UserStatus.REMOVED, caller=caller)
        return view

    def _write(self, tx: Transaction, view: SavedViewRecord, body: ScheduleIn, caller: Caller) -> ViewScheduleRecord:
        row, now = store.find(tx.exec, view.id), self.clock.now()
        due_at = rules.find_next(now, weekday=body.weekday, hour=body.hour)
        new = ViewScheduleRecord(
            view_id=view.id,
            tenant_id=view.tenant_id,
            weekday=body.weekday,
            hour=body.hour,
            recipients=rules.format_recipients(body.recipients),
            due_at=due_at,
            next_attempt_at=due_at,
            attempts=0,
            is_leased=False,
            last_sent_at=None,
            last_error=None,
            created_at=now,
            updated_at=now,
        )
        if row is None:
            return audited_write.insert(tx, store.schedules, new, _context(view.tenant_id, caller, "set", now))
        return self._change(tx, row, {name: getattr(new, name) for name in _SET}, "set", caller, now)

    def _find_leased(self, tx: Transaction, report: LeasedReport) -> ViewScheduleRecord | None:
        """Find the row of a report that this process still holds."""
        row = store.find(tx.exec, report.view_id)
        is_held = row is not None and (row.due_at, row.attempts, row.is_leased) == (report.due_at, report.attempt, True)
        return row if is_held else None

    def _change(
        self,
        tx: Transaction,
        row: ViewScheduleRecord,
        changes: Mapping[str, object],
        verb: str,
        actor: Actor,
        now: datetime,
    ) -> ViewScheduleRecord:
        context = _context(row.tenant_id, actor, verb, now)
        return audited_write.change(tx, store.schedules, row, changes, context)


def _next(row: ViewScheduleRecord, now: datetime) -> dict[str, object]:
    due_at = rules.find_next(now, weekday=row.weekday, hour=row.hour)
    return {"due_at": due_at, "next_attempt_at": due_at, "attempts": 0, "is_leased": False}


def _compose_end(at: datetime) -> dict[str, object]:
    none = {"recipients": "", "due_at": None, "next_attempt_at": None, "attempts": 0, "is_leased": False}
    return {**none, "updated_at": at}


def _context(tenant_id: UUID, actor: Actor, verb: str, at: datetime) -> AuditContext:
    return AuditContext(tenant_id, actor, f"view_schedule.{verb}", at)
