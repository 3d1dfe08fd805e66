"""Finds exported risk signals for a page of the list: a columnar scan skips what a filter does not select."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import duckdb

from attestlab.core.errors import AttestLabError
from attestlab.lake.datasets import SIGNALS
from attestlab.lake.trusted_connections import ExportedView, TrustedConnections
from attestlab.risk.analysis.conditions import build_condition
from attestlab.risk.signals.service import ExportedNumbers
from attestlab.risk.signals.store import SignalFilter

FIRST_RANGE = 500_000  # numbers of all tenants
RANGE_GROWTH = 4


def find_signals(
    trusted: TrustedConnections, tenant_id: UUID, filter_: SignalFilter, *, before: int, limit: int
) -> ExportedNumbers:
    """Find the newest exported signals of a tenant by a filter, with numbers below `before`.

    If the lake is damaged, busy or ahead of the records, nothing is found and the end is 0.
    """
    try:
        with trusted.open_exported(tenant_id, SIGNALS) as view:
            return ExportedNumbers(_read_numbers(view, filter_, before, limit), view.end)
    except (AttestLabError, duckdb.Error, OSError):
        return ExportedNumbers([], 0)


def _read_numbers(view: ExportedView, filter_: SignalFilter, before: int, limit: int) -> Sequence[int]:
    """Search ever longer ranges, the newest first: DuckDB skips the row groups outside of a range.

    A range begins where a part does, so that no part is searched twice.
    """
    condition, numbers = build_condition(filter_), list[int]()
    query = f"SELECT seq FROM signals WHERE {condition.sql} AND seq >= ? AND seq < ? ORDER BY seq DESC LIMIT ?"
    end, length = min(before, view.end), FIRST_RANGE
    while end > 0 and len(numbers) < limit:
        first = max((start for start in view.starts if start <= end - length), default=0)
        found = view.connection.execute(query, [*condition.values, first, end, limit - len(numbers)])
        numbers += [number for (number,) in found.fetchall()]
        end, length = first, length * RANGE_GROWTH
    return numbers
