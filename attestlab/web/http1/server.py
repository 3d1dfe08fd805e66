"""The HTTP server: accepts connections, enforces their deadlines, and stops without dropping a request."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable

from tornado.ioloop import PeriodicCallback

from attestlab.web.application import Application
from attestlab.web.http1.acceptor import Acceptor, ConnectionLimits, ConnectionSlot
from attestlab.web.http1.connection import Connection, Fallback, Peer, Timeouts
from attestlab.web.http1.pushback_stream import PushbackStream

_READ_CHUNK_BYTES = 32 * 1024
_BUFFER_LIMIT_BYTES = 1024 * 1024
_POLL_INTERVAL_S = 0.25  # how often deadlines are checked; the precision of all `Timeouts`
_IDLE_GRACE_S = 0.1
_ROOM_SHARE = 64  # to make room, the server closes one of this many connections
MAX_CONNECTIONS = 4096


class Server:
    """Serves an `Application`; `fallback` serves the paths that it takes, with Tornado's HTTP implementation.

    Speaks plain HTTP/1.1: TLS, and the client addresses that a proxy forwards, are the proxy's responsibility.
    """

    def __init__(
        self,
        application: Application,
        *,
        timeouts: Timeouts = Timeouts(),  # noqa: B008  frozen
        fallback: Fallback | None = None,
        limits: ConnectionLimits | None = None,
    ) -> None:
        self._application = application
        self._timeouts = timeouts
        self._fallback = fallback
        self._limits = limits or ConnectionLimits(MAX_CONNECTIONS, MAX_CONNECTIONS)
        self._listening: list[tuple[socket.socket, Acceptor]] = []
        self._connections: set[Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()  # the event loop itself keeps only weak references
        self._deadline_check = PeriodicCallback(self._close_expired, _POLL_INTERVAL_S * 1000)

    @property
    def open_connections(self) -> int:
        """The number of connected clients."""
        return len(self._connections)

    def add_sockets(self, sockets: Iterable[socket.socket]) -> None:
        """Listen on the sockets. Call within a running event loop."""
        for listening in sockets:
            self._listening.append((listening, Acceptor(listening, self._limits, self._accept, self._make_room)))
        if not self._deadline_check.is_running():
            self._deadline_check.start()

    def stop(self) -> None:
        """Stop accepting connections, and close the listening sockets."""
        while self._listening:
            listening, acceptor = self._listening.pop()
            acceptor.stop()
            listening.close()

    def _accept(self, accepted: socket.socket, address: object) -> None:
        """Serve a connection, or close it if its address has too many."""
        remote_ip = _remote_address(accepted, address)
        slot = self._limits.try_acquire(remote_ip)
        if slot is None:
            accepted.close()
            return
        task = asyncio.get_running_loop().create_task(self._serve(accepted, remote_ip, slot))
        self._tasks.add(task)
        task.add_done_callback(self._on_served)

    async def _serve(self, accepted: socket.socket, remote_ip: str, slot: ConnectionSlot) -> None:
        try:
            stream = PushbackStream(accepted, max_buffer_size=_BUFFER_LIMIT_BYTES, read_chunk_size=_READ_CHUNK_BYTES)
            peer = Peer(remote_ip)
            connection = Connection(self._application, stream, peer, self._timeouts, slot, self._fallback)
            self._connections.add(connection)
            try:
                await connection.serve()
            finally:
                self._connections.discard(connection)
        finally:
            slot.release()

    def _make_room(self) -> bool:
        """Close the connections of the address that holds most which have waited longest for a request.

        Returns whether it closed any. It closes several, since it looks at all connections.
        """
        holder = self._limits.find_largest_holder()
        waiting = [each for each in self._connections if each.slot.place == holder and each.waits_for_request]
        longest = sorted(waiting, key=lambda connection: connection.waiting_since)
        for connection in longest[: max(1, self._limits.total // _ROOM_SHARE)]:
            connection.stream.close()
        return bool(longest)

    def _on_served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.result()  # an unexpected exception is raised here, so that the event loop logs it

    async def stop_gracefully(self, *, within_s: float = 5) -> None:
        """Refuse new connections, finish the accepted requests, then close."""
        await asyncio.sleep(0)  # accept the connections that wait in the kernel's queue
        self.stop()
        for connection in self._connections:
            connection.draining = True
        loop = asyncio.get_running_loop()
        began = loop.time()
        while self._connections and loop.time() < began + within_s:
            # A request in transit still gets its response; an idle connection is closed.
            if loop.time() > began + _IDLE_GRACE_S:
                self._close(idle_only=True)
            await asyncio.sleep(0.01)
        self._close(idle_only=False)
        self._deadline_check.stop()
        self._application.close()

    def _close(self, *, idle_only: bool) -> None:
        for connection in list(self._connections):
            if connection.between_requests or not idle_only:
                connection.stream.close()

    def _close_expired(self) -> None:
        now = asyncio.get_running_loop().time()
        for connection in list(self._connections):
            if connection.deadline < now:
                connection.stream.close()


def _remote_address(connected: socket.socket, address: object) -> str:
    is_ip = connected.family in (socket.AF_INET, socket.AF_INET6)
    return str(address[0]) if is_ip and isinstance(address, tuple) else ""
