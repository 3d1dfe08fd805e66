"""Who waits for a file lock (proc(5), /proc/locks)."""

from __future__ import annotations

from pathlib import Path

_WAITING = "->"


def is_waiting_for_file_lock(pid: int) -> bool:
    """Whether a thread of a process waits for a lock of flock(2)."""
    rows = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return any(row[1:3] == [_WAITING, "FLOCK"] and row[5] == str(pid) for row in rows)
