"""Atomic file writes, private files and folders, and cleanup after killed processes."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

DRAFT_SUFFIX = ".new"
TEMPORARY_SUFFIX = ".temporary"
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700


def fsync_dir(folder: Path) -> None:
    """Sync a folder so that its file names survive a power cut; the writer of a file syncs its content."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private_folder(folder: Path) -> None:
    """Create a folder that only its owner can use, regardless of the umask; an existing one keeps its mode."""
    try:
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True)
    except FileExistsError:
        return
    folder.chmod(PRIVATE_FOLDER)


def ensure_private_database(database: Path) -> None:
    """Create an SQLite file that only its owner can use before SQLite opens it; restrict the mode of an existing one.

    SQLite creates the `-wal` and `-shm` files with the same mode. An existing database is never opened here: closing
    it would drop the locks that SQLite holds on it in this process.
    """
    with suppress(OSError):  # SQLite reports problems of the folder or the disk
        try:
            os.close(open_private(database, os.O_WRONLY | os.O_EXCL))
        except FileExistsError:
            for path in (database, *(database.with_name(database.name + suffix) for suffix in ("-wal", "-shm"))):
                if path.exists() and path.stat().st_mode & 0o077:
                    path.chmod(PRIVATE_FILE)


def open_private(path: Path, flags: int) -> int:
    """Open a file, creating it so that only its owner can use it, regardless of the umask."""
    descriptor = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    os.fchmod(descriptor, PRIVATE_FILE)
    return descriptor


def is_writable_by_others(folder: Path) -> bool:
    """Whether other users may add files to a folder or remove them."""
    return bool(folder.stat().st_mode & 0o022)


@contextmanager
def write_atomically(path: Path, *, is_private: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces `path` when it is complete and synced; until then `path` is unchanged.

    The new name survives a power cut once its folder is synced. A killed process leaves a draft behind, which
    `remove_drafts` removes.

    Raises:
        OSError: the disk is full or gone; nothing has changed.
    """
    with open_draft(path, mode=PRIVATE_FILE if is_private else 0o666) as (draft, file):
        yield file
        file.flush()
        os.fsync(file.fileno())
        draft.replace(path)


@contextmanager
def open_draft(path: Path, *, within: Path | None = None, mode: int = PRIVATE_FILE) -> Iterator[tuple[Path, BinaryIO]]:
    """Create a file `.<name>.<random>.new` next to `path`, or in `within`; it is removed at the end of the block.

    The writing process holds a lock on the file until then, or until it is killed.
    """
    draft = (within or path.parent) / f".{path.name}.{secrets.token_hex(4)}{DRAFT_SUFFIX}"
    with os.fdopen(_create_locked_draft(draft, mode), "wb") as file:
        try:
            yield draft, file
        finally:
            draft.unlink(missing_ok=True)


def _create_locked_draft(draft: Path, mode: int) -> int:
    """Create and lock a draft; repeats if `remove_drafts` of another process removed it in between."""
    while True:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        if mode == PRIVATE_FILE:
            os.fchmod(descriptor, mode)  # regardless of the umask
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)


def remove_drafts(folder: Path, name: str = "*") -> None:
    """Remove the drafts that killed processes left in a folder: those whose lock no process holds."""
    for draft in folder.glob(f".{name}.*{DRAFT_SUFFIX}"):
        with suppress(OSError), _lock_abandoned(draft):
            draft.unlink()


@contextmanager
def temporary_folder(prefix: str, *, within: Path | None = None) -> Iterator[Path]:
    """Create a folder in the system's temporary folder, or in `within`; it is removed at the end of the block.

    The process and its forks hold a lock on the folder. So folders of this prefix that killed processes left behind
    are recognized and removed first.
    """
    within = within or Path(tempfile.gettempdir())
    for abandoned in within.glob(f"{prefix}*{TEMPORARY_SUFFIX}"):
        with suppress(OSError), _lock_abandoned(abandoned):
            shutil.rmtree(abandoned)
    folder, descriptor = _create_locked_folder(prefix, within)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _create_locked_folder(prefix: str, within: Path) -> tuple[Path, int]:
    """Create and lock a folder; repeats if another process removed it as abandoned in between."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=TEMPORARY_SUFFIX, dir=within))
        with suppress(FileNotFoundError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:
                return folder, descriptor
            os.close(descriptor)


@contextmanager
def _lock_abandoned(path: Path) -> Iterator[None]:
    """Lock a file or folder whose lock no other process holds.

    Raises:
        OSError: a process still uses it or has just removed it, or another user owns it.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
