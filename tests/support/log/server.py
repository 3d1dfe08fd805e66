"""The routes of a log alone, over real HTTP in a thread."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tornado.netutil import bind_sockets

from attestlab.core.db.storage import Storage
from attestlab.core.limits.rate_counters import Counters
from attestlab.log import routes as log_routes
from attestlab.log.fsck_record import FSCK_RECORD, FsckRecord
from attestlab.log.service import Log
from attestlab.web.application import Application
from attestlab.web.executor import Executor
from attestlab.web.http1.server import Server
from attestlab.web.metrics import Metrics
from support.log.instance import LogInstance
from support.sample_application import make_unlimited_limiter
from support.timeouts import WAIT_TIMEOUT_S


async def _fail_write(*_: Any) -> Any:
    raise AssertionError("the log's routes only read")


@contextmanager
def serve_log(log_instance: LogInstance) -> Iterator[str]:
    """The log's routes on a free port; yields the address."""
    record = FsckRecord(log_instance.guard.path.with_name(FSCK_RECORD))
    site = Application(
        {Storage: log_instance.storage, Log: log_instance.log, FsckRecord: record},
        log_routes.routes,
        executor=Executor(_fail_write, reads_inline=log_instance.storage.is_sqlite),
        authenticate=lambda _call: None,
        execute_write=_fail_write,
        on_denied=_fail_write,
        on_blocked=_fail_write,
        limiter=make_unlimited_limiter(Counters.in_memory()),
        clock=log_instance.clock,
        metrics=Metrics(),
    )
    sockets = bind_sockets(0, "127.0.0.1", family=socket.AF_INET)
    over, started = asyncio.Event(), threading.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        server = Server(site)
        server.add_sockets(sockets)
        started.set()
        await over.wait()
        await server.stop_gracefully(within_s=1)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert started.wait(WAIT_TIMEOUT_S)
    try:
        yield f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(WAIT_TIMEOUT_S)
        loop.close()
