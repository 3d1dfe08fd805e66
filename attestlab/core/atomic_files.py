"""Folders on disk, and files that appear in them whole."""

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

ASIDE = ".new"
TEMPORARY = ".temporary"
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700


def fsync_dir(folder: Path) -> None:
    """Let the names in a folder survive a power cut; what the files hold is synced by whoever wrote them."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private(folder: Path) -> None:
    """Make a folder for its owner alone, whatever the umask; one that exists keeps its mode."""
    try:
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True)
    except FileExistsError:
        return
    folder.chmod(PRIVATE_FOLDER)


def keep_private(database: Path) -> None:
    """Make an SQLite file for its owner alone before SQLite opens it, or narrow the mode of one that exists.

    SQLite gives the files beside it the same mode. A database that exists is never opened here: closing it would
    drop the locks that SQLite holds on it in this process.
    """
    with suppress(OSError):  # SQLite says what is wrong with the folder or the disk
        try:
            os.close(open_private(database, os.O_WRONLY | os.O_EXCL))
        except FileExistsError:
            for path in (database, *(database.with_name(database.name + suffix) for suffix in ("-wal", "-shm"))):
                if path.exists() and path.stat().st_mode & 0o077:
                    path.chmod(PRIVATE_FILE)


def open_private(path: Path, flags: int) -> int:
    """Open a file that is made for its owner alone, whatever the umask."""
    descriptor = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    os.fchmod(descriptor, PRIVATE_FILE)
    return descriptor


def others_may_write(folder: Path) -> bool:
    """Whether other users may put files into a folder, or take them out of it."""
    return bool(folder.stat().st_mode & 0o022)


@contextmanager
def write_atomically(path: Path, *, is_private: bool = False) -> Iterator[BinaryIO]:
    """A file to write that gets its name, `path`, when it is complete and synced; until then what was there stays.

    The name itself survives a power cut once its folder is synced. A process that is killed leaves a draft
    behind, which `remove_drafts` finds.

    Raises:
        OSError: the disk is full, or gone; nothing has changed then.
    """
    with draft_of(path, mode=PRIVATE_FILE if is_private else 0o666) as (draft, file):
        yield file
        file.flush()
        os.fsync(file.fileno())
        draft.replace(path)


@contextmanager
def draft_of(path: Path, *, within: Path | None = None, mode: int = PRIVATE_FILE) -> Iterator[tuple[Path, BinaryIO]]:
    """A new file `.<name>.<random>.new` next to `path`, or in `within`, that is removed at the end of the block.

    Its writer holds a lock on it until then, or until it is killed.
    """
    draft = (within or path.parent) / f".{path.name}.{secrets.token_hex(4)}{ASIDE}"
    with os.fdopen(_locked_draft(draft, mode), "wb") as file:
        try:
            yield draft, file
        finally:
            draft.unlink(missing_ok=True)


def _locked_draft(draft: Path, mode: int) -> int:
    """Make and lock a draft; again where `remove_drafts` of another process came between the two."""
    while True:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        if mode == PRIVATE_FILE:
            os.fchmod(descriptor, mode)  # whatever the umask
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)


def remove_drafts(folder: Path, name: str = "*") -> None:
    """Remove the drafts that killed processes left in a folder: those on which no process holds the lock."""
    for draft in folder.glob(f".{name}.*{ASIDE}"):
        with suppress(OSError), _abandoned(draft):
            draft.unlink()


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """A new folder where the system keeps temporary ones, removed at the end of the block.

    Its process, and those that it forks, hold a lock on it. So the folders of this prefix that killed processes left
    are known, and removed first.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*{TEMPORARY}"):
        with suppress(OSError), _abandoned(left):
            shutil.rmtree(left)
    folder, descriptor = _locked_folder(prefix)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _locked_folder(prefix: str) -> tuple[Path, int]:
    """Make and lock a folder; again where another process took it for an abandoned one in between."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=TEMPORARY))
        with suppress(FileNotFoundError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:
                return folder, descriptor
            os.close(descriptor)


@contextmanager
def _abandoned(path: Path) -> Iterator[None]:
    """Hold the lock of a file or folder that no other process holds.

    Raises:
        OSError: a process still uses it, or has just removed it; or another user owns it.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
