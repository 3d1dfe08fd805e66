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

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from attestlab.core import atomic_files
from attestlab.core.db.storage import Storage, ping
from attestlab.core.errors import NotFound, Unavailable

POSTGRESQL_LOCK = 0x61747465_6F636375  # any constant that no other lock of ours has
FILE_SUFFIX = ".lock"


class Occupancy:
    """A held lock; given back once, by `release` or at the end of `with`."""

    def __init__(self, release: Callable[[], None], *, renew: Callable[[], None] = lambda: None) -> None:
        self._release: Callable[[], None] | None = release
        self._renew = renew

    def renew(self) -> None:
        """Take the lock again where an outage of PostgreSQL ended the session that held it.

        Raises:
            Unavailable: another process holds the installation alone by now.
        """
        if self._release is not None:
            self._renew()

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
    if not storage.is_sqlite:
        session = _Session(storage, is_alone, refusal)
        return Occupancy(session.end, renew=session.renew)
    held = _file_lock(storage, is_alone)
    if held is None:
        raise _in_use(refusal)
    return held


def _in_use(refusal: str) -> Unavailable:
    return Unavailable(refusal, details={"reason": "installation_in_use"})


def _file_lock(storage: Storage, is_alone: bool) -> Occupancy | None:
    database = Path(storage.url.database or "")
    if not database.parent.is_dir():
        raise NotFound("installation in", database.parent)
    descriptor = atomic_files.open_private(database.with_name(database.name + FILE_SUFFIX), os.O_RDWR)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if is_alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return Occupancy(lambda: os.close(descriptor))


class _Session:
    """A session of its own in PostgreSQL that holds the lock until it ends."""

    def __init__(self, storage: Storage, is_alone: bool, refusal: str) -> None:
        self._storage = storage
        self._function = "pg_try_advisory_lock" if is_alone else "pg_try_advisory_lock_shared"
        self._refusal = refusal
        self._connection: Connection | None = None
        self._begin()

    def renew(self) -> None:
        """Begin another session where this one was lost."""
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
            with suppress(Exception):  # a session that was lost has given its lock back
                connection.invalidate()  # ends the session, and the lock with it
            connection.close()

    def _begin(self) -> None:
        self._connection = self._storage.session()
        try:
            is_held = self._connection.execute(text(f"SELECT {self._function}({POSTGRESQL_LOCK})")).scalar()
        except BaseException:
            self.end()
            raise
        if not is_held:
            self.end()
            raise _in_use(self._refusal)
