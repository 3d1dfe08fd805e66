"""A TCP proxy before a real PostgreSQL that can fall silent, cut its connections, and come back.

Silent means without an end: no FIN, no RST. The proxy's kernel confirms every byte, and nothing arrives. That is the
worst kind of outage, because no keepalive notices it.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

from support.timeouts import WAIT_TIMEOUT_S

SOCKET_NAME = ".s.PGSQL.5432"


class TcpProxy:
    """Forwards between clients and one server, in a separate thread; `port` is where it listens, with `tls` for TLS."""

    def __init__(self, upstream: str, tls: ssl.SSLContext | None = None) -> None:
        self._upstream = upstream  # the path of a Unix socket
        self._loop = asyncio.new_event_loop()
        self._speaks = asyncio.Event()
        self._speaks.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._deaf: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls))
        self.port: int = self._server.sockets[0].getsockname()[1]

    def fall_silent(self) -> None:
        """Forward nothing more, on no connection, and answer no new one; keep them all open."""
        self._call(self._speaks.clear)

    def drop_connections(self) -> None:
        """Forward nothing more on the connections that there are, as a firewall that forgot them; new ones work."""
        self._call(lambda: self._deaf.update(self._writers))

    def come_back(self) -> None:
        """Forward again, also what was held back."""
        self._call(self._speaks.set)

    def cut(self) -> None:
        """Close every connection."""
        self._call(lambda: [writer.close() for writer in self._writers])

    def close(self) -> None:
        """End the proxy with all its connections."""
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT_TIMEOUT_S)
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)  # transports close in the loop's next round

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WAIT_TIMEOUT_S)

    def _call(self, function: Any) -> None:
        async def call() -> None:
            function()

        self._run(call())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with suppress(asyncio.CancelledError):  # the proxy ends
            await self._speaks.wait()
            await self._connect(reader, writer)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_unix_connection(self._upstream)
        await self._relay(reader, writer, there, back)

    async def _relay(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        there: asyncio.StreamReader,
        back: asyncio.StreamWriter,
    ) -> None:
        self._writers.add(back)
        with suppress(ConnectionError):
            await asyncio.gather(self._forward(reader, back), self._forward(there, writer))
        self._writers -= {writer, back}

    async def _forward(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                await self._speaks.wait()
                if target in self._deaf:
                    await asyncio.Event().wait()
                target.write(data)
                await target.drain()
        finally:
            target.close()


@contextmanager
def proxy_database(url: str) -> Iterator[tuple[TcpProxy, str]]:
    """A proxy before the server of a database, and the URL of the database through the proxy."""
    parts = urlsplit(url)
    folder = parse_qs(parts.query)["host"][0]
    proxy = TcpProxy(f"{folder}/{SOCKET_NAME}")
    try:
        yield proxy, f"postgresql://{parts.username}:@127.0.0.1:{proxy.port}{parts.path}"
    finally:
        proxy.close()
