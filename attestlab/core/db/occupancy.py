"""The installation lock: shared by all processes that have an installation open, or exclusive to one.

Every process that opens an installation takes the shared lock before it reads the
key-encryption key; `attestlab keyring rewrap` takes the exclusive one. On SQLite the lock is
a file next to the database. On PostgreSQL, which several machines share, it is an advisory
lock of a separate session. Both end with the process that holds them.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from attestlab.core import atomic_files
from attestlab.core.db.storage import Storage
from attestlab.core.db.unreachable import ping
from attestlab.core.errors import NoInstallation, Unavailable

POSTGRESQL_LOCK = 0x61747465_6F636375  # an arbitrary constant that no other lock of ours uses
FILE_SUFFIX = ".lock"


class Occupancy:
    """A held installation lock; released once, by `release` or at the end of `with`."""

    def __init__(self, release: Callable[[], None], *, renew: Callable[[], None] = lambda: None) -> None:
        self._release: Callable[[], None] | None = release
        self._renew = renew

    def renew(self) -> None:
        """Take the lock again if an outage of PostgreSQL ended the session that held it.

        Raises:
            Unavailable: another process has taken the exclusive lock first.
        """
        if self._release is not None:
            self._renew()

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
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
    """Take the shared lock of an installation.

    Raises:
        NoInstallation: the folder of the records does not exist.
        Unavailable: a process holds the exclusive lock.
    """
    return _take_lock(
        storage,
        is_exclusive=False,
        refusal="The keyring of this installation is being rewrapped. Retry when the rewrap has finished.",
    )


def hold_exclusively(storage: Storage) -> Occupancy:
    """Take the exclusive lock of an installation.

    Raises:
        Unavailable: a server or a command has the installation open.
    """
    return _take_lock(
        storage,
        is_exclusive=True,
        refusal="A server or another command has this installation open. Stop all, on every machine, and retry.",
    )


def _take_lock(storage: Storage, *, is_exclusive: bool, refusal: str) -> Occupancy:
    if not storage.is_sqlite:
        session = _Session(storage, is_exclusive, refusal)
        return Occupancy(session.end, renew=session.renew)
    occupancy = _lock_file(storage, is_exclusive)
    if occupancy is None:
        raise _in_use(refusal)
    return occupancy


def _in_use(refusal: str) -> Unavailable:
    return Unavailable(refusal, details={"reason": "installation_in_use"})


def _lock_file(storage: Storage, is_exclusive: bool) -> Occupancy | None:
    database = Path(storage.url.database or "")
    if not database.parent.is_dir():
        raise NoInstallation(database.parent)
    descriptor = atomic_files.open_private(database.with_name(database.name + FILE_SUFFIX), os.O_RDWR)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if is_exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return Occupancy(lambda: os.close(descriptor))


class _Session:
    """A separate PostgreSQL session that holds the lock until it ends."""

    def __init__(self, storage: Storage, is_exclusive: bool, refusal: str) -> None:
        self._storage = storage
        self._function = "pg_try_advisory_lock" if is_exclusive else "pg_try_advisory_lock_shared"
        self._refusal = refusal
        self._connection: Connection | None = None
        self._begin()

    def renew(self) -> None:
        """Begin another session if this one was lost."""
        try:
            if self._connection is not None:
                ping(self._connection)
                return
        except DBAPIError:
            self.end()
        self._begin()

    def end(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # a lost session has already released its lock
                connection.invalidate()  # ends the session, and the lock with it
            connection.close()

    def _begin(self) -> None:
        self._connection = self._storage.open_session()
        try:
            is_held = self._connection.execute(text(f"SELECT {self._function}({POSTGRESQL_LOCK})")).scalar()
        except BaseException:
            self.end()
            raise
        if not is_held:
            self.end()
            raise _in_use(self._refusal)
