"""Service for receipt types: create, get, list and deprecate versions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs import quotas
from attestlab.orgs.rules import Caller, validate_display_name
from attestlab.receipts.types import rules, store
from attestlab.receipts.types.events import ReceiptTypeCreated, ReceiptTypeDeprecated
from attestlab.receipts.types.json_schema import CheckedSchema
from attestlab.receipts.types.rules import TypeReference, TypeStatus
from attestlab.receipts.types.shapes import DeprecateTypeIn, ReceiptTypeIn, ReceiptTypesQuery
from attestlab.receipts.types.tables import ReceiptTypeRecord


class ReceiptTypes:
    """The receipt types of tenants. Versions are never removed or changed, so that old receipts keep their meaning.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def create(
        self, body: ReceiptTypeIn, schema: CheckedSchema, *, caller: Caller, tx: Transaction | None = None
    ) -> ReceiptTypeRecord:
        """Create a type, or a further version of one; `schema` is that of the body, checked.

        Raises:
            ValidationFailed: the display name is not one line of text.
            Conflict: the type has this version or a higher one.
            QuotaExceeded: the plan allows no more types, or no more versions of one.
        """
        display_name = validate_display_name("display_name", body.display_name or body.name)
        with self.storage.write(tx) as tx:
            newest = store.find_newest(tx.exec, caller.tenant_id, body.name)
            if newest is not None:
                rules.require_higher(body.version, name=body.name, newest=newest.version)
            ordinal = 1 if newest is None else newest.ordinal + 1
            _require_capacity(tx, caller, body.name, newest)
            now = self.clock.now()
            row = ReceiptTypeRecord(
                id=new_id(now),
                tenant_id=caller.tenant_id,
                name=body.name,
                version=body.version,
                ordinal=ordinal,
                display_name=display_name,
                description=body.description,
                schema_text=schema.text,
                schema_hash=schema.sha256,
                status=TypeStatus.ACTIVE.value,
                created_at=now,
            )
            created = audited_write.insert(tx, store.types, row, _context(caller, "create", now))
            outbox.publish(tx, caller.tenant_id, ReceiptTypeCreated(row.name, row.version, now), at=now)
            return created

    def get(self, reference: TypeReference, *, caller: Caller) -> ReceiptTypeRecord:
        """Return a version of the tenant's type, or its newest one.

        Raises:
            NotFound: the tenant has no such type or version.
        """
        with self.storage.read() as connection:
            return store.get(connection.execute, caller.tenant_id, reference)

    def page(
        self,
        query: ReceiptTypesQuery = ReceiptTypesQuery(),  # noqa: B008 frozen
        *,
        caller: Caller,
        before: UUID | None = None,
        offset: int = 0,
        limit: int = 50,
    ) -> Sequence[ReceiptTypeRecord]:
        """List the tenant's types, newest first."""
        with self.storage.read() as connection:
            return store.page(connection.execute, caller.tenant_id, query, before=before, offset=offset, limit=limit)

    def deprecate(
        self,
        name: str,
        body: DeprecateTypeIn = DeprecateTypeIn(),  # noqa: B008 frozen
        *,
        caller: Caller,
        tx: Transaction | None = None,
    ) -> ReceiptTypeRecord:
        """Deprecate a version of a type, or all; returns that version, or the newest one. A repeat changes nothing.

        Raises:
            NotFound: the tenant has no such type or version.
        """
        reference = TypeReference(name, body.version)
        with self.storage.write(tx) as tx:
            row = store.get(tx.exec, caller.tenant_id, reference)
            active = store.list_active(tx.exec, caller.tenant_id, reference)
            now = self.clock.now()
            changes = {
                "status": TypeStatus.DEPRECATED.value,
                "deprecated_at": now,
                "deprecation_reason": body.reason,
            }
            deed = _context(caller, "deprecate", now)
            changed = [audited_write.change(tx, store.types, version, changes, deed) for version in active]
            if changed:
                tx.cache[store.TYPES_CHANGED] = True
                outbox.publish(tx, caller.tenant_id, ReceiptTypeDeprecated(name, now, body.version), at=now)
            return next((version for version in changed if version.id == row.id), row)


def _require_capacity(tx: Transaction, caller: Caller, name: str, newest: ReceiptTypeRecord | None) -> None:
    """Require that the plan allows one more version, and if the type has no active one, one more type."""
    allowed = quotas.allowance_of(caller)
    if newest is not None:
        quotas.require_capacity("versions_per_receipt_type", allowed.versions_per_receipt_type, lambda: newest.ordinal)
    if store.find_receipt_type(tx.exec, caller.tenant_id, name) is None:
        quotas.require_capacity(
            "receipt_types", allowed.receipt_types, lambda: store.count_active_names(tx.exec, caller.tenant_id)
        )


def _context(caller: Caller, verb: str, at: datetime) -> AuditContext:
    return AuditContext(caller.tenant_id, caller, f"receipt_type.{verb}", at)
