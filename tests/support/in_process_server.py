"""The true application in a thread of this process, over real HTTP: for stories in which the clock must move."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from tornado.netutil import bind_sockets

from attestlab.installation import Installation
from attestlab.server.app import build_application
from attestlab.server.write_queue import WriteQueue
from attestlab.web.http1.server import Server
from support import patient_http
from support.timeouts import WAIT_TIMEOUT_S

MAX_PAUSE_S = 0.2
"""Between two looks of `eventually`."""


@contextmanager
def serve_in_thread(lab: Installation, *, spoil: Callable[[WriteQueue], None] = lambda desk: None) -> Iterator[str]:
    """Serve an open installation on a free port; its address. `spoil` may break the desk first."""
    started, url = threading.Event(), ""
    over: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        nonlocal url
        desk = WriteQueue(lab)
        spoil(desk)
        server = Server(build_application(lab, desk))
        sockets = bind_sockets(0, "127.0.0.1", family=socket.AF_INET)
        server.add_sockets(sockets)
        url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
        over.append((asyncio.get_running_loop(), asyncio.Event()))
        started.set()
        await over[0][1].wait()
        await server.stop_gracefully(within_s=1)
        await desk.finish()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert started.wait(WAIT_TIMEOUT_S), "the server did not start"
    try:
        yield url
    finally:
        loop, event = over[0]
        loop.call_soon_threadsafe(event.set)
        thread.join(WAIT_TIMEOUT_S)


def wait_until(found: Callable[[], Any], wanted: Any) -> None:
    """Wait until `found()` is `wanted`: a verification is counted in the records after it is answered.

    The pauses grow, so that a long wait for a server does not use up the requests that the server allows a minute.
    """
    deadline, pause_s = time.monotonic() + WAIT_TIMEOUT_S, 0.005
    while (seen := found()) != wanted:
        assert time.monotonic() < deadline, f"still {seen!r}, not {wanted!r}"
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, MAX_PAUSE_S)


def make_client(url: str, *, key: str | None = None, token: str | None = None) -> httpx.Client:
    """A client with a key or a token, or with neither."""
    headers = {"X-API-Key": key} if key else {"Authorization": f"Bearer {token}"} if token else {}
    return patient_http.open_client(base_url=url, headers=headers)
