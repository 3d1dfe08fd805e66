"""Results of reading a file, cached while the file is unchanged."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import TypeVar

MAX_CACHED_FILES = 100_000
SETTLED_NS = 2_000_000_000

Result = TypeVar("Result")


def identify_file(path: Path) -> tuple[int, ...]:
    """Return what changes when a file does: inode, size and times.

    Raises:
        OSError: there is no such file.
    """
    status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def cache_while_unchanged(read: Callable[[str], Result]) -> Callable[[Path], Result]:
    """Cache the result of `read` for each path while the file's inode, size and times of change stay the same.

    Within two seconds of a change the file is read each time, because file times are too coarse to distinguish two
    changes. The decorated function raises OSError if there is no such file.
    """

    @lru_cache(MAX_CACHED_FILES)
    def read_unchanged(path: str, _identity: tuple[int, ...]) -> Result:
        return read(path)

    @wraps(read)
    def read_cached(path: Path) -> Result:
        identity = identify_file(path)
        if time.time_ns() - max(identity[2:]) < SETTLED_NS:
            return read(str(path))
        return read_unchanged(str(path), identity)

    return read_cached
