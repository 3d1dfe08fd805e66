"""The other process of a `Forwarder`: a Tornado server on a Unix socket, behind a sample application."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tornado.web
import tornado.websocket
from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream
from tornado.netutil import bind_unix_socket

from attestlab.web.http1.forwarding import Connect, Forwarder
from attestlab.web.path_prefix import PathPrefixResolver
from attestlab.web.rate_limit.client_address import ClientAddressResolver
from support.sample_application import SampleServer, serve_sample_application
from support.timeouts import WAIT_TIMEOUT_S

LARGE = b"x" * 300_000


class Echo(tornado.web.RequestHandler):
    """Shows the request."""

    def get(self) -> None:
        self.write({"address": self.request.remote_ip, "headers": dict(self.request.headers.get_all())})

    def post(self) -> None:
        self.write(self.request.body)


class Slowly(tornado.web.RequestHandler):
    """Answers in pieces, and may break off."""

    async def get(self) -> None:
        for _ in range(int(self.get_argument("times", "3"))):
            self.write(LARGE)
            await self.flush()
        if self.get_argument("breaks", ""):
            assert self.request.connection is not None
            self.request.connection.close()  # type: ignore[attr-defined]  # of Tornado's HTTP1Connection


class Talk(tornado.websocket.WebSocketHandler):
    """Repeats what it hears."""

    def on_message(self, message: str | bytes) -> None:
        self.write_message(message if message != "bye" else "closing")
        if message == "bye":
            self.close(4001, "over")


@contextmanager
def serve_upstream(path: Path) -> Iterator[None]:
    """Serve the handlers above below /dash on this Unix socket."""
    ready, over = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        handlers = [("/dash/echo", Echo), ("/dash/slowly", Slowly), ("/dash/talk", Talk)]
        server = HTTPServer(tornado.web.Application(handlers), xheaders=True)
        server.add_socket(bind_unix_socket(str(path), mode=0o600))
        ready.set()
        await over.wait()
        server.stop()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(WAIT_TIMEOUT_S)
    yield
    loops[0].call_soon_threadsafe(over.set)
    thread.join(WAIT_TIMEOUT_S)


def connect_to(path: Path) -> Connect:
    """What opens a stream to the server on this Unix socket."""

    async def connect() -> IOStream:
        stream = IOStream(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        return await stream.connect(str(path))  # type: ignore[arg-type]  # a path, for a Unix socket

    return connect


@contextmanager
def serve_site(connect: Connect, **options: Any) -> Iterator[SampleServer]:
    """Serve the sample application, which forwards what is below /dash."""

    def make_fallback() -> Forwarder:
        """Make it on the server's loop."""
        addresses = ClientAddressResolver()
        return Forwarder("/dash", connect, addresses, PathPrefixResolver(addresses))

    with serve_sample_application(fallback=make_fallback, **options) as server:
        yield server
