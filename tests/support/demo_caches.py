"""The cache of the demo's worlds, in the checkout: all test processes and runs of the same sources share each world.

A folder has the worlds of one state of the sources, as `XDG_CACHE_HOME` has them; the product builds each once, under a
lock. A process holds its folder while it lives, so that another one with newer sources does not remove it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).parents[2]
SOURCES = ("attestlab", "requirements.lock", "tests/support/dashboards/demo_server.py", "tests/support/identity.py")
HOME = ROOT / "build" / "demo_worlds"
MAX_FOLDERS = 2
REMOVED = "removed-"
_held: list[int] = []  # the descriptors of this process; a lock ends with its process, however that ends


@cache
def find_demo_caches() -> Path:
    """Return the folder for the worlds of these sources."""
    folder = HOME / fingerprint_sources(ROOT)
    _held.append(hold(folder))
    os.utime(folder)
    remove_old(HOME)
    return folder


@contextmanager
def use_demo_caches() -> Iterator[None]:
    """Let `attestlab.demo()`, in this process and those that it starts, use that folder instead of the user's."""
    with patch.dict(os.environ, XDG_CACHE_HOME=str(find_demo_caches())):
        yield


def fingerprint_sources(root: Path) -> str:
    """Fingerprint all that a world depends on: the product, its libraries, and who builds it here."""
    digest = hashlib.sha256()
    for name in SOURCES:
        top = root / name
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(root)}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def hold(folder: Path) -> int:
    """Create a folder if it does not exist, and keep others from removing it until the descriptor is closed."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # another process has just removed it
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            if os.path.samestat(folder.stat(), os.fstat(descriptor)):
                return descriptor


def remove_old(home: Path) -> None:
    """Remove all folders but the newest ones and those that a process holds, and what killed removers left."""
    folders = [folder for folder in home.iterdir() if not folder.name.startswith(REMOVED)]
    for folder in sorted(folders, key=_changed_at, reverse=True)[MAX_FOLDERS:]:
        with suppress(FileNotFoundError, BlockingIOError):
            _remove(folder)
    for folder in home.glob(f"{REMOVED}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _changed_at(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return 0


def _remove(folder: Path) -> None:
    """Rename a folder that no process holds: half of a world must not be left under its name."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder.rename(folder.with_name(f"{REMOVED}{folder.name}-{os.getpid()}"))
    finally:
        os.close(descriptor)
