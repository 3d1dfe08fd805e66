"""The cache of demo worlds: each is built once on a machine, into a private folder, and copied for each lab.

A folder is complete or not there: a builder renames its draft at the end. A lock file keeps a second builder waiting.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from attestlab import demos, migrations
from attestlab.core.crypto import keyring
from attestlab.core.version import VERSION

Build = Callable[[Path], None]

_DRAFT = "draft-"
_FINGERPRINT_CHARACTERS = 12


def copy_world(name: str, target: Path, build: Build, *, caches: Path | None = None) -> None:
    """Copy a world to `target`, which does not exist yet; build it first if the cache does not have it.

    Without a folder that is writable and private, the world is built at `target`.

    Args:
        name: what distinguishes the world from others of this version.
        build: fills the folder that it gets, which does not exist yet.
        caches: the folder of all caches; by default XDG_CACHE_HOME, or `.cache` in the home.
    """
    root = _open_root(find_caches() if caches is None else caches)
    if root is None:
        build(target)
        return
    cached = root / f"demo-{VERSION}-{name}-{_compute_fingerprint()}"
    if not cached.is_dir():
        with _lock(root, cached.name):
            if not cached.is_dir():
                _build_in(root, cached, build)
    shutil.copytree(cached, target)


def find_caches() -> Path:
    """Return the user's folder of caches (XDG Base Directory Specification)."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    return Path(chosen) if os.path.isabs(chosen) else Path("~/.cache").expanduser()


def _open_root(caches: Path) -> Path | None:
    """Make and check our folder of caches; None if another user could read it or change what is in it."""
    root = caches / "attestlab"
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = root.lstat()
    except (OSError, RuntimeError):
        return None
    is_private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return root if is_private and os.access(root, os.W_OK) else None


def _build_in(root: Path, cached: Path, build: Build) -> None:
    """Build a world as a draft and rename it; drafts of builders that were killed are removed."""
    for draft in root.glob(f"{_DRAFT}{cached.name}-*"):
        shutil.rmtree(draft, ignore_errors=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{_DRAFT}{cached.name}-", dir=root))
    try:
        build(draft / "world")
        (draft / "world").rename(cached)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def _lock(root: Path, name: str) -> Iterator[None]:
    """Hold the lock of a world; it ends with its process, however that ends."""
    file = os.open(root / f"{name}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _compute_fingerprint() -> str:
    """Fingerprint what a world depends on: the demo's code and files, the tables, and a key from the environment."""
    digest = hashlib.sha256()
    for package in (demos, migrations):
        for path in sorted(Path(package.__path__[0]).rglob("*")):
            if path.suffix in (".py", ".gz"):
                digest.update(path.name.encode() + b"\0" + path.read_bytes())
    digest.update(os.environ.get(keyring.ENVIRONMENT_NAME, "").encode())
    return digest.hexdigest()[:_FINGERPRINT_CHARACTERS]
