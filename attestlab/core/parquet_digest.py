"""Parquet files that contain their own SHA-256, so that no report is computed from damaged rows.

Parquet has checksums for pages only, and DuckDB does not verify them. So the files of this
package store in the key-value metadata of the footer the SHA-256 of all bytes, computed with
64 zeros in place of the digest. A file without that entry comes from another program or an
older version.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import BinaryIO

from attestlab.core.file_caching import cache_while_unchanged

KEY = "attestlab.sha256"
UNKNOWN = "0" * 64
METADATA = {KEY: f"sha256:{UNKNOWN}"}
"""The footer metadata to write; `write_digest` then replaces the zeros."""

_ENTRY = re.compile(rb"attestlab\.sha256.{1,8}sha256:([0-9a-f]{64})", re.DOTALL)
_TAIL_BYTES = 8  # the footer's length and the magic number
_CHUNK_BYTES = 1 << 20


def write_digest(file: BinaryIO) -> None:
    """Write the digest of a complete file into its footer, which was written with `METADATA`."""
    offset = _find_digest(file)
    if offset is None:
        raise ValueError("the footer has no entry for the digest; write the file with METADATA")
    digest = _compute_digest(file, offset)
    file.seek(offset)
    file.write(digest.encode())


@cache_while_unchanged
def is_intact(path: str) -> bool | None:
    """Whether a file's digest matches its bytes; None if it has no digest. The file is hashed once while it is
    unchanged.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        offset = _find_digest(file)
        if offset is None:
            return None
        file.seek(offset)
        return file.read(len(UNKNOWN)).decode() == _compute_digest(file, offset)


def _find_digest(file: BinaryIO) -> int | None:
    """Return the offset of the digest; None if the footer has none."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL_BYTES))
    length = int.from_bytes(file.read(_TAIL_BYTES)[:4], "little")
    begin = max(0, size - _TAIL_BYTES - length)
    file.seek(begin)
    match = _ENTRY.search(file.read())
    return None if match is None else begin + match.start(1)


def _compute_digest(file: BinaryIO, offset: int) -> str:
    """Compute the SHA-256 of a file with zeros in place of the digest."""
    digest, zeros = hashlib.sha256(), UNKNOWN.encode()
    file.seek(0)
    for start in range(0, offset, _CHUNK_BYTES):
        digest.update(file.read(min(_CHUNK_BYTES, offset - start)))
    digest.update(zeros)
    file.seek(offset + len(zeros))
    while chunk := file.read(_CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()
