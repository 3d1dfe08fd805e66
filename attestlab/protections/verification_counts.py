"""Counts of the verifications of protections by day, written with the usage of verifications (`metering`).

A verification itself pays for one number in memory; the transaction that writes the usage of many looks once which of
their attestations are protected.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, timedelta
from uuid import UUID

from attestlab.attestations.metering.service import count_by_attestation
from attestlab.core.db.transaction import Transaction
from attestlab.protections import store
from attestlab.protections.tables import ProtectionDayRecord


def write_counts(tx: Transaction) -> None:
    """Count a transaction's verifications at the protections of their attestations; a commit hook."""
    counted = count_by_attestation(tx)
    if not counted:
        return
    protections: defaultdict[UUID, list[UUID]] = defaultdict(list)
    attestation_ids = {place.attestation_id for place in counted}
    for protection_id, attestation_id in store.list_by_attestations(tx.read_unflushed, attestation_ids):
        protections[attestation_id].append(protection_id)
    rows: dict[tuple[UUID, date], ProtectionDayRecord] = {}
    for place, times in counted.items():
        for protection_id in protections.get(place.attestation_id, ()):
            key = (protection_id, place.day)
            row = rows.get(key, ProtectionDayRecord(*key, valid=0, other=0))
            rows[key] = (
                row._replace(valid=row.valid + times) if place.is_valid else row._replace(other=row.other + times)
            )
    for row in rows.values():
        tx.add_last(store.ADD_VERIFICATIONS, row._asdict())


def fill_days(
    found: Sequence[ProtectionDayRecord], protection_id: UUID, *, today: date, days: int
) -> list[ProtectionDayRecord]:
    """Return the last `days` days, newest first, also those on which nothing was verified."""
    by_day = {row.day: row for row in found}
    dates = (today - timedelta(days=back) for back in range(days))
    return [by_day.get(day) or ProtectionDayRecord(protection_id, day, valid=0, other=0) for day in dates]
