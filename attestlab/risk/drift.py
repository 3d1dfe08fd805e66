"""Drift of scores, and the rhythm of sources: their rules, and the service that applies them to what activity counts.

Drift is measured by the population stability index (PSI) of the scores in a window against those in an earlier one. It
sums `(p - q) ln(p / q)` over classes of scores, p and q being a class's shares in the two windows. The usual reading
is: below 0.1 stable, below 0.25 moderate, otherwise major (Siddiqi, Credit Risk Scorecards, 2006).

The rhythm is how long a source usually pauses between hours with signals, and from when on it is silent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from statistics import median
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.encoding import format_time
from attestlab.core.errors import ValidationFailed
from attestlab.orgs.rules import Caller
from attestlab.risk import activity
from attestlab.risk.activity import HOUR_S, HourRange, RiskSourceRecord, SignalKind, find_hour
from attestlab.risk.rules import SCORE_CLASSES, warn_about_scale
from attestlab.risk.signals.store import find_highest_scores

MODERATE, MAJOR = 0.1, 0.25
MIN_SIGNALS = 500  # in each window; chance alone then makes a PSI of 0.036 on average
SMOOTHING = 0.5  # signals that are added to each class, because an empty one would make the PSI infinite
RHYTHM_DAYS = 30  # before the source was last seen
MIN_PAUSES = 3  # fewer are no rhythm, so such a source is never silent
MIN_SPAN_H = 48  # hours from the first signal to the last; a source that is younger has not shown its nights
PATIENCE = 2.0  # times the usual longest pause


class DriftLevel(StrEnum):
    """How much the scores changed; `too_few` if there are too few signals to say."""

    STABLE = "stable"
    MODERATE = "moderate"
    MAJOR = "major"
    TOO_FEW = "too_few"


def compute_psi(counts: Sequence[int], reference: Sequence[int]) -> float:
    """Return the PSI of the counts by class of two windows, with six decimals.

    >>> compute_psi([50, 50], [50, 50])
    0.0
    >>> compute_psi([700, 300], [500, 500])
    0.1691
    """
    shares, reference_shares = _smooth(counts), _smooth(reference)
    pairs = zip(shares, reference_shares, strict=True)
    return round(math.fsum((p - q) * math.log(p / q) for p, q in pairs), 6)


def find_drift_level(psi: float | None) -> DriftLevel:
    """Return what a PSI means; None is the PSI of too few signals."""
    if psi is None:
        return DriftLevel.TOO_FEW
    if psi < MODERATE:
        return DriftLevel.STABLE
    return DriftLevel.MODERATE if psi < MAJOR else DriftLevel.MAJOR


def _smooth(counts: Sequence[int]) -> list[float]:
    total = sum(counts) + SMOOTHING * len(counts)
    return [(count + SMOOTHING) / total for count in counts]


class Rhythm(NamedTuple):
    """The pauses of a source: the typical one, and the quiet time after which the source is silent.

    Both are None without a rhythm.
    """

    typical_gap: timedelta | None
    silent_after: timedelta | None

    def is_silent(self, last_seen: datetime, now: datetime) -> bool:
        """Return whether a source that was last seen at a moment is silent now."""
        return self.silent_after is not None and now - last_seen > self.silent_after


def find_rhythm(active_hours: Sequence[int]) -> Rhythm:
    """Find the rhythm of a source by the hours in which it had signals, in ascending order.

    The typical gap is the median pause. The source is silent after `PATIENCE` times its second longest pause: the
    longest may have been an outage, and nights and weekends are pauses of several times.

    A source with few pauses, or known for a short time, has no rhythm: it may be one batch.

    >>> find_rhythm([0, 8, 24, 32, 48, 56]).silent_after
    datetime.timedelta(days=1, seconds=28800)
    """
    pauses = sorted(later - earlier for earlier, later in pairwise(active_hours))
    if len(pauses) < MIN_PAUSES or sum(pauses) < MIN_SPAN_H:
        return Rhythm(None, None)
    return Rhythm(timedelta(hours=median(pauses)), timedelta(hours=PATIENCE * pauses[-2]))


DEFAULT_WINDOW = timedelta(days=7)
MAX_WINDOW = timedelta(days=366)
MAX_DRIFT_SOURCES = 200  # those with most signals
_NONE = (0,) * SCORE_CLASSES


class SourceStatus(NamedTuple):
    """A source with its rhythm, and whether it is silent now."""

    source: RiskSourceRecord
    rhythm: Rhythm
    is_silent: bool
    warning: str | None


class KindDrift(NamedTuple):
    """The drift of one source and type: its signals by class of score in both windows; no PSI for too few of them."""

    kind: SignalKind
    counts: Sequence[int]
    reference_counts: Sequence[int]
    psi: float | None
    level: DriftLevel


@dataclass(frozen=True)
class DriftReport:
    """The drift of a window of whole hours against the one of equal length before it, strongest first.

    `truncated` if more than `MAX_DRIFT_SOURCES` sources were seen.
    """

    since: datetime
    until: datetime
    reference_since: datetime
    kinds: Sequence[KindDrift]
    truncated: bool


class Activity:
    """The activity of tenants' sources."""

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def sources(self, *, caller: Caller, after: str | None = None, limit: int = 50) -> Sequence[SourceStatus]:
        """Return a page of the tenant's sources by name, after the name `after`, each with its rhythm."""
        now = self.clock.now()
        with self.storage.read() as connection:
            found = activity.list_sources(connection.execute, caller.tenant_id, after=after, limit=limit)
            rhythms = [_read_rhythm(connection, source) for source in found]
            highest = find_highest_scores(connection.execute, caller.tenant_id)
        return [
            SourceStatus(
                source,
                rhythm,
                rhythm.is_silent(source.last_seen, now),
                warn_about_scale(source.source, highest.get(source.source)),
            )
            for source, rhythm in zip(found, rhythms, strict=True)
        ]

    def drift(self, since: datetime | None = None, until: datetime | None = None, *, caller: Caller) -> DriftReport:
        """Compare the scores of a window with those of the window of equal length before it.

        Windows are of whole hours: `since` is rounded down, `until`, by default now, up.

        Raises:
            ValidationFailed: the window is empty or too long.
        """
        window = _settle_window(since, until, self.clock.now())
        reference = HourRange(2 * window.first - window.end, window.first)
        with self.storage.read() as connection:
            names = activity.list_recent_sources(
                connection.execute, caller.tenant_id, since=_begin(reference.first), limit=MAX_DRIFT_SOURCES + 1
            )
            kinds = _compare(connection, caller.tenant_id, names[:MAX_DRIFT_SOURCES], window, reference)
        return DriftReport(
            since=_begin(window.first),
            until=_begin(window.end),
            reference_since=_begin(reference.first),
            kinds=sorted(kinds, key=lambda each: (-(each.psi or 0), each.kind)),
            truncated=len(names) > MAX_DRIFT_SOURCES,
        )


