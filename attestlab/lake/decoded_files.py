"""The decoded rows of a part in a private file that all processes of a server map (Apache Arrow IPC file format).

To decode a part takes most of the time of a query, and its rows never change. A file holds the rows of one tenant, and
is named by the part, the part's size and time, and a SHA-256 of what it is about and of all its bytes. So a file that
was cut, changed, copied to another tenant, or written by another version has a name that is not its own, and no
process uses it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from attestlab.core import atomic_files
from attestlab.core.file_caching import identify_file
from attestlab.lake.parts import LakePart

FORMAT = 1  # another number for each change of what a file holds
FOLDER = "decoded"  # in that of the lake
SUFFIX = ".arrow"
ROWS_A_BATCH = 20_480


@dataclass(frozen=True)
class RowsOfPart:
    """Which rows a file holds: those of one tenant in a part as it is now; `folder` is theirs alone."""

    folder: Path
    part: LakePart
    size_bytes: int
    modified_ns: int
    schema: pa.Schema

    @classmethod
    def describe(cls, folder: Path, part: LakePart, schema: pa.Schema) -> RowsOfPart:
        """Describe the rows of a part.

        Raises:
            OSError: the part was removed.
        """
        status = part.path.stat()
        return cls(folder, part, status.st_size, status.st_mtime_ns, schema)

    @property
    def prefix(self) -> str:
        """How the file's name begins."""
        return f"{self.part.path.stem}.{self.size_bytes}.{self.modified_ns}."

    def path(self, digest: str) -> Path:
        """Return the file whose bytes have this digest."""
        return self.folder / f"{self.prefix}{digest}{SUFFIX}"

    def compute_digest(self, content: pa.Buffer) -> str:
        """Compute the digest of a file's bytes and of what it is about."""
        about = (FORMAT, self.folder.parent.name, self.folder.name, self.prefix, self.schema.to_string())
        digest = hashlib.sha256(repr(about).encode())
        digest.update(content)
        return digest.hexdigest()


@dataclass(frozen=True)
class DecodedFile:
    """A file whose digest was compared, and its rows, which take no memory of this process."""

    path: Path
    identity: tuple[Hashable, ...]
    table: pa.Table

    @property
    def is_unchanged(self) -> bool:
        """Whether the file is still there, as it was."""
        try:
            return identify_file(self.path) == self.identity
        except OSError:
            return False


def open_decoded(rows: RowsOfPart) -> DecodedFile | None:
    """Map the file of these rows; None if there is none. A file with another digest than its name states is removed."""
    for path in sorted(rows.folder.glob(f"{rows.prefix}*{SUFFIX}")):
        with suppress(OSError, pa.ArrowException):
            identity, content = identify_file(path), _map(path)
            if path == rows.path(rows.compute_digest(content)):
                return DecodedFile(path, identity, _read(content))
        with suppress(OSError):
            path.unlink()
    return None


def write_decoded(rows: RowsOfPart, batches: Iterable[pa.RecordBatch], *, max_bytes: int) -> DecodedFile:
    """Write the file of these rows and map it; it gets its name when it is complete.

    It is not synced: after a power failure its digest tells whether it is whole.

    Raises:
        OSError: the disk is full or gone, or the file would exceed `max_bytes`; there is no file then.
        ArrowException: the part cannot be read.
    """
    with atomic_files.open_draft(rows.folder / rows.part.path.stem) as (draft, file):
        _write(file, rows.schema, batches, max_bytes)
        content = _map(draft)
        path = rows.path(rows.compute_digest(content))
        draft.replace(path)
    return DecodedFile(path, identify_file(path), _read(content))


def delete_stale(lake: Path) -> None:
    """Delete the files of parts that were deleted or replaced."""
    for folder in (lake / FOLDER).glob("*/*/"):
        for path in folder.glob(f"*{SUFFIX}"):
            parts = (lake / folder.parent.name, lake / folder.parent.name / folder.name)
            if not any(_is_part_of(path.name, part) for part in parts):
                path.unlink(missing_ok=True)


def _is_part_of(name: str, folder: Path) -> bool:
    """Whether a folder has the part, unchanged, that a file of this name is about."""
    stem, size_bytes, modified_ns, *_ = name.split(".")
    try:
        status = (folder / f"{stem}.parquet").stat()
    except OSError:
        return False
    return (size_bytes, modified_ns) == (str(status.st_size), str(status.st_mtime_ns))


def _write(file: BinaryIO, schema: pa.Schema, batches: Iterable[pa.RecordBatch], max_bytes: int) -> None:
    with pa.ipc.new_file(file, schema) as writer:
        for batch in _join_batches(batches, schema):
            writer.write_batch(batch)
            if file.tell() > max_bytes:
                raise OSError(f"The rows of a part have over {max_bytes >> 20:,} MiB.")
    file.flush()


def _join_batches(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches of `ROWS_A_BATCH` at least, but the last: of a small tenant, each has few."""
    pending: list[pa.RecordBatch] = []
    for batch in batches:
        pending.append(batch)
        if sum(each.num_rows for each in pending) >= ROWS_A_BATCH:
            yield _join(pending, schema)
            pending = []
    yield _join(pending, schema)


def _join(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    table = pa.Table.from_batches(batches, schema).combine_chunks()
    return table.to_batches()[0] if table.num_rows else pa.RecordBatch.from_pylist([], schema)


def _map(path: Path) -> pa.Buffer:
    with pa.memory_map(str(path)) as mapped:
        return mapped.read_buffer()


def _read(content: pa.Buffer) -> pa.Table:
    with pa.ipc.open_file(content) as reader:
        return reader.read_all()
