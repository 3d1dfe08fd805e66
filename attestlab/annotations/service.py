"""Service for annotations: write, list and remove what happened at a time."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from attestlab.annotations import rules, store
from attestlab.annotations.shapes import AnnotationIn, AnnotationsQuery
from attestlab.annotations.tables import AnnotationRecord
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs.rules import Caller, validate_display_name


class Annotations:
    """The annotations of tenants: everyone who reads a tenant's risks reads them.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def add(self, body: AnnotationIn, *, caller: Caller, tx: Transaction | None = None) -> AnnotationRecord:
        """Write what happened at a time; it may be to come.

        Raises:
            ValidationFailed: the text is not one line, or the period ends before it begins.
            Conflict: the tenant has as many annotations as it may have.
        """
        text = validate_display_name("text", body.text, max_length=rules.MAX_TEXT_LENGTH)
        rules.require_period(body.at, body.until)
        with self.storage.write(tx) as tx:
            rules.require_room(store.count(tx.exec, caller.tenant_id))
            now = self.clock.now()
            row = AnnotationRecord(
                id=new_id(now),
                tenant_id=caller.tenant_id,
                at=body.at,
                until=body.until,
                text=text,
                created_at=now,
                created_by=caller.actor_id,
            )
            return audited_write.insert(tx, store.annotation_table, row, _context(caller, "add", now))

    def page(
        self, filters: AnnotationsQuery, *, caller: Caller, before: UUID | None = None, limit: int = 50
    ) -> list[AnnotationRecord]:
        """Return a page of the tenant's annotations in a period, the newest first."""
        with self.storage.read() as connection:
            return store.list_page(connection.execute, filters, tenant_id=caller.tenant_id, before=before, limit=limit)

    def remove(self, annotation_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> None:
        """Remove an annotation from all charts; it stays in the records as history.

        Raises:
            NotFound: the tenant has no such annotation, or it was removed already.
            PermissionDenied: another wrote it, and the caller is no owner or admin.
        """
        with self.storage.write(tx) as tx:
            row = store.get(tx.exec, annotation_id, tenant_id=caller.tenant_id)
            rules.require_may_remove(row.created_by, caller=caller)
            now = self.clock.now()
            changes = {"removed_at": now, "removed_by": caller.actor_id}
            audited_write.change(tx, store.annotation_table, row, changes, _context(caller, "remove", now))


def _context(caller: Caller, verb: str, now: datetime) -> AuditContext:
    return AuditContext(caller.tenant_id, caller, f"annotation.{verb}", now)
