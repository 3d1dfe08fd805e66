"""Part files, and what their names say: which stretch of a sequence each of them holds.

How far a sequence is exported follows from the files, so there is no cursor that a crash could leave behind
them or ahead of them. A part appears whole or not at all, under its own name, and carries its own SHA-256 and a
checksum for each page. One that is damaged, that does not have every column, for it was written before there was such
a column, or that an older version wrote without a digest, counts for nothing: the records are read in its place, and
the exporter writes it again.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from attestlab.core import atomic_files, parquet_digest

NAME = re.compile(r"(\d{20})-(\d{20})\.parquet")
LOCK_NAME = ".lock"


@dataclass(frozen=True, slots=True)
class LakePart:
    """A file with every fact whose number is in `first`..`last`, both included; it is never changed."""

    path: Path
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts that together hold a sequence from its beginning, each number once; `end` is the next number."""

    chain: Sequence[LakePart]
    end: int


def find_parts(folder: Path, columns: Collection[str] = ()) -> Parts:
    """Follow the parts from number 0 on, the longest first where several begin alike; each has all of `columns`.

    What a gap cuts off, and what overlaps, is not read: the records still have it.
    """
    named = [(name, NAME.fullmatch(name)) for name in (os.listdir(folder) if folder.is_dir() else ())]
    parts = [LakePart(folder / name, int(match[1]), int(match[2])) for name, match in named if match]
    whole = [part for part in parts if _is_whole(part.path, columns)]
    longest = {part.first: part for part in sorted(whole, key=lambda part: part.last)}
    chain: list[LakePart] = []
    end = 0
    while (part := longest.get(end)) is not None and part.last >= part.first:
        chain.append(part)
        end = part.last + 1
    return Parts(chain, end)


def _is_whole(path: Path, columns: Collection[str]) -> bool:
    """Whether a file has the bytes that it was written with, and these columns."""
    from pyarrow import ArrowException, parquet

    try:
        return bool(parquet_digest.is_intact(path)) and set(columns) <= set(parquet.read_schema(path).names)
    except (ArrowException, OSError):
        return False


def write_part(folder: Path, first: int, last: int, table: Any) -> LakePart:
    """Write a pyarrow Table as the part `first`..`last`: aside, synced, renamed, the folder synced.

    Raises:
        OSError: the disk is full, or gone; nothing stands under the part's name then.
    """
    _make_folder(folder)
    part = LakePart(folder / f"{first:020d}-{last:020d}.parquet", first, last)
    with atomic_files.write_atomically(part.path, is_private=True) as file:
        file.write(_encode_parquet(table))
    atomic_files.fsync_dir(folder)
    return part


def _encode_parquet(table: Any) -> bytes:
    """A table as Parquet, with checksums of its pages and the digest of the whole."""
    from pyarrow import parquet

    file = BytesIO()
    with parquet.ParquetWriter(file, table.schema, compression="zstd", write_page_checksum=True) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(parquet_digest.METADATA)
    parquet_digest.write_digest(file)
    return file.getvalue()


def delete_unfinished(folder: Path) -> None:
    """Remove what killed exports left aside; only whoever holds the lake's lock may."""
    for aside in folder.rglob(f".*{atomic_files.DRAFT_SUFFIX}"):
        aside.unlink(missing_ok=True)


def delete_all(folder: Path) -> None:
    """Remove every part, all that the records do not need; whoever holds the lock may."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir():
            shutil.rmtree(path)


def _make_folder(folder: Path) -> None:
    """Make a folder whose name survives a power cut."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        atomic_files.make_private_folder(folder)
        atomic_files.fsync_dir(folder.parent)


@contextmanager
def exclusive_lock(folder: Path, *, wait: bool = False) -> Iterator[bool]:
    """Whether we are the one process that writes this lake, for as long as this lasts; its death lets go of it."""
    atomic_files.make_private_folder(folder)
    file = atomic_files.open_private(folder / LOCK_NAME, os.O_RDWR)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(file)
