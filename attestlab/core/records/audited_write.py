"""Audited writes: each inserts or changes a row and records the row's new digest in the audit trail.

The change and its audit entry are one transaction. fsck detects a row that was changed in any other way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sqlalchemy import Table, update

from attestlab.core.db.tables import Record, replace_columns
from attestlab.core.db.transaction import Transaction
from attestlab.core.records import audit
from attestlab.core.records.actors import Actor
from attestlab.core.records.audit import AuditEntry
from attestlab.core.records.row_digest import METADATA_KEY, row_sha256


@dataclass(frozen=True)
class AuditContext:
    """The tenant, actor, action and time of a change; `action` is `<kind>.<verb>`, such as `api_key.revoke`."""

    tenant_id: UUID
    actor: Actor
    action: str
    at: datetime
    metadata: Mapping[str, object] = field(default_factory=dict)


def insert(tx: Transaction, table: Table, row: Record, context: AuditContext) -> Record:
    """Insert a row and audit it; returns the row."""
    columns = row._asdict()
    tx.add(table, columns)
    _audit(tx, table, columns, context)
    return row


def change(tx: Transaction, table: Table, row: Record, changes: Mapping[str, object], context: AuditContext) -> Record:
    """Change some columns of a row and audit it; `row` is the complete row, read in this transaction.

    Returns the changed row.
    """
    keys = [column == getattr(row, column.name) for column in table.primary_key]
    tx.exec(update(table).where(*keys).values(dict(changes)))
    changed = replace_columns(row, changes)
    _audit(tx, table, changed._asdict(), context)
    return changed


def change_all(
    tx: Transaction,
    table: Table,
    rows: Sequence[Record],
    names: tuple[str, ...],
    context_of: Callable[[Record], AuditContext],
) -> None:
    """Write the columns `names` of many rows with one statement, and audit each; `rows` are complete and changed."""
    columns = [row._asdict() for row in rows]
    if columns:
        tx.bulk_update(table, names, columns)
    for row, values in zip(rows, columns, strict=True):
        _audit(tx, table, values, context_of(row))


def _audit(tx: Transaction, table: Table, row: Mapping[str, object], context: AuditContext) -> None:
    entry = AuditEntry(
        tenant_id=context.tenant_id,
        actor=context.actor,
        action=context.action,
        resource_type=context.action.partition(".")[0],
        resource_id=format_resource_id(table, row),
        at=context.at,
        metadata={**context.metadata, METADATA_KEY: row_sha256(table, row)},
    )
    audit.record(tx, entry)


def format_resource_id(table: Table, row: Mapping[str, object]) -> str:
    """Return a row's resource id in the audit trail: the values of its primary key, separated by `/`."""
    return "/".join(str(row[column.name]) for column in table.primary_key)
