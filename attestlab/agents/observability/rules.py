"""Rules of agents' events: their bounds, and when they are anomalies (CONTRACT 11.12)."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from attestlab.core.text_forms import describe_form
from attestlab.risk.rules import Factor

EVENT_TYPE_PATTERN: Final = describe_form(
    r"^[a-z0-9_]{1,64}(\.[a-z0-9_]{1,64})+$", "Use at least two words of a-z, 0-9 and _ with dots between: tool.call."
)
MAX_LATENCY_MS: Final = 86_400_000  # a day
MAX_ATTRIBUTES_BYTES: Final = 8_192
MAX_BUCKETS: Final = 1_000  # of an answer with figures
MAX_EVENT_TYPES: Final = 500  # of an answer with figures; the most frequent ones

PROBE_REFUSALS: Final = 10
PROBE_WINDOW: Final = timedelta(minutes=5)
MIN_BURST: Final = 600  # events within the window: two a second
BURST_RATIO: Final = 5  # times the mean of the hour before
BURST_WINDOW: Final = timedelta(minutes=5)
BURST_PAST: Final = timedelta(hours=1)
MIN_OUTCOMES: Final = 20
MIN_ERROR_RATE: Final = 0.5
ERROR_WINDOW: Final = timedelta(minutes=15)
REVOKED_WINDOW: Final = timedelta(hours=1)


class AgentEventStatus(StrEnum):
    """How what an agent did ended."""

    OK = "ok"
    ERROR = "error"


class Granularity(StrEnum):
    """The length of a bucket; a week begins on Monday, and all begin at midnight UTC or the full hour."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"


class AgentAnomaly(StrEnum):
    """What agents do that people look at; the type of a risk signal."""

    SCOPE_PROBE = "scope_probe"
    BURST = "burst"
    ERROR_RATE = "error_rate"
    USED_AFTER_REVOCATION = "used_after_revocation"


WINDOWS: Final = {
    AgentAnomaly.SCOPE_PROBE: PROBE_WINDOW,
    AgentAnomaly.BURST: BURST_WINDOW,
    AgentAnomaly.ERROR_RATE: ERROR_WINDOW,
    AgentAnomaly.USED_AFTER_REVOCATION: REVOKED_WINDOW,
}
"""Within its window, an anomaly of an agent is one signal."""

SCORES: Final = {
    AgentAnomaly.SCOPE_PROBE: 85.0,
    AgentAnomaly.BURST: 65.0,
    AgentAnomaly.ERROR_RATE: 60.0,
    AgentAnomaly.USED_AFTER_REVOCATION: 90.0,
}


class EventCounts(NamedTuple):
    """What an agent's events of the last minutes count."""

    in_burst_window: int
    hour_before: int
    in_error_window: int
    errors: int


def judge_refusals(count: int) -> Factor | None:
    """Explain that an agent probes for scopes, from its refusals of the last five minutes; None if it does not."""
    if count < PROBE_REFUSALS:
        return None
    text = f"{count} requests within {_minutes(PROBE_WINDOW)} minutes needed a scope that the agent lacks."
    return _explain(AgentAnomaly.SCOPE_PROBE, count, text)


def judge_burst(counts: EventCounts) -> Factor | None:
    """Explain that an agent does far more than in the hour before; None if it does not.

    >>> judge_burst(EventCounts(600, 1_440, 0, 0)).value, judge_burst(EventCounts(600, 1_452, 0, 0))
    (600, None)
    """
    usual = counts.hour_before * (BURST_WINDOW / BURST_PAST)
    if counts.in_burst_window < max(MIN_BURST, BURST_RATIO * usual):
        return None
    text = (
        f"{counts.in_burst_window} events within {_minutes(BURST_WINDOW)} minutes; "
        f"in the hour before the mean was {usual:.1f}."
    )
    return _explain(AgentAnomaly.BURST, counts.in_burst_window, text)


def judge_errors(counts: EventCounts) -> Factor | None:
    """Explain that half of what an agent does fails; None if it does not, or if there are fewer than 20 events."""
    if counts.in_error_window < MIN_OUTCOMES or counts.errors < MIN_ERROR_RATE * counts.in_error_window:
        return None
    share = counts.errors / counts.in_error_window
    text = f"{counts.errors} of {counts.in_error_window} events within {_minutes(ERROR_WINDOW)} minutes were errors."
    return _explain(AgentAnomaly.ERROR_RATE, round(share, 4), text)


def judge_use_after_revocation() -> Factor:
    """Explain that someone uses the token of an agent that is revoked."""
    text = "A token of the agent was used after the agent had been revoked."
    return _explain(AgentAnomaly.USED_AFTER_REVOCATION, True, text)


def _minutes(window: timedelta) -> int:
    return int(window.total_seconds()) // 60


def _explain(kind: AgentAnomaly, value: float | bool, text: str) -> Factor:
    return Factor(kind.value, value, 100.0, SCORES[kind], text)
