"""The buckets of a period: hours, days or weeks of UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from attestlab.agents.observability.results import MetricsPeriod
from attestlab.agents.observability.rules import MAX_BUCKETS, Granularity
from attestlab.core.errors import ValidationFailed

LENGTHS: Final = {
    Granularity.HOUR: timedelta(hours=1),
    Granularity.DAY: timedelta(days=1),
    Granularity.WEEK: timedelta(weeks=1),
}
A_MONDAY: Final = datetime(2000, 1, 3, tzinfo=UTC)


def list_starts(period: MetricsPeriod) -> list[datetime]:
    """List where the buckets of a period begin, the earliest first; the first one may begin before the period.

    Raises:
        ValidationFailed: there are more than 1,000.
    """
    length = LENGTHS[period.granularity]
    first = (period.since - A_MONDAY) // length
    end = -((A_MONDAY - period.until) // length)
    if end - first > MAX_BUCKETS:
        message = (
            f"The period has {end - first:,} buckets of one {period.granularity}; the limit is {MAX_BUCKETS:,}. "
            "Send a shorter period or a longer granularity."
        )
        raise ValidationFailed.of("/granularity", "too_many", message)
    return [A_MONDAY + number * length for number in range(first, end)]
