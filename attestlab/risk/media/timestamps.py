"""The times that a container states, against the time at which its picture is claimed to be taken."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from attestlab.risk.media.containers.metadata import ContainerTime, TimeKind

TOLERANCE = timedelta(days=2)  # zones, as EXIF has none, and clocks that were never set to the minute


class TimeConflict(NamedTuple):
    """A time of the container that does not fit the claimed one; `days` are their distance."""

    place: str
    days: int


def find_time_conflicts(times: Iterable[ContainerTime], claimed_at: datetime) -> list[TimeConflict]:
    """Find the times that contradict the claim, largest distance first.

    A picture cannot have been taken at another time, nor changed or written before it was taken. Changed or written
    later is ordinary: each export does that.
    """
    conflicts = [_find_conflict(time, claimed_at) for time in times]
    return sorted(filter(None, conflicts), key=lambda conflict: -conflict.days)


def _find_conflict(time: ContainerTime, claimed_at: datetime) -> TimeConflict | None:
    at = time.at if time.at.tzinfo else time.at.replace(tzinfo=UTC)
    later = at - claimed_at
    is_conflict = later < -TOLERANCE or (time.kind is TimeKind.TAKEN and later > TOLERANCE)
    return TimeConflict(f"{time.place}, {time.kind}", abs(later).days) if is_conflict else None
