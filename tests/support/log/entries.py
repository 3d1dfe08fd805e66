"""The entries of an installation's log."""

from __future__ import annotations

from attestlab.installation import Installation
from attestlab.log import entries
from attestlab.log.entries import ParsedEntry


def read_log_entries(lab: Installation, start: int = 0) -> list[ParsedEntry]:
    """What stands in the log from index `start`."""
    with lab.storage.read() as connection:
        return [entries.parse_entry(row.entry) for row in lab.log.entries(connection, start, 1000)]
