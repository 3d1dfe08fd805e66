"""The key figures of an explorer, next to those of the period before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from attestlab.core.errors import ValidationFailed
from attestlab.risk.signals.conditions import build_condition
from attestlab.risk.signals.store import SignalFilter

if TYPE_CHECKING:
    import duckdb


class KeyFigures(NamedTuple):
    """Key figures of signals. `escalated` is how many belong to a case; scores are 0 to 100, None without signals.

    `entities` is an estimate with a standard error of a few percent (HyperLogLog).
    """

    count: int  # type: ignore[assignment]  # overrides tuple.count
    escalated: int
    entities: int
    mean_score: float | None
    max_score: float | None


def read_summary(connection: duckdb.DuckDBPyConnection, filter_: SignalFilter) -> KeyFigures:
    """Read the key figures of the signals that pass a filter."""
    condition = build_condition(filter_)
    query = f"""
        SELECT count(*), count(case_id), approx_count_distinct(hash(entity_type, entity_id)), avg(score), max(score)
        FROM signals WHERE {condition.sql}
    """
    (row,) = connection.execute(query, condition.values).fetchall()
    return KeyFigures(*row)


def find_previous_period(filter_: SignalFilter) -> SignalFilter:
    """Find the filter of the period before, which is as long and ends where this one begins.

    Raises:
        ValidationFailed: the filter has no beginning or no end.
    """
    if filter_.since is None or filter_.until is None:
        message = "A comparison needs a period: give both `from` and `to`."
        raise ValidationFailed.of("/from", "required", message)
    return replace(filter_, since=filter_.since - (filter_.until - filter_.since), until=filter_.since)
