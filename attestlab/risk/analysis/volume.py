"""Volume and score of signals over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from attestlab.core.errors import ValidationFailed
from attestlab.risk.signals.conditions import build_condition
from attestlab.risk.signals.store import SignalFilter

if TYPE_CHECKING:
    import duckdb

MIN_BUCKET = timedelta(minutes=1)
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


class VolumePoint(NamedTuple):
    """The signals of one source and type in one bucket of time, which begins at `start` (UTC); scores are 0 to 100.

    Buckets are aligned to 1970-01-01.
    """

    start: datetime
    source: str
    signal_type: str
    count: int  # type: ignore[assignment]  # overrides tuple.count
    mean_score: float
    max_score: float


def read_volume(
    connection: duckdb.DuckDBPyConnection, filter_: SignalFilter, *, bucket: timedelta = timedelta(days=1)
) -> Sequence[VolumePoint]:
    """Read count and score of the signals by time bucket, source and type, in that order; empty buckets are absent.

    Raises:
        ValidationFailed: the bucket is shorter than a minute.
    """
    if bucket < MIN_BUCKET:
        message = f"A bucket of {bucket.total_seconds():g} s is too short; it must be at least a minute."
        raise ValidationFailed.of("/bucket", "too_small", message)
    condition = build_condition(filter_)
    query = f"""
        SELECT epoch_us(occurred_at) // ? AS bucket, source, signal_type, count(*), avg(score), max(score)
        FROM signals WHERE {condition.sql} GROUP BY ALL ORDER BY ALL
    """  # DuckDB's time_bucket takes thirty times as long for times with a zone
    rows = connection.execute(query, [bucket // _MICROSECOND, *condition.values]).fetchall()
    return [VolumePoint(_EPOCH + number * bucket, *others) for number, *others in rows]
