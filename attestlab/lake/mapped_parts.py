"""Parts of long data sets, decoded once for all processes that query a tenant, which map the files.

A process uses a file as soon as there is one, and makes it when it reads the part for the second time. One process of
a lake makes files at a time; until then the others decode for themselves, as all do where the disk has no room. All
files of a lake have a limit of bytes together; those that were used longest ago are removed first.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa

from attestlab.core import atomic_files
from attestlab.lake import decoded_files
from attestlab.lake.decoded_files import DecodedFile, RowsOfPart
from attestlab.lake.parts import LakePart, exclusive_lock

MAX_BYTES: Final = 4 << 30  # of all files of a lake
MIN_FREE_BYTES: Final = 1 << 30  # of the disk, for the records
BYTES_A_PART_BYTE: Final = 8  # decoded; six of signals
RECENT_S: Final = 600.0  # what was used since is not removed for something else
TOUCH_INTERVAL_S: Final = 60.0
RETRY_S: Final = 600.0  # after a file could not be made
MAX_BYTES_A_READ: Final = 32 << 20  # of parts that one query decodes for others; about a second
MAX_CHECKED_BYTES: Final = 1 << 30  # of files whose digests one query compares; about a second
MAX_KEYS: Final = 1_000  # of parts that were read once

ReadBatches = Callable[[LakePart], Iterable[pa.RecordBatch]]


class MappedRows(NamedTuple):
    """A tenant's rows of some parts, and the parts that no file has yet."""

    tables: Sequence[pa.Table]
    missing: Sequence[LakePart]


class MappedParts:
    """The files that a process has mapped; threads may share it. `_lock` protects `_files` and `_read_once`."""

    def __init__(self, max_bytes: int = MAX_BYTES, min_free_bytes: int = MIN_FREE_BYTES) -> None:
        self._max_bytes, self._min_free_bytes = max_bytes, min_free_bytes
        self._files: dict[RowsOfPart, DecodedFile] = {}
        self._read_once: OrderedDict[RowsOfPart, None] = OrderedDict()
        self._retry_at: dict[Path, float] = {}
        self._lock = threading.Lock()

    def read(self, wanted: Sequence[RowsOfPart], decode: ReadBatches) -> MappedRows:
        """Map the files of these rows of one folder, and make those that this process reads for the second time."""
        self._unmap_removed()
        due = [rows for rows in self._map_existing(wanted) if self._was_read(rows)]
        if due and time.monotonic() >= self._retry_at.get(due[0].folder, 0.0):
            self._make(due, decode)
        with self._lock:
            found = {rows: self._files.get(rows) for rows in wanted}
        for folder in {rows.folder for rows, file in found.items() if file}:
            _touch(folder)
        return MappedRows(
            [file.table for file in found.values() if file], [rows.part for rows, file in found.items() if not file]
        )

    def _unmap_removed(self) -> None:
        """Forget files that were removed or changed since they were mapped; the disk has room for others then."""
        with self._lock:
            self._files = {rows: file for rows, file in self._files.items() if file.is_unchanged}

    def _map_existing(self, wanted: Iterable[RowsOfPart]) -> list[RowsOfPart]:
        """Map the files that exist, and return the rows without one; after many bytes, a later read maps the rest."""
        missing, checked_bytes = [], 0
        for rows in wanted:
            if rows in self._files or checked_bytes >= MAX_CHECKED_BYTES:
                continue
            if file := decoded_files.open_decoded(rows):
                self._remember(rows, file)
                checked_bytes += file.table.nbytes
            else:
                missing.append(rows)
        return missing

    def _remember(self, rows: RowsOfPart, file: DecodedFile) -> None:
        with self._lock:
            self._files[rows] = file

    def _was_read(self, rows: RowsOfPart) -> bool:
        """Note a read; return whether there was one before."""
        with self._lock:
            was_read = rows in self._read_once
            self._read_once[rows] = None
            self._read_once.move_to_end(rows)
            if len(self._read_once) > MAX_KEYS:
                self._read_once.popitem(last=False)
        return was_read

    def _make(self, due: Sequence[RowsOfPart], decode: ReadBatches) -> None:
        """Make files, if no other process does; after a failure, which the caller's own read reports, not for a
        while.
        """
        root = due[0].folder.parent.parent
        try:
            with exclusive_lock(root) as is_sole:
                for rows in _limit_work(due) if is_sole else ():
                    file = decoded_files.open_decoded(rows) or self._write(root, rows, decode)
                    self._remember(rows, file)
        except (OSError, MemoryError, pa.ArrowException):
            self._retry_at[due[0].folder] = time.monotonic() + RETRY_S

    def _write(self, root: Path, rows: RowsOfPart, decode: ReadBatches) -> DecodedFile:
        for folder in (rows.folder.parent, rows.folder):
            atomic_files.make_private_folder(folder)
        atomic_files.remove_drafts(rows.folder)
        _touch(rows.folder)
        room_bytes = self._make_room(root, BYTES_A_PART_BYTE * rows.size_bytes)
        return decoded_files.write_decoded(rows, decode(rows.part), max_bytes=room_bytes)

    def _make_room(self, root: Path, wanted_bytes: int) -> int:
        """Remove what was used longest ago until `wanted_bytes` have room; return how many bytes have."""
        for folder in sorted(root.glob("*/*/"), key=_read_last_use):
            is_recent = time.time() - _read_last_use(folder) < RECENT_S
            if is_recent or self._measure_room(root) >= wanted_bytes:
                break
            shutil.rmtree(folder, ignore_errors=True)
        return self._measure_room(root)

    def _measure_room(self, root: Path) -> int:
        used = sum(path.stat().st_size for path in root.glob(f"*/*/*{decoded_files.SUFFIX}"))
        return min(self._max_bytes - used, shutil.disk_usage(root).free - self._min_free_bytes)


def _limit_work(due: Iterable[RowsOfPart]) -> Iterator[RowsOfPart]:
    """Yield what one query makes: at least one file."""
    size_bytes = 0
    for rows in due:
        yield rows
        size_bytes += rows.size_bytes
        if size_bytes >= MAX_BYTES_A_READ:
            return


def _read_last_use(folder: Path) -> float:
    return folder.stat().st_mtime


def _touch(folder: Path) -> None:
    """Note the use of a tenant's data set in the time of its folder."""
    with suppress(OSError):
        if time.time() - _read_last_use(folder) >= TOUCH_INTERVAL_S:
            os.utime(folder)


MAPPED: Final = MappedParts()
"""Those of this process."""
