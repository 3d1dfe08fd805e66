"""Folders on disk, and files that appear in them whole."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

ASIDE = ".new"
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700


def sync(folder: Path) -> None:
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
def whole(path: Path, *, is_private: bool = False) -> Iterator[BinaryIO]:
    """A file to write that gets its name, `path`, when it is complete and synced; until then what was there stays.

    The name itself survives a power cut once its folder is synced. A process that is killed
    leaves `.<name>.<chance>.new` behind.

    Raises:
        OSError: the disk is full, or gone; nothing has changed then.
    """
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}{ASIDE}")
    try:
        with os.fdopen(open_private(aside, os.O_WRONLY), "wb") if is_private else aside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
