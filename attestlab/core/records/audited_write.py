"""Rows whose every change stands in the trail, with the fingerprint of what the row became.

The change and its line are one transaction; whoever changes such a row in another way is found by fsck.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import Table, update

from attestlab.core.db.transaction import Transaction
from attestlab.core.records import audit
from attestlab.core.records.audit import Actor, AuditEntry
from attestlab.core.records.row_digest import MEMBER, row_sha256


@dataclass(frozen=True)
class AuditContext:
    """Who does what to whose row, and when; `action` is `<kind>.<verb>`, such as `api_key.revoke`."""

    tenant_id: UUID
    actor: Actor
    action: str
    at: datetime
    metadata: dict[str, Any] = field(default_factory=dict)


def insert(tx: Transaction, table: Table, row: Mapping[str, Any], deed: AuditContext) -> dict[str, Any]:
    """Add a row, of which columns that are left out are null; returns the whole of it."""
    whole = {name: row.get(name) for name in _names(table)}
    tx.add(table, whole)
    _record(tx, table, whole, deed)
    return whole


@cache
def _names(table: Table) -> tuple[str, ...]:
    return tuple(table.columns.keys())


def change(
    tx: Transaction, table: Table, row: Mapping[str, Any], changes: Mapping[str, Any], deed: AuditContext
) -> dict[str, Any]:
    """Change some columns of a row that was read whole in this transaction; returns what it is now."""
    keys = [column == row[column.name] for column in table.primary_key]
    tx.exec(update(table).where(*keys).values(dict(changes)))
    changed = {**row, **changes}
    _record(tx, table, changed, deed)
    return changed


def _record(tx: Transaction, table: Table, row: Mapping[str, Any], deed: AuditContext) -> None:
    (key,) = table.primary_key
    entry = AuditEntry(
        tenant_id=deed.tenant_id,
        actor=deed.actor,
        action=deed.action,
        resource_type=deed.action.partition(".")[0],
        resource_id=str(row[key.name]),
        at=deed.at,
        metadata={**deed.metadata, MEMBER: row_sha256(table, row)},
    )
    audit.record(tx, entry)
