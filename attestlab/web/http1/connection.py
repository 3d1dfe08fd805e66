"""One client's connection: its requests one after another, each answered before the next is read.

Our own reading of HTTP/1.1 on Tornado's `IOStream`, in place of `tornado.http1connection`, for
three things that one cannot do: answer malformed HTTP with our envelope, let a client that is
still sending read its refusal (a lingering close, where a plain one would reset the
connection under it), and spend a third of the time on a request. Whatever no route of ours
knows can still be answered by Tornado: `_delegate_to_tornado`.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import inf

from tornado.http1connection import HTTP1Connection, HTTP1ConnectionParameters
from tornado.httputil import HTTPServerConnectionDelegate
from tornado.iostream import IOStream, StreamClosedError

from attestlab.core.errors import AttestLabError
from attestlab.web.application import Application
from attestlab.web.http1.request_body import PIECE_BYTES, FixedBody, open_body, take_buffered
from attestlab.web.http1.request_head import END_OF_HEAD, RequestHead, parse_head, reject, reject_bare_line_feed
from attestlab.web.request_handler import RequestHandler

HEAD_LIMIT_BYTES = 16 * 1024
LINGER_LIMIT_BYTES = 256 * 1024 * 1024
_MIN_UPLOAD_BYTES_PER_S = 32 * 1024  # so many bytes that arrive earn a second more
_YIELD_AFTER_BYTES = 4 * 1024  # after so many, other connections get their turn
_CRLF = b"\r\n"
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_MALFORMED = RequestHead("", "", "", {}, keep_alive=False, length=0, awaits_continue=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long a client may take, in seconds; whoever takes longer is cut off."""

    idle_s: float = 75  # between requests
    head_s: float = 10  # for a request's head, once it has begun
    body_s: float = 30  # for a body, and a second more for every 32 KiB of it that arrive
    write_s: float = 30  # to take an answer
    linger_s: float = 5  # to read a refusal while still sending


@dataclass(frozen=True, slots=True)
class Peer:
    """The context that Tornado's handlers ask a connection for."""

    remote_ip: str
    protocol: str = "http"


class Connection:
    """Serves one socket until either side has had enough.

    `deadline` (in the loop's time) says until when the client is waited for. The server watches
    it and closes the stream when it has passed; a timer for each read would cost more than the read.
    """

    def __init__(
        self,
        application: Application,
        stream: IOStream,
        peer: Peer,
        timeouts: Timeouts,
        fallback: HTTPServerConnectionDelegate | None = None,
    ) -> None:
        self.buffer = bytearray()  # what has arrived and was not yet read
        self.stream = stream
        self.deadline = inf
        self.between_requests = True
        self.draining = False  # the server stops: the request in hand is answered and no further one
        self._application = application
        self._peer = peer
        self._timeouts = timeouts
        self._fallback = fallback
        self._time = asyncio.get_running_loop().time
        self._remaining_s = 0.0  # how long the client may still keep us waiting
        self._owes_continue = False
        self._bytes_since_yield = 0
        stream.set_nodelay(True)

    async def serve(self) -> None:
        """Answer every request; returns when the connection is done with."""
        try:
            while await self._serve_one():
                pass
        except StreamClosedError:
            return  # the client went away, or was too slow; what was committed stays
        except BaseException:
            self.stream.close()
            raise

    async def read_more(self) -> None:
        """Read on; for whoever reads the head or the body."""
        if self._owes_continue:
            self._owes_continue = False
            await self.stream.write(_CONTINUE)
        began = self._time()
        self.deadline = began + self._remaining_s
        piece = await self.stream.read_bytes(PIECE_BYTES, partial=True)
        self.deadline = inf
        self._remaining_s += len(piece) / _MIN_UPLOAD_BYTES_PER_S - (self._time() - began)
        self.buffer += piece
        self._bytes_since_yield += len(piece)
        if self._bytes_since_yield > _YIELD_AFTER_BYTES:
            await self._yield_to_loop()

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        """Call `callback` once the stream is closed, at once where it is; for whoever answers the request in hand.

        The stream listens for that by reading ahead, into its own buffer, where the next read begins. As soon as a
        further request waits there it reads no more, and a client that goes then is not missed. One that has only
        ended its sending counts as gone: to the socket the two look alike.
        """
        self.stream.set_close_callback(callback)
        if self.stream.closed():
            callback()

    async def _serve_one(self) -> bool:
        """Answer one request; whether another may follow."""
        try:
            raw = await self._read_head()
            head = parse_head(raw)
        except AttestLabError as error:
            return await self._reject_malformed(error)
        if self._fallback is not None and not self._application.router.has_path(head.path):
            return await self._delegate_to_tornado(raw, self._fallback)
        self._owes_continue = head.awaits_continue
        self._remaining_s = self._timeouts.body_s
        body = open_body(head, self)
        handler = RequestHandler(self._application, head, body, self._peer.remote_ip, self.on_disconnect)
        await handler.run()
        self._owes_continue = False
        keep_open = body.discard_buffered() and head.keep_alive and not self.draining
        await self._send(handler.response(close=not keep_open))
        return keep_open or await self._close_lingering(lingering=not body.is_finished)

    async def _read_head(self) -> bytes:
        self.between_requests = True
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
        )  # an empty line before it is passed over

    async def _reject_malformed(self, fault: AttestLabError) -> bool:
        handler = RequestHandler(
            self._application, _MALFORMED, FixedBody(self, 0), self._peer.remote_ip, self.on_disconnect
        )
        await handler.reject(fault)
        await self._send(handler.response(close=True))
        return await self._close_lingering(lingering=True)

    async def _delegate_to_tornado(self, raw: bytes, fallback: HTTPServerConnectionDelegate) -> bool:
        """Let Tornado's own machinery, websockets included, answer this one request."""
        _push_back(self.stream, raw + END_OF_HEAD + self.buffer)
        self.buffer.clear()
        parameters = HTTP1ConnectionParameters(body_timeout=self._timeouts.body_s)
        connection = HTTP1Connection(self.stream, False, parameters, self._peer)
        return await connection.read_response(fallback.start_request(self, connection))

    async def _send(self, message: bytes) -> None:
        sent = self.stream.write(message)
        if not sent.done():
            self.deadline = self._time() + self._timeouts.write_s
            await sent
            self.deadline = inf

    async def _close_lingering(self, *, lingering: bool) -> bool:
        """Close. A client that still sends is let finish, within bounds, for a close with unread bytes is a reset."""
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
        self._bytes_since_yield = 0
        await asyncio.sleep(0)


def _push_back(stream: IOStream, data: bytes) -> None:
    """Let the next read begin with `data`.

    Tornado has no public way to say so. Its buffer may hold more already, for a stream reads
    ahead, so the bytes go before that and nowhere else.
    """
    stream._read_buffer[:0] = data
    stream._read_buffer_size += len(data)
