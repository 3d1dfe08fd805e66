"""Snapshots that several reads of one thread share on PostgreSQL, where each snapshot needs three messages.

The first read within `share` begins the snapshot, so each sees what was committed before the block began.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection

Cache = dict[Hashable, Any]
"""What was loaded from a snapshot; each key has its type."""


class Snapshots:
    """Opens the snapshots of a process's threads; within `share`, the reads of a thread have one."""

    def __init__(self, open_snapshot: Callable[[], Connection]) -> None:
        self._open_snapshot = open_snapshot
        self._local = threading.local()

    @contextmanager
    def share(self) -> Iterator[None]:
        """Let this thread's reads in the block share one snapshot."""
        self._local.shared = shared = _SharedSnapshot(self._open_snapshot)
        try:
            yield
        finally:
            self._local.shared = None
            shared.end()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a snapshot, or use the shared one."""
        shared = self._current()
        if shared is not None:
            yield shared.connection()
            return
        with self._open_snapshot() as connection:
            yield connection

    def cache_of(self, connection: Connection) -> Cache | None:
        """Return what was loaded from this thread's shared snapshot; None if `connection` is another one's."""
        shared = self._current()
        return shared.cache if shared is not None and shared.is_of(connection) else None

    def end_shared(self) -> None:
        """End this thread's shared snapshot, if there is one, because it will not see what the thread writes now."""
        shared = self._current()
        if shared is not None:
            shared.end()

    def _current(self) -> _SharedSnapshot | None:
        shared: _SharedSnapshot | None = getattr(self._local, "shared", None)
        return shared


class _SharedSnapshot:
    """The snapshot of a thread's current reads, begun by the first of them, and what they have loaded from it."""

    def __init__(self, open_snapshot: Callable[[], Connection]) -> None:
        self.cache: Cache = {}
        self._open_snapshot = open_snapshot
        self._connection: Connection | None = None

    def connection(self) -> Connection:
        if self._connection is not None and _has_failed(self._connection):
            self.end()
        if self._connection is None:
            self._connection = self._open_snapshot()
        return self._connection

    def is_of(self, connection: Connection) -> bool:
        return connection is self._connection

    def end(self) -> None:
        """End the snapshot; the next read begins another."""
        connection, self._connection = self._connection, None
        self.cache.clear()
        if connection is not None:
            connection.close()


def _has_failed(connection: Connection) -> bool:
    """Whether the connection is lost, or a statement failed, after which the transaction accepts no other."""
    from attestlab.core.db.postgresql import driver_of  # loads the driver, which SQLite does not need

    return connection.invalidated or driver_of(connection).info.transaction_status.name not in ("IDLE", "INTRANS")
