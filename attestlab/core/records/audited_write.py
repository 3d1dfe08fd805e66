"""Audited writes: each inserts or changes a row and records the row's new digest in the audit trail.

The change and its audit entry are one transaction. fsck detects a row that was changed in any other way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, overload
from uuid import UUID

from sqlalchemy import Table, update

from attestlab.core.db.tables import Record
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


@overload
def insert(tx: Transaction, table: Table, row: Record, context: AuditContext) -> Record: ...
@overload
def insert(tx: Transaction, table: Table, row: Mapping[str, Any], context: AuditContext) -> dict[str, Any]: ...
def insert(
    tx: Transaction, table: Table, row: NamedTuple | Mapping[str, Any], context: AuditContext
) -> NamedTuple | dict[str, Any]:
    """Insert a row and audit it; columns that a mapping lacks are null. Returns the complete row."""
    complete = {name: row.get(name) for name in _column_names(table)} if isinstance(row, Mapping) else row._asdict()
    tx.add(table, complete)
    _audit(tx, table, complete, context)
    return complete if isinstance(row, Mapping) else row


@cache
def _column_names(table: Table) -> tuple[str, ...]:
    return tuple(table.columns.keys())


@overload
def change(
    tx: Transaction, table: Table, row: Record, changes: Mapping[str, object], context: AuditContext
) -> Record: ...
@overload
def change(
    tx: Transaction, table: Table, row: Mapping[str, Any], changes: Mapping[str, object], context: AuditContext
) -> dict[str, Any]: ...
def change(
    tx: Transaction,
    table: Table,
    row: NamedTuple | Mapping[str, Any],
    changes: Mapping[str, object],
    context: AuditContext,
) -> NamedTuple | dict[str, Any]:
    """Change some columns of a row and audit it; `row` is the complete row, read in this transaction.

    Returns the changed row.
    """
    before = row if isinstance(row, Mapping) else row._asdict()
    keys = [column == before[column.name] for column in table.primary_key]
    tx.exec(update(table).where(*keys).values(dict(changes)))
    changed = {**before, **changes}
    _audit(tx, table, changed, context)
    return changed if isinstance(row, Mapping) else row._replace(**changes)


def _audit(tx: Transaction, table: Table, row: Mapping[str, object], context: AuditContext) -> None:
    (key,) = table.primary_key
    entry = AuditEntry(
        tenant_id=context.tenant_id,
        actor=context.actor,
        action=context.action,
        resource_type=context.action.partition(".")[0],
        resource_id=str(row[key.name]),
        at=context.at,
        metadata={**context.metadata, METADATA_KEY: row_sha256(table, row)},
    )
    audit.record(tx, entry)
