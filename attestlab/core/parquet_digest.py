"""Parquet files that carry their own SHA-256, so that no report is computed from damaged rows.

Parquet has checksums for pages only, and DuckDB does not verify them. A file of ours therefore
names in the key-value metadata of its footer the SHA-256 of all its bytes, taken with 64 zeros
in the digest's own place. A file without that entry is another program's, or an older version's.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

KEY = "attestlab.sha256"
UNKNOWN = "0" * 64
METADATA = {KEY: f"sha256:{UNKNOWN}"}
"""What a writer puts into the footer before `stamp`."""

_STAMP = re.compile(rb"attestlab\.sha256.{1,8}sha256:([0-9a-f]{64})", re.DOTALL)
_TAIL_BYTES = 8  # the footer's length and the magic number
_CHUNK_BYTES = 1 << 20
_KNOWN_FILES = 100_000
_SETTLED_NS = 2_000_000_000


def stamp(file: BinaryIO) -> None:
    """Write the digest of a finished file, which was written with `METADATA`, into its footer."""
    place = _place_of(file)
    if place is None:
        raise ValueError("the file has no place for its digest")
    digest = _digest(file, place)
    file.seek(place)
    file.write(digest.encode())


def is_intact(path: Path) -> bool | None:
    """Whether a file has the bytes that it was written with; None where it does not say.

    A file is hashed once while its inode, size and times of change stay the same, and each time
    within two seconds of a change, because file times tick too coarsely to tell two changes apart.

    Raises:
        OSError: it cannot be read.
    """
    found = os.stat(path)
    if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) < _SETTLED_NS:
        return _hashed(str(path))
    return _known(str(path), found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@lru_cache(_KNOWN_FILES)
def _known(path: str, _inode: int, _size: int, _modified_ns: int, _changed_ns: int) -> bool | None:
    return _hashed(path)


def _hashed(path: str) -> bool | None:
    with open(path, "rb") as file:
        place = _place_of(file)
        if place is None:
            return None
        file.seek(place)
        return file.read(len(UNKNOWN)).decode() == _digest(file, place)


def _place_of(file: BinaryIO) -> int | None:
    """Where the digest begins; None where the footer holds none."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL_BYTES))
    length = int.from_bytes(file.read(_TAIL_BYTES)[:4], "little")
    begin = max(0, size - _TAIL_BYTES - length)
    file.seek(begin)
    found = _STAMP.search(file.read())
    return None if found is None else begin + found.start(1)


def _digest(file: BinaryIO, place: int) -> str:
    """The SHA-256 of a file with zeros in the digest's place."""
    digest, zeros = hashlib.sha256(), UNKNOWN.encode()
    file.seek(0)
    for start in range(0, place, _CHUNK_BYTES):
        digest.update(file.read(min(_CHUNK_BYTES, place - start)))
    digest.update(zeros)
    file.seek(place + len(zeros))
    while chunk := file.read(_CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()