def _read_rhythm(connection: Connection, source: RiskSourceRecord) -> Rhythm:
    last = find_hour(source.last_seen)
    hours = HourRange(last - RHYTHM_DAYS * 24, last + 1)
    return find_rhythm(activity.list_active_hours(connection.execute, source.tenant_id, source.source, hours))


def _compare(
    connection: Connection, tenant_id: UUID, names: Sequence[str], window: HourRange, reference: HourRange
) -> list[KindDrift]:
    now_by_kind, before_by_kind = (
        activity.count_by_class(connection.execute, tenant_id, names, hours) for hours in (window, reference)
    )
    return [
        _compare_kind(kind, now_by_kind.get(kind, _NONE), before_by_kind.get(kind, _NONE))
        for kind in sorted({*now_by_kind, *before_by_kind})
    ]


def _compare_kind(kind: SignalKind, counts: Sequence[int], reference: Sequence[int]) -> KindDrift:
    is_enough = min(sum(counts), sum(reference)) >= MIN_SIGNALS
    psi = compute_psi(counts, reference) if is_enough else None
    return KindDrift(kind, counts, reference, psi, find_drift_level(psi))


def _settle_window(since: datetime | None, until: datetime | None, now: datetime) -> HourRange:
    end_at = until or now
    first_at = since or end_at - DEFAULT_WINDOW
    if not timedelta() < end_at - first_at <= MAX_WINDOW:
        message = (
            f"The window from {format_time(first_at)} to {format_time(end_at)} is empty or longer than "
            f"{MAX_WINDOW.days} days. Send a `from` that is earlier than `to` by at most as much."
        )
        raise ValidationFailed.of("/from", "window", message)
    return HourRange(find_hour(first_at), -int(-end_at.timestamp() // HOUR_S))


def _begin(hour: int) -> datetime:
    return datetime.fromtimestamp(hour * HOUR_S, UTC)
