"""The windows of time that the risk explorer shows, and where they end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from attestlab_dashboards.ranges import DayRange, read_range

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_DAY: Final = timedelta(days=1)


class TimeWindow(NamedTuple):
    """A window: its words, its length, and the step in which signals are counted, in words too."""

    label: str
    length: timedelta
    step: timedelta
    step_words: str
    is_past_day: bool = False  # the last full UTC day before that of the newest signal
    days: DayRange | None = None  # an own range, wherever the newest signal is

    @property
    def before(self) -> str:
        """What the time before is called, to which numbers are compared."""
        return "the time before" if self.days or self.is_past_day else f"previous {self.label}"


WINDOWS: Final = {
    "24h": TimeWindow("24 hours", timedelta(hours=24), timedelta(hours=1), "an hour"),
    "yesterday": TimeWindow("yesterday", timedelta(hours=24), timedelta(hours=1), "an hour", is_past_day=True),
    "7d": TimeWindow("7 days", timedelta(days=7), timedelta(hours=6), "in 6 hours"),
    "30d": TimeWindow("30 days", timedelta(days=30), timedelta(days=1), "a day"),
    "90d": TimeWindow("90 days", timedelta(days=90), timedelta(days=1), "a day"),
    "365d": TimeWindow("a year", timedelta(days=364), timedelta(days=7), "a week"),
}
DEFAULT_WINDOW: Final = "30d"
BEFORE: Final = "before"  # compared with: the time before
_STEPS: Final = (
    (2, timedelta(hours=1), "an hour"),
    (14, timedelta(hours=6), "in 6 hours"),
    (120, timedelta(days=1), "a day"),
    (840, timedelta(days=7), "a week"),
)
"""Up to how many days of an own range have which step; longer ones have as many days a step as make 120 steps."""


def read_window(text: str) -> str:
    """Read the name of a window, or an own range of days.

    Raises:
        ValueError: it is neither.
    """
    return text if text in WINDOWS else read_range(text)


def find_window(name: str) -> TimeWindow:
    """Find a window by its name, or that of an own range."""
    return WINDOWS[name] if name in WINDOWS else _make_window(DayRange.parse(name))


def _make_window(days: DayRange) -> TimeWindow:
    length = days.end - days.start
    for most, step, words in _STEPS:
        if length.days <= most:
            return TimeWindow("own range", length, step, words, days=days)
    each = -(-length.days // 120)
    return TimeWindow("own range", length, timedelta(days=each), f"in {each} days", days=days)


class Period(NamedTuple):
    """What a page shows: `window_start` up to `window_end` in its charts, `start` up to `end` in all that counts.

    Both are the same until a part of the window is selected. All times are UTC, and the ends exclusive.
    """

    window_start: datetime
    window_end: datetime
    start: datetime
    end: datetime
    step: timedelta

    @property
    def before(self) -> datetime:
        """The beginning of the previous period, which is as long and ends where this one starts."""
        return self.start - (self.end - self.start)

    @property
    def first(self) -> datetime:
        """The earliest time that the page reads."""
        return min(self.before, self.window_start)

    @property
    def last(self) -> datetime:
        """The end of what the page reads."""
        return max(self.end, self.window_end)

    @property
    def steps(self) -> range:
        """The numbers of the window's steps, counted from 1970."""
        return range(to_us(self.window_start) // to_us(self.step), to_us(self.window_end) // to_us(self.step))

    def time_of(self, step: int) -> datetime:
        """Return when a step begins."""
        return _EPOCH + step * self.step


def find_period(window: TimeWindow, newest: datetime, since: datetime | None, until: datetime | None) -> Period:
    """Find the period of a window, which ends with the step of the newest signal, or of the last day chosen.

    It does not end now: where a source fell silent, or in a world of the past, the page would be empty.

    >>> period = find_period(WINDOWS["30d"], datetime(2026, 11, 2, 11, 58, tzinfo=UTC), None, None)
    >>> f"{period.start:%d %b} {period.end:%d %b}"
    '04 Oct 03 Nov'
    """
    if window.days is not None:
        days, width = window.days, to_us(window.step)
        first = _EPOCH + to_us(days.start) // width * window.step
        last = _EPOCH - (-to_us(days.end) // width) * window.step
        return Period(first, last, since or days.start, until or days.end, window.step)
    step = _DAY if window.is_past_day else window.step
    end = _EPOCH + (to_us(newest) // to_us(step) + (not window.is_past_day)) * step
    start = end - window.length
    return Period(start, end, since or start, until or end, window.step)


def read_comparison(text: str) -> str:
    """Read with what a period is compared: `before`, the time before it, or an own range of days.

    Raises:
        ValueError: it is neither.
    """
    return text if text in ("", BEFORE) else read_range(text)


def find_compared(period: Period, comparison: str) -> Period:
    """Find the time that a period is compared with, in steps as wide; it is at most as long as the period.

    >>> shown = find_period(WINDOWS["7d"], datetime(2026, 11, 2, 11, 58, tzinfo=UTC), None, None)
    >>> [f"{find_compared(shown, text).start:%d %b}" for text in ("before", "2026-10-01/2026-10-31")]
    ['19 Oct', '01 Oct']
    """
    days = None if comparison == BEFORE else DayRange.parse(comparison)
    start, end = (period.before, period.start) if days is None else (days.start, days.end)
    end, width = min(end, start + (period.end - period.start)), to_us(period.step)
    first = _EPOCH + to_us(start) // width * period.step
    last = _EPOCH - (-to_us(end) // width) * period.step
    return Period(first, last, start, end, period.step)


def write_bounds(start: datetime, end: datetime) -> str:
    """Write a part of a window as an event carries it: `from/to`, in whole minutes."""
    return f"{start:%Y-%m-%dT%H:%MZ}/{end:%Y-%m-%dT%H:%MZ}"


def to_us(value: datetime | timedelta) -> int:
    """Return a duration, or a time since 1970, in microseconds."""
    return (value - _EPOCH if isinstance(value, datetime) else value) // _MICROSECOND
