"""Folders on disk, and files that appear in them whole."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

ASIDE = ".new"


def sync(folder: Path) -> None:
    """Let the names in a folder survive a power cut; what the files hold is synced by whoever wrote them."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write that gets its name, `path`, when it is complete and synced; until then what was there stays.

    The name itself survives a power cut once its folder is synced. A process that is killed
    leaves `.<name>.<chance>.new` behind.

    Raises:
        OSError: the disk is full, or gone; nothing has changed then.
    """
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}{ASIDE}")
    try:
        with aside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
