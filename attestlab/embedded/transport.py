"""`EmbeddedTransport`: an httpx transport that runs each request in a `ServiceThread`, through the real handler."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import Future

import httpx

from attestlab.client.asynchronous.calls import wait_for_answer
from attestlab.embedded.service_thread import ServiceThread
from attestlab.web.http1.request_body import PIECE_BYTES
from attestlab.web.http1.request_head import RequestHead
from attestlab.web.request_handler import RequestHandler

_ADDRESS = "127.0.0.1"
_NOT_STORED = frozenset({"transfer-encoding"})  # the framing of a connection, of which there is none


class MemoryBody:
    """A request body that is in memory."""

    def __init__(self, content: bytes) -> None:
        self.bytes_read = 0
        self._content = content

    @property
    def is_finished(self) -> bool:
        """Whether the whole body was read."""
        return self.bytes_read == len(self._content)

    async def read_chunk(self) -> bytes:
        """Read the next bytes; empty bytes at the end."""
        piece = self._content[self.bytes_read : self.bytes_read + PIECE_BYTES]
        self.bytes_read += len(piece)
        return piece

    def discard_buffered(self) -> bool:
        """Discard the rest; the body is complete then."""
        self.bytes_read = len(self._content)
        return True


class PendingRequest:
    """A request that a thread waits for; if an interrupt or a cancelled verb ends the wait, so does its long work."""

    def __init__(self, service: ServiceThread, head: RequestHead, content: bytes) -> None:
        self._service = service
        self._callbacks: list[Callable[[], None]] = []
        self._handler = RequestHandler(service.application, head, MemoryBody(content), _ADDRESS, self._callbacks.append)

    def wait(self) -> tuple[bytes, AsyncGenerator[bytes] | None]:
        """Wait for the response: its head and body, and the pieces of a streamed body."""
        running = self._service.submit(self._run())
        try:
            return wait_for_answer(running)
        except BaseException:
            if not running.done():
                self._service.submit(self._disconnect())
            raise

    async def _run(self) -> tuple[bytes, AsyncGenerator[bytes] | None]:
        await self._handler.run()
        return self._handler.response(close=False), self._handler.take_pieces()

    async def _disconnect(self) -> None:
        """Do what a server does when the client disconnects: a write is completed, a simulation is cancelled."""
        for callback in self._callbacks:
            callback()


class PieceStream(httpx.SyncByteStream):
    """The pieces of a streamed body, each produced when the reader has taken the one before.

    The wait for a piece ends when the verb is cancelled that reads it; `close` then ends what produces the piece.
    """

    def __init__(self, service: ServiceThread, pieces: AsyncGenerator[bytes]) -> None:
        self._service = service
        self._pieces = pieces
        self._producing: asyncio.Task[bytes | None] | None = None

    def __iter__(self) -> Iterator[bytes]:
        while (piece := wait_for_answer(self._take())) is not None:
            yield piece

    def close(self) -> None:
        """Stop producing pieces."""
        self._service.submit(self._close()).result()

    def _take(self) -> Future[bytes | None]:
        return self._service.submit(self._next())

    async def _next(self) -> bytes | None:
        self._producing = asyncio.ensure_future(_take_next(self._pieces))
        return await self._producing

    async def _close(self) -> None:
        if self._producing is not None:
            self._producing.cancel()
            await asyncio.wait([self._producing])
        await self._pieces.aclose()


async def _take_next(pieces: AsyncGenerator[bytes]) -> bytes | None:
    return await anext(pieces, None)


class EmbeddedTransport(httpx.BaseTransport):
    """Runs requests in a service of this process; no port is open and no byte leaves it."""

    def __init__(self, service: ServiceThread) -> None:
        self._service = service

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Run a request and return its response."""
        content = request.read()
        message, pieces = PendingRequest(self._service, _read_head(request, len(content)), content).wait()
        status, headers, body = _split_message(message)
        if pieces is None:
            return httpx.Response(status, headers=headers, content=body, request=request)
        return httpx.Response(status, headers=headers, stream=PieceStream(self._service, pieces), request=request)


def _read_head(request: httpx.Request, length: int) -> RequestHead:
    path, _, query = request.url.raw_path.decode("ascii").partition("?")
    headers: dict[str, str] = {}
    for name, value in request.headers.multi_items():
        headers[name.lower()] = f"{headers[name.lower()]}, {value}" if name.lower() in headers else value
    return RequestHead(request.method, path, query, headers, keep_alive=True, length=length, awaits_continue=False)


def _split_message(message: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
    """Split a response into status, headers and body."""
    head, _, body = message.partition(b"\r\n\r\n")
    status_line, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(": ") for line in lines)
    headers = [(name, value) for name, _, value in pairs if name.lower() not in _NOT_STORED]
    return int(status_line.split(" ", 2)[1]), headers, body
