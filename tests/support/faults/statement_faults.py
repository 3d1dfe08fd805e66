"""The whole server in the test's process, so that a test can act between two of its statements."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, event

from attestlab.installation import Installation
from attestlab.server import app
from attestlab.server.write_queue import WriteQueue
from attestlab.web.http1.server import Server
from support.timeouts import WAIT_TIMEOUT_S

STATEMENT = "before_cursor_execute"
COMMIT = "commit"
LOCKS = ("PRAGMA busy_timeout", "BEGIN IMMEDIATE", "pg_advisory_xact_lock")


@dataclass
class InProcessServer:
    """A server that runs on an event loop of this process."""

    url: str
    desk: WriteQueue
    loop: asyncio.AbstractEventLoop

    def wait_for_writes(self, count: int) -> None:
        """Wait until `count` keyed writes are at the desk."""
        deadline = time.monotonic() + WAIT_TIMEOUT_S
        while len(self.desk.in_flight) < count:
            assert time.monotonic() < deadline
            time.sleep(0.001)
        time.sleep(0.02)  # from their preparation to the queue


@contextmanager
def serve_in_process(lab: Installation) -> Iterator[InProcessServer]:
    """Serve `lab` on a thread's event loop."""
    ready, stop = threading.Event(), asyncio.Event()
    found: list[InProcessServer] = []
    sockets = app.listen("127.0.0.1", 0)

    async def serve() -> None:
        desk = WriteQueue(lab)
        found.append(InProcessServer(app.url_of(sockets, "127.0.0.1"), desk, asyncio.get_running_loop()))
        server = Server(app.build_application(lab, desk))
        server.add_sockets(sockets)
        ready.set()
        await stop.wait()
        await server.stop_gracefully(within_s=1)
        await desk.finish()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(WAIT_TIMEOUT_S)
    try:
        yield found[0]
    finally:
        found[0].loop.call_soon_threadsafe(stop.set)
        thread.join(WAIT_TIMEOUT_S)


def takes_write_lock(statement: str) -> bool:
    """Whether a statement is one by which a transaction becomes the one writer."""
    return any(lock in statement for lock in LOCKS)


class StatementCounter:
    """The statements of write transactions, counted as they are about to run; `fail` says what happens at which.

    The first of a transaction is the one by which it asks for the writer's lock; the last is its commit.
    """

    def __init__(self, lab: Installation, fail: Any) -> None:
        self.lab, self.fail = lab, fail
        self.seen: list[str] = []
        self._writing: Connection | None = None

    @contextmanager
    def watched(self) -> Iterator[StatementCounter]:
        engine = self.lab.storage.engine
        event.listen(engine, STATEMENT, self._statement)
        event.listen(engine, COMMIT, self._commit)
        try:
            yield self
        finally:
            event.remove(engine, STATEMENT, self._statement)
            event.remove(engine, COMMIT, self._commit)

    def _statement(self, connection: Connection, cursor: Any, statement: str, *_rest: Any) -> None:
        if takes_write_lock(statement):
            self._writing = connection
        if connection is self._writing:
            self._seen(statement, cursor)

    def _commit(self, connection: Connection) -> None:
        if connection is self._writing:
            self._seen(COMMIT, connection.connection.dbapi_connection)

    def _seen(self, statement: str, cursor: Any) -> None:
        self.seen.append(statement)
        self.fail(len(self.seen), statement, cursor)
