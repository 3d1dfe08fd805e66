"""One client's connection: serves its requests in sequence, answering each before it reads the next.

This is our own HTTP/1.1 reader on Tornado's `IOStream` instead of `tornado.http1connection`, for its promises on
framing: it answers malformed HTTP with our error envelope, rejects bare line feeds, and lets a client that is still
sending read its rejection (a lingering close, where a plain close would reset the connection). The measurements are in
docs/architecture/http.md. Tornado serves the paths that a `Fallback` takes: `_delegate`.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from math import inf
from typing import Protocol

from tornado.http1connection import HTTP1Connection, HTTP1ConnectionParameters
from tornado.httputil import HTTPConnection, HTTPMessageDelegate
from tornado.iostream import StreamClosedError

from attestlab.core.errors import AttestLabError, Unavailable
from attestlab.web import logging_setup
from attestlab.web.application import Application
from attestlab.web.http1.acceptor import ConnectionSlot
from attestlab.web.http1.pushback_stream import PushbackStream
from attestlab.web.http1.request_body import PIECE_BYTES, FixedBody, open_body, take_buffered
from attestlab.web.http1.request_head import (
    END_OF_HEAD,
    RequestHead,
    parse_head,
    reject,
    reject_bare_line_feed,
    rewrite_head,
)
from attestlab.web.request_handler import RequestHandler

HEAD_LIMIT_BYTES = 16 * 1024
MAX_UNSENT_BYTES = 128 * 1024  # of a streamed body in the kernel, so that a slow client is known as one
LINGER_LIMIT_BYTES = 256 * 1024 * 1024
_MIN_UPLOAD_BYTES_PER_S = 32 * 1024  # this many received bytes extend the deadline by a second
_YIELD_AFTER_BYTES = 4 * 1024  # after this many bytes, other connections run
_MIN_READ_BYTES = 1024  # a read counts as this many bytes at least, for the time that it takes
_CRLF = b"\r\n"
_RESET_AT_CLOSE, _CLOSE_AFTER_SENDING = struct.pack("ii", 1, 0), struct.pack("ii", 0, 0)  # of SO_LINGER
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_MALFORMED = RequestHead("", "", "", {}, keep_alive=False, length=0, awaits_continue=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Timeouts of a client, in seconds; a client that exceeds one is disconnected."""

    idle_s: float = 75  # between requests
    head_s: float = 10  # for a request's head, once it has begun
    body_s: float = 30  # for a body, plus a second for every 32 KiB received
    write_s: float = 30  # to receive a response
    linger_s: float = 5  # to read a rejection while still sending


@dataclass(frozen=True, slots=True)
class Peer:
    """The context that Tornado's handlers read from a connection."""

    remote_ip: str
    protocol: str = "http"


class Fallback(Protocol):
    """What Tornado's HTTP implementation serves on the same port: it chooses by path."""

    def takes(self, path: str) -> bool:
        """Whether it serves this path, instead of the application."""
        ...

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        """Begin to serve a request (`tornado.httputil.HTTPServerConnectionDelegate`)."""
        ...


