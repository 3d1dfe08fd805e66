"""Who has an installation open: many processes at once, or one alone.

Every process that opens an installation holds it shared from before it reads the
key-encryption key; `attestlab keyring rewrap` holds it alone. The lock is a file beside
an SQLite database, and an advisory lock of its own session in PostgreSQL, where several
machines meet. Both end with the process that holds them.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from sqlalchemy import text

from attestlab.core import folders
from attestlab.core.errors import NotFound, Unavailable
from attestlab.core.storage import Storage

POSTGRESQL_LOCK = 0x61747465_6F636375  # any constant that no other lock of ours has
FILE_SUFFIX = ".lock"


class Occupancy:
    """A held lock; given back once, by `release` or at the end of `with`."""

    def __init__(self, release: Callable[[], None]) -> None:
        self._release: Callable[[], None] | None = release

    def release(self) -> None:
        """Give the lock back; a second time does nothing."""
        release, self._release = self._release, None
        if release is not None:
            release()

    def __enter__(self) -> Occupancy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def share(storage: Storage) -> Occupancy:
    """Hold an installation together with others.

    Raises:
        NotFound: the folder of the records does not exist.
        Unavailable: a process holds it alone.
    """
    return _held(storage, is_alone=False, refusal="The keyring of this installation is being rewrapped; wait for it.")


def hold_alone(storage: Storage) -> Occupancy:
    """Hold an installation alone.

    Raises:
        Unavailable: a server or a command has it open.
    """
    return _held(
        storage,
        is_alone=True,
        refusal="A server or another command has this installation open; stop every one, on every machine, and repeat.",
    )


def _held(storage: Storage, *, is_alone: bool, refusal: str) -> Occupancy:
    held = (_file_lock if storage.is_sqlite else _session_lock)(storage, is_alone)
    if held is None:
        raise Unavailable(refusal, details={"reason": "installation_in_use"})
    return held


def _file_lock(storage: Storage, is_alone: bool) -> Occupancy | None:
    database = Path(storage.url.database or "")
    if not database.parent.is_dir():
        raise NotFound("installation in", database.parent)
    descriptor = folders.open_private(database.with_name(database.name + FILE_SUFFIX), os.O_RDWR)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if is_alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return Occupancy(lambda: os.close(descriptor))


def _session_lock(storage: Storage, is_alone: bool) -> Occupancy | None:
    connection = storage.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    function = "pg_try_advisory_lock" if is_alone else "pg_try_advisory_lock_shared"
    is_held = connection.execute(text(f"SELECT {function}({POSTGRESQL_LOCK})")).scalar()

    def release() -> None:
        with suppress(Exception):  # a session that was lost has given its lock back
            connection.invalidate()  # ends the session, and the lock with it
        connection.close()

    if not is_held:
        release()
        return None
    return Occupancy(release)
