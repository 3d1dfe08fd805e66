"""What anyone reads of the log: its entries by their place. A caller who may not ask the lake sees the page by these.

Entries are in the order of their times, so that a time is found by halving.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from attestlab import Lab
from attestlab.client.handles.log import EntryHandle
from attestlab.core.encoding import parse_time
from attestlab.core.errors import AuthRequired, NotFound, PermissionDenied

NO_RIGHTS: Final = (AuthRequired, PermissionDenied)
"""The errors of a caller who may read only what is public."""

UNSEEN: Final = (NotFound, *NO_RIGHTS)
"""The errors of a caller who does not see a record: it is another tenant's, or needs a right."""


def read_members(entry: EntryHandle) -> dict[str, object]:
    """Return the members of an entry."""
    return entry.entry if isinstance(entry.entry, dict) else {}


def read_logged_at(entry: EntryHandle) -> datetime:
    """Return when an entry was logged."""
    return parse_time(str(read_members(entry)["at"]))


def find_size_before(lab: Lab, size: int, before: datetime) -> int:
    """Find how many of the first `size` entries were logged until a time."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if read_logged_at(lab.log.entry(middle)) <= before:
            low = middle + 1
        else:
            high = middle
    return low


def read_newest(lab: Lab, size: int, *, skipped: int, rows: int) -> list[EntryHandle]:
    """Read entries of a log of `size` entries, newest first, after the newest `skipped`."""
    end = max(size - skipped, 0)
    return list(reversed(list(lab.log[max(end - rows, 0) : end])))


def sample_sizes(lab: Lab, size: int, moments: int) -> Iterator[tuple[datetime, int]]:
    """Sample when a log had which size: at most `moments` of its entries, evenly from the first to the newest."""
    steps = min(moments, size)
    places = sorted({(size - 1) * step // max(steps - 1, 1) for step in range(steps)})
    return ((read_logged_at(lab.log.entry(place)), place + 1) for place in places)
