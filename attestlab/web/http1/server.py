"""The server: listens, keeps the time of its connections, and stops without dropping a request."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from tornado.httputil import HTTPServerConnectionDelegate
from tornado.ioloop import PeriodicCallback
from tornado.iostream import IOStream
from tornado.tcpserver import TCPServer

from attestlab.web.application import Application
from attestlab.web.http1.acceptor import Accepting, Room
from attestlab.web.http1.connection import Connection, Peer, Timeouts

_READ_CHUNK_BYTES = 32 * 1024
_BUFFER_LIMIT_BYTES = 1024 * 1024
_POLL_INTERVAL_S = 0.25  # how often connections are looked at; the precision of every `Timeouts`
_LAST_WORD_S = 0.1
MAX_CONNECTIONS = 4096


class Server(TCPServer):
    """Serves a `Application`; `otherwise`, a Tornado application, answers the paths that it does not know.

    Speaks plain HTTP/1.1: TLS, and the addresses that a proxy forwards, are the proxy's business.
    """

    def __init__(
        self,
        site: Application,
        *,
        patience: Timeouts = Timeouts(),  # noqa: B008  frozen
        otherwise: HTTPServerConnectionDelegate | None = None,
        room: Room | None = None,
    ) -> None:
        super().__init__(max_buffer_size=_BUFFER_LIMIT_BYTES, read_chunk_size=_READ_CHUNK_BYTES)
        self._site = site
        self._patience = patience
        self._otherwise = otherwise
        self._room = room or Room(MAX_CONNECTIONS, MAX_CONNECTIONS)
        self._connections: set[Connection] = set()
        self._glance = PeriodicCallback(self._cut_the_slow, _POLL_INTERVAL_S * 1000)

    @property
    def open_connections(self) -> int:
        """How many clients are connected."""
        return len(self._connections)

    def add_sockets(self, sockets: Any) -> None:
        """Listen; from within a running event loop."""
        for listening in sockets:
            self._sockets[listening.fileno()] = listening
            self._handlers[listening.fileno()] = Accepting(listening, self._room, self._enter).stop
        if not self._glance.is_running():
            self._glance.start()

    async def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        """Serve a new connection; called by Tornado."""
        remote_ip = _remote_ip(stream.socket, address)
        connection = Connection(self._site, stream, Peer(remote_ip), self._patience, self._otherwise)
        self._connections.add(connection)
        try:
            await connection.serve()
        finally:
            self._connections.discard(connection)
            self._room.leave(remote_ip)

    def _enter(self, accepted: socket.socket, address: Any) -> None:
        """Serve a connection that there is room for; close it where its address has too many."""
        if self._room.enter(_remote_ip(accepted, address)):
            self._handle_connection(accepted, address)
        else:
            accepted.close()

    async def stop_gracefully(self, *, within_s: float = 5) -> None:
        """Refuse new connections, finish the requests that were accepted, close."""
        await asyncio.sleep(0)  # connections that the kernel has already accepted become ours
        self.stop()
        for connection in self._connections:
            connection.last = True
        loop = asyncio.get_running_loop()
        began = loop.time()
        while self._connections and loop.time() < began + within_s:
            # A request that is on its way still gets its answer; who sends nothing is let go.
            if loop.time() > began + _LAST_WORD_S:
                self._close(idle_only=True)
            await asyncio.sleep(0.01)
        self._close(idle_only=False)
        self._glance.stop()
        self._site.close()

    def _close(self, *, idle_only: bool) -> None:
        for connection in list(self._connections):
            if connection.between_requests or not idle_only:
                connection.stream.close()

    def _cut_the_slow(self) -> None:
        now = asyncio.get_running_loop().time()
        for connection in list(self._connections):
            if connection.deadline < now:
                connection.stream.close()


def _remote_ip(connected: socket.socket, address: Any) -> str:
    return str(address[0]) if connected.family in (socket.AF_INET, socket.AF_INET6) else ""