class Connection:
    """Serves one socket until the client or the server closes it.

    `deadline` (in the event loop's time) is the time until which the connection waits for the client. The server polls
    it and closes the stream after it has passed; a timer per read would cost more than the read.
    """

    def __init__(
        self,
        application: Application,
        stream: PushbackStream,
        peer: Peer,
        timeouts: Timeouts,
        slot: ConnectionSlot,
        fallback: Fallback | None = None,
    ) -> None:
        self.buffer = bytearray()  # received bytes that were not read yet
        self.stream = stream
        self.slot = slot
        self.deadline = inf
        self.between_requests = True
        self.waits_for_request = True  # for its first byte, or for the rest of its head
        self.waiting_since = asyncio.get_running_loop().time()
        self.draining = False  # the server stops: finish the current request and accept no further one
        self._application = application
        self._peer = peer
        self._timeouts = timeouts
        self._fallback = fallback
        self._time = asyncio.get_running_loop().time
        self._remaining_s = 0.0  # how long the server still waits for the client
        self._owes_continue = False
        self._bytes_since_yield = 0
        stream.set_nodelay(True)

    async def serve(self) -> None:
        """Serve requests until the connection is closed; after each answer, other connections run.

        Otherwise a client whose next request is there already would be served again and again before the others.
        """
        try:
            while await self._serve_one():
                await self._yield_to_loop()
        except StreamClosedError:
            return  # the client disconnected or was too slow; commits stay
        except BaseException:
            self.stream.close()
            raise

    async def read_more(self) -> None:
        """Read more bytes into `buffer`, for the readers of heads and bodies."""
        if self._owes_continue:
            self._owes_continue = False
            await self.stream.write(_CONTINUE)
        began = self._time()
        self.deadline = began + self._remaining_s
        piece = await self.stream.read_bytes(PIECE_BYTES, partial=True)
        self.deadline = inf
        self._remaining_s += len(piece) / _MIN_UPLOAD_BYTES_PER_S - (self._time() - began)
        self.buffer += piece
        self._bytes_since_yield += max(len(piece), _MIN_READ_BYTES)
        if self._bytes_since_yield > _YIELD_AFTER_BYTES:
            await self._yield_to_loop()

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        """Call `callback` once the stream is closed, or immediately if it already is.

        Tornado detects a disconnect by reading ahead into its own buffer, where the next read begins. With a pipelined
        request in that buffer it stops reading, so a later disconnect is not noticed. A half-closed connection counts
        as disconnected, since the socket cannot tell them apart.
        """
        self.stream.set_close_callback(callback)
        if self.stream.closed():
            callback()

    async def _serve_one(self) -> bool:
        """Serve one request; return whether another may follow."""
        try:
            raw = await self._read_head()
            head = parse_head(raw)
        except AttestLabError as error:
            return await self._reject_malformed(error)
        self.waits_for_request = False
        if self._fallback is not None and self._fallback.takes(head.path):
            return await self._delegate(raw, head, self._fallback)
        self._owes_continue = head.awaits_continue
        self._remaining_s = self._timeouts.body_s
        body = open_body(head, self)
        handler = RequestHandler(self._application, head, body, self._peer.remote_ip, self.on_disconnect)
        await handler.run()
        self._owes_continue = False
        keep_open = body.discard_buffered() and head.keep_alive and not self.draining
        pieces = handler.take_pieces()
        keep_open = keep_open and (pieces is None or head.takes_chunks)
        await self._send(handler.response(close=not keep_open))
        if pieces is not None:
            await self._send_pieces(pieces, chunked=head.takes_chunks)
        return keep_open or await self._close_lingering(lingering=not body.is_finished)

    async def _read_head(self) -> bytes:
        self.between_requests = self.waits_for_request = True
        self.waiting_since = self._time()
        self._remaining_s = self._timeouts.idle_s
        if not self.buffer:
            await self.read_more()
        self.between_requests = False
        self._remaining_s = self._timeouts.head_s
        while (end := self.buffer.find(END_OF_HEAD, 0, HEAD_LIMIT_BYTES)) < 0:
            reject_bare_line_feed(self.buffer)
            if len(self.buffer) >= HEAD_LIMIT_BYTES:
                reject(f"its head exceeds {HEAD_LIMIT_BYTES} bytes")
            await self.read_more()
        return take_buffered(self, end + len(END_OF_HEAD))[:end].removeprefix(
            _CRLF
        )  # an empty line before the request line is ignored

    async def _reject_malformed(self, fault: AttestLabError) -> bool:
        handler = RequestHandler(
            self._application, _MALFORMED, FixedBody(self, 0), self._peer.remote_ip, self.on_disconnect
        )
        await handler.reject(fault)
        await self._send(handler.response(close=True))
        return await self._close_lingering(lingering=True)

    async def _delegate(self, raw: bytes, head: RequestHead, fallback: Fallback) -> bool:
        """Let Tornado's HTTP implementation, including websockets, answer this request."""
        try:
            with self.slot.count_delegation():
                return await self._delegate_to_tornado(raw, head, fallback)
        except Unavailable as error:
            return await self._reject_malformed(error)

    async def _delegate_to_tornado(self, raw: bytes, head: RequestHead, fallback: Fallback) -> bool:
        received = rewrite_head(raw, head) + bytes(self.buffer)
        self.buffer.clear()
        await self.stream.push_back(received)
        parameters = HTTP1ConnectionParameters(body_timeout=self._timeouts.body_s)
        connection = HTTP1Connection(self.stream, False, parameters, self._peer)
        return await connection.read_response(fallback.start_request(self, connection))

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[None]:
        """Give the client its time to take a part of a response that the fallback sends."""
        self.deadline = self._time() + self._timeouts.write_s
        yield
        self.deadline = inf

    async def _send(self, message: bytes) -> None:
        sent = self.stream.write(message)
        if not sent.done():
            self.deadline = self._time() + self._timeouts.write_s
            await sent
            self.deadline = inf

    async def _send_pieces(self, pieces: AsyncGenerator[bytes], *, chunked: bool) -> None:
        """Send a streamed body, each piece once the client has taken the one before; between pieces, others run.

        If a piece fails, the connection breaks off without the last chunk, so that the client notices. A body without
        chunks (HTTP/1.0, which many proxies speak) ends with the connection; so, until it is complete, whatever closes
        the connection resets it, also a kill of this process. The client would take a part for the whole otherwise.

        Raises:
            StreamClosedError: the client disconnected, was too slow, or a piece failed.
        """
        with suppress(AttributeError, OSError):  # not every system has it; what the kernel holds was not received yet
            self.stream.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, MAX_UNSENT_BYTES)
        if not chunked:
            self.reset_at_close()
        async with aclosing(pieces):
            try:
                async for piece in pieces:
                    await self._send(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked and piece else piece)
                    await self._yield_to_loop()
            except Exception as error:
                self.stream.close()
                if isinstance(error, StreamClosedError):
                    raise
                logging_setup.log_part_failure(error, part="streamed response")
                raise StreamClosedError(error) from error
        if chunked:
            await self._send(b"0\r\n\r\n")
        else:
            self._set_linger(_CLOSE_AFTER_SENDING)

    def reset_at_close(self) -> None:
        """Let the next close reset the connection, because its end would look like the end of the body."""
        self._set_linger(_RESET_AT_CLOSE)

    def _set_linger(self, linger: bytes) -> None:
        with suppress(AttributeError, OSError):  # the stream is closed
            self.stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    async def _close_lingering(self, *, lingering: bool) -> bool:
        """Close the connection; a client that is still sending may finish first, within limits.

        Closing a socket with unread bytes would reset the connection before the client has read the response.
        """
        if lingering or self.buffer:
            self.buffer.clear()
            self.deadline = self._time() + self._timeouts.linger_s
            with suppress(OSError):
                self.stream.socket.shutdown(socket.SHUT_WR)
            left = LINGER_LIMIT_BYTES
            while left > 0:
                left -= len(await self.stream.read_bytes(PIECE_BYTES, partial=True))
                await self._yield_to_loop()
        self.stream.close()
        return False

    async def _yield_to_loop(self) -> None:
        """Let the other connections run, because a read or write that need not wait does not."""
        self._bytes_since_yield = 0
        await asyncio.sleep(0)
