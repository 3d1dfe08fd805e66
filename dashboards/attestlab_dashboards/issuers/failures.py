"""The range over which failed verifications of issuers are counted, and compared with the time before."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from attestlab_dashboards.issuers.state import RANGES, YESTERDAY, IssuerState
from attestlab_dashboards.ranges import DayRange

FAILURE_COLUMNS: Final = """coalesce(failures_now, 0)::BIGINT AS failures,
  coalesce(failures_then, 0)::BIGINT AS failures_before"""
_FAILURES: Final = """SELECT issuer_id, sum(count) FILTER (NOT is_before) AS failures_now,
    sum(count) FILTER (is_before) AS failures_then
  FROM (SELECT issuer_id, count, verified_at < {start} AS is_before FROM verifications
    WHERE NOT valid AND verified_at >= {start} - ({end} - {start}) AND verified_at < {end})
  GROUP BY issuer_id"""
_NOW: Final = "now()"
_TODAY: Final = "to_timestamp(epoch(now())::BIGINT // 86400 * 86400)"


class CountedRange(NamedTuple):
    """The times that failures are counted from and until, as SQL."""

    start: str
    end: str


def write_failures(state: IssuerState) -> str:
    """Write the SQL of the failures of each issuer in the range and in the time before, which is as long."""
    start, end = _write_range(state)
    return _FAILURES.format(start=start, end=end)


def _write_range(state: IssuerState) -> CountedRange:
    days = state.own_range
    if days is not None:
        return CountedRange(*(f"TIMESTAMPTZ '{at:%Y-%m-%d %H:%M}+00'" for at in (days.start, days.end)))
    if state.range == YESTERDAY:
        return CountedRange(f"({_TODAY} - INTERVAL 1 DAY)", _TODAY)
    return CountedRange(f"({_NOW} - INTERVAL {RANGES[state.range]} DAY)", f"({_NOW} + INTERVAL 1 SECOND)")


def find_days(state: IssuerState, now: datetime) -> DayRange:
    """Find the days on which failures are counted, as of now."""
    if state.own_range is not None:
        return state.own_range
    today = now.astimezone(UTC).date()
    if state.range == YESTERDAY:
        return DayRange(today - timedelta(days=1), today - timedelta(days=1))
    return DayRange(today - timedelta(days=RANGES[state.range]), today)
