"""What a consumer's account has of protections: exported with it, and erased when it is deleted."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from uuid import UUID

from attestlab.consumer.accounts.store import PersonalAccount
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import format_time
from attestlab.core.json_types import JsonValue
from attestlab.core.records.actors import UserActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.protections import store
from attestlab.protections.service import delete_row
from attestlab.protections.shapes import ProtectionsQuery
from attestlab.protections.tables import ProtectionRecord

_EXPORTED = [name for name in ProtectionRecord._fields if name not in ("user_id", "deleted_at")]


class ProtectionsPart:
    """The protections of an account."""

    name = "protections"

    def export(self, execute: Execute, account: PersonalAccount) -> list[Mapping[str, JsonValue]]:
        """Return all protections, each with its verifications by day."""
        return [_export_row(execute, row) for row in store.list_rows(execute, account.id)]

    def erase(self, tx: Transaction, account: PersonalAccount, at: datetime) -> None:
        """Delete all protections; their attestations stay in the log, which names no person."""
        for row in store.list_rows(tx.exec, account.id):
            delete_row(tx, row, AuditContext(account.tenant_id, UserActor(str(account.id)), "protection.delete", at))

    def count(self, execute: Execute, account: PersonalAccount) -> int:
        """Return the number of protections that the account shows its owner."""
        return store.count(execute, ProtectionsQuery(), user_id=account.id)


def _export_row(execute: Execute, row: ProtectionRecord) -> Mapping[str, JsonValue]:
    days = sorted(store.list_days(execute, row.id, since=date.min), key=lambda each: each.day)
    verifications: JsonValue = [
        {"day": each.day.isoformat(), "valid": each.valid, "other": each.other} for each in days
    ]
    return {**{name: _to_json(getattr(row, name)) for name in _EXPORTED}, "verifications": verifications}


def _to_json(value: str | int | UUID | datetime | None) -> JsonValue:
    if isinstance(value, datetime):
        return format_time(value)
    return str(value) if isinstance(value, UUID) else value
