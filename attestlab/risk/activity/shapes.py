"""Wire models of activity (CONTRACT section 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from attestlab.core.shapes import In, Moment, Out

if TYPE_CHECKING:  # a client reads these models without the service
    from attestlab.risk.activity.service import DriftReport, KindDrift, SourceStatus


class DriftQuery(In):
    """The window of scores, by default the last seven days; it is rounded to whole hours."""

    since: Moment | None = Field(default=None, alias="from")
    until: Moment | None = Field(default=None, alias="to")


class KindDriftOut(Out):
    """The drift of one source and type; `counts` are signals by tens of the score, from 0-10 to 90-100.

    `psi` is null and `level` is `too_few` with fewer than 500 signals in one of the windows.
    """

    source: str
    signal_type: str
    psi: float | None
    level: Literal["stable", "moderate", "major", "too_few"]
    counts: list[int]
    reference_counts: list[int]

    @classmethod
    def of(cls, drift: KindDrift) -> KindDriftOut:
        """Render the drift of one source and type."""
        return cls(
            source=drift.kind.source,
            signal_type=drift.kind.signal_type,
            psi=drift.psi,
            level=drift.level.value,
            counts=list(drift.counts),
            reference_counts=list(drift.reference_counts),
        )


class DriftOut(Out):
    """The drift of the window `from` - `to` against `reference_from` - `from`, strongest first."""

    since: Moment = Field(serialization_alias="from")
    until: Moment = Field(serialization_alias="to")
    reference_since: Moment = Field(serialization_alias="reference_from")
    items: list[KindDriftOut]
    truncated: bool

    @classmethod
    def of(cls, report: DriftReport) -> DriftOut:
        """Render a report."""
        return cls(
            since=report.since,
            until=report.until,
            reference_since=report.reference_since,
            items=[KindDriftOut.of(each) for each in report.kinds],
            truncated=report.truncated,
        )


class SourceOut(Out):
    """A source of signals; durations are in seconds, and null while the source has no rhythm.

    `warning` says what is probably a mistake, such as scores of another scale.
    """

    source: str
    count: int
    first_seen: Moment
    last_seen: Moment
    typical_gap_s: int | None
    silent_after_s: int | None
    silent: bool
    warning: str | None

    @classmethod
    def of(cls, status: SourceStatus) -> SourceOut:
        """Render a source."""
        row, rhythm, is_silent, warning = status
        gap, limit = (None if each is None else int(each.total_seconds()) for each in rhythm)
        return cls(
            source=row.source,
            count=row.count,
            first_seen=row.first_seen,
            last_seen=row.last_seen,
            typical_gap_s=gap,
            silent_after_s=limit,
            silent=is_silent,
            warning=warning,
        )
