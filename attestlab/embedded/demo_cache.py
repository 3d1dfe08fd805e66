"""The cache of demo worlds: each is built once on a machine, into a private folder, and copied for each lab.

A world is complete or not there: a builder renames its draft at the end. Each world has a lock file, which a builder
holds alone and those who copy share; it ends with its process, however that ends. The newest worlds are kept.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Final

from attestlab.core.crypto import keyring
from attestlab.core.version import VERSION

Build = Callable[[Path], None]

MAX_WORLDS: Final = 6  # of some 70 MB
PACKAGE: Final = Path(__file__).parents[1]
LIBRARIES: Final = ("duckdb", "numpy", "pillow", "pyarrow", "sqlalchemy")  # that draw a world and write its files
_DRAFT = "draft-"
_LOCK = ".lock"
_FINGERPRINT_CHARACTERS = 12


def copy_world(name: str, target: Path, build: Build, *, caches: Path | None = None) -> None:
    """Copy a world to `target`, which is empty or does not exist; build it first if the cache does not have it.

    Without a folder that is writable and private, the world is built at `target`.

    Args:
        name: what distinguishes the world from others of these sources.
        build: fills the folder that it gets, which does not exist yet.
        caches: the folder of all caches; by default XDG_CACHE_HOME, or `.cache` in the home.
    """
    root = _open_root(find_caches() if caches is None else caches)
    if root is None:
        build(target)
        return
    cached = root / f"demo-{VERSION}-{name}-{compute_fingerprint()}"
    with _lock(cached, fcntl.LOCK_SH):
        if cached.is_dir():
            _copy(cached, target)
            return
    with _lock(cached, fcntl.LOCK_EX):
        if not cached.is_dir():
            _build_in(root, cached, build)
        _copy(cached, target)
    _remove_old(root)


def find_caches() -> Path:
    """Return the user's folder of caches (XDG Base Directory Specification)."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    return Path(chosen) if os.path.isabs(chosen) else Path("~/.cache").expanduser()


def compute_fingerprint(package: Path = PACKAGE) -> str:
    """Fingerprint what a world depends on: the package, the libraries, and a key from the environment."""
    versions = [platform.python_version(), *(metadata.version(library) for library in LIBRARIES)]
    digest = hashlib.sha256("\0".join([*versions, os.environ.get(keyring.ENVIRONMENT_NAME, "")]).encode())
    for path in list_sources(package):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"\0{path.relative_to(package)}\0{content}".encode())
    return digest.hexdigest()[:_FINGERPRINT_CHARACTERS]


def list_sources(package: Path) -> list[Path]:
    """List the files of a package, but for those that Python writes."""
    return sorted(path for path in package.rglob("*") if "__pycache__" not in path.parts and path.is_file())


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


def _copy(cached: Path, target: Path) -> None:
    shutil.copytree(cached, target, dirs_exist_ok=True)
    os.utime(cached)  # the worlds that were used last are kept


def _build_in(root: Path, cached: Path, build: Build) -> None:
    """Build a world as a draft and rename it, after those of builders that were killed are removed."""
    _remove_drafts(root, cached.name)
    draft = _make_draft(root, cached.name)
    try:
        build(draft / "world")
        (draft / "world").rename(cached)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _make_draft(root: Path, name: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"{_DRAFT}{name}-", dir=root))


def _remove_drafts(root: Path, name: str) -> None:
    for draft in root.glob(f"{_DRAFT}{name}-*"):
        shutil.rmtree(draft, ignore_errors=True)


def _remove_old(root: Path) -> None:
    """Remove all worlds but the newest, with what killed builders left of them; those in use are kept."""
    worlds = [file.with_suffix("") for file in root.glob(f"demo-*{_LOCK}")]
    for world in sorted(worlds, key=_read_time_of_use, reverse=True)[MAX_WORLDS:]:
        with suppress(BlockingIOError), _lock(world, fcntl.LOCK_EX | fcntl.LOCK_NB):
            if world.is_dir():
                world.rename(_make_draft(root, world.name) / "world")  # half of a world must not be left under its name
            _remove_drafts(root, world.name)
            _find_lock(world).unlink()


def _read_time_of_use(world: Path) -> float:
    """Return when a world was copied last; 0 if it is not built."""
    try:
        return world.stat().st_mtime
    except FileNotFoundError:
        return 0


def _find_lock(world: Path) -> Path:
    return world.with_name(f"{world.name}{_LOCK}")


@contextmanager
def _lock(world: Path, kind: int) -> Iterator[None]:
    """Hold the lock file of a world; repeats if another process removed the file in between.

    Raises:
        BlockingIOError: another process holds it, and `kind` has LOCK_NB.
    """
    while True:
        file = os.open(_find_lock(world), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, kind)
            if os.fstat(file).st_nlink:
                yield
                return
        finally:
            os.close(file)
