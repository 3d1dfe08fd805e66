"""Finds exported risk signals for a page of the list: a columnar scan skips what a filter does not select."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import duckdb

from attestlab.core.errors import AttestLabError
from attestlab.core.filters import build_duckdb_condition
from attestlab.lake.datasets import SIGNALS
from attestlab.lake.trusted_connections import ExportedFacts, TrustedConnections
from attestlab.risk.signals.service import ExportedNumbers
from attestlab.risk.signals.shapes import SignalFilters

FIRST_RANGE = 500_000  # numbers of all tenants
RANGE_GROWTH = 4


def find_signals(
    trusted: TrustedConnections, tenant_id: UUID, filters: SignalFilters, *, before: int, limit: int
) -> ExportedNumbers:
    """Find the newest exported signals of a tenant by a filter, with numbers below `before`.

    If the lake is damaged, busy or ahead of the records, nothing is found and the end is 0.
    """
    try:
        with trusted.open_exported(tenant_id, SIGNALS) as exported:
            return ExportedNumbers(_read_numbers(exported, filters, before, limit), exported.parts.end)
    except (AttestLabError, duckdb.Error, OSError):
        return ExportedNumbers([], 0)


def _read_numbers(exported: ExportedFacts, filters: SignalFilters, before: int, limit: int) -> Sequence[int]:
    """Search ever longer ranges, the newest first.

    A range consists of whole parts, so that no part is searched twice, and each query opens the parts of its range.
    """
    condition, chain, numbers = build_duckdb_condition(filters), exported.parts.chain, list[int]()
    end, length = min(before, exported.parts.end), FIRST_RANGE
    while end > 0 and len(numbers) < limit:
        first = max((part.first for part in chain if part.first <= end - length), default=0)
        facts = exported.select_from([part for part in chain if first <= part.first < end])
        query = f"SELECT seq FROM ({facts}) WHERE {condition.sql} AND seq < ? ORDER BY seq DESC LIMIT ?"
        found = exported.connection.execute(query, [*condition.values, end, limit - len(numbers)])
        numbers += [number for (number,) in found.fetchall()]
        end, length = first, length * RANGE_GROWTH
    return numbers
