"""The record of the last complete check: a file next to the head guard, which `attestlab log fsck` replaces.

It is outside of the records, because a check changes nothing that it checks and succeeds on a read-only copy of them,
too. It belongs to one machine, like the guard. It is a note for people: no signature protects it, and nothing that
the service decides depends on it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from attestlab.core import atomic_files
from attestlab.core.encoding import format_time, parse_time
from attestlab.core.errors import ValidationFailed

FSCK_RECORD = "fsck.json"  # in the data folder of an installation


@dataclass(frozen=True, slots=True)
class FsckSummary:
    """A complete check: of which log, when it began, how many entries the log had then, and the problems, counted."""

    origin: str
    at: datetime
    tree_size: int
    problems: int


class FsckRecord:
    """The file; servers read it while a check may replace it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, summary: FsckSummary) -> None:
        """Replace the file.

        Raises:
            OSError: it cannot be written; the previous one stays.
        """
        members = {
            "origin": summary.origin,
            "at": format_time(summary.at),
            "tree_size": summary.tree_size,
            "problems": summary.problems,
        }
        with atomic_files.write_atomically(self.path, is_private=True) as file:
            file.write(json.dumps(members).encode())

    def read(self, *, origin: str, tree_size: int) -> FsckSummary | None:
        """Read the last check of the log `origin`, which has `tree_size` entries; None if none is recorded.

        A check of another log, or of more entries, was one of other records, for example before a backup was restored.
        """
        try:
            members = json.loads(self.path.read_bytes())
            found = FsckSummary(
                str(members["origin"]), parse_time(members["at"]), int(members["tree_size"]), int(members["problems"])
            )
        except (OSError, ValueError, KeyError, TypeError, ValidationFailed):
            return None
        return found if found.origin == origin and found.tree_size <= tree_size else None
