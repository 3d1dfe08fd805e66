"""Let tests write to memory where there is enough: they sync thousands of times, and a disk takes milliseconds each.

What a disk does with syncs is tested from recordings of the calls, in tests/faults, and needs no slow disk.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

MEMORY_FOLDER = Path("/dev/shm")
MIN_FREE_BYTES = 3 << 30


def use_memory_file_system() -> None:
    """Make temporary folders in memory, unless TMPDIR names a place."""
    if "TMPDIR" not in os.environ and MEMORY_FOLDER.is_dir() and _is_usable(os.statvfs(MEMORY_FOLDER)):
        os.environ["TMPDIR"] = str(MEMORY_FOLDER)
        tempfile.tempdir = None  # the place is looked up again


def _is_usable(found: os.statvfs_result) -> bool:
    """Large enough, and programs that a test builds there may run."""
    return found.f_bavail * found.f_frsize >= MIN_FREE_BYTES and not found.f_flag & os.ST_NOEXEC
