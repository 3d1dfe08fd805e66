"""Wire models of activity (CONTRACT section 8)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from attestlab.core.shapes import In, Moment, Out


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


class DriftOut(Out):
    """The drift of the window `from` - `to` against `reference_from` - `from`, strongest first."""

    since: Moment = Field(serialization_alias="from")
    until: Moment = Field(serialization_alias="to")
    reference_since: Moment = Field(serialization_alias="reference_from")
    items: list[KindDriftOut]
    truncated: bool


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
