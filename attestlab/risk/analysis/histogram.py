"""The distribution of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from attestlab.risk.signals.conditions import build_condition
from attestlab.risk.signals.store import SignalFilter

if TYPE_CHECKING:
    import duckdb

BINS = 20
BIN_WIDTH = 100 / BINS


class ScoreBin(NamedTuple):
    """The number of signals with `low` <= score < `high`; the last bin includes 100."""

    low: float
    high: float
    count: int  # type: ignore[assignment]  # overrides tuple.count


def read_score_histogram(connection: duckdb.DuckDBPyConnection, filter_: SignalFilter) -> Sequence[ScoreBin]:
    """Count the signals by score, in twenty bins of five points, empty ones included."""
    condition = build_condition(filter_)
    query = f"""
        SELECT least(floor(score / {BIN_WIDTH})::INTEGER, {BINS - 1}), count(*)
        FROM signals WHERE {condition.sql} GROUP BY 1
    """
    counts = dict(connection.execute(query, condition.values).fetchall())
    return [ScoreBin(n * BIN_WIDTH, (n + 1) * BIN_WIDTH, counts.get(n, 0)) for n in range(BINS)]
