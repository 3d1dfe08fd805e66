"""What "now" is for the page: ages and "the last 30 days" end here."""

from __future__ import annotations

from datetime import UTC, datetime

from attestlab import Lab


def read_now(lab: Lab) -> datetime:
    """Return the time of this process, or that of the log's newest head if the service's clock is ahead."""
    return max(read_own_clock(), lab.log.head().timestamp)


def read_own_clock() -> datetime:
    """Return the time of this process."""
    return datetime.now(UTC)
