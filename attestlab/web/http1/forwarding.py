"""Forwards the requests below a path, and websockets, to another process of this service on this machine.

The other process listens on a private Unix socket. It trusts the headers that this one adds, so everything that a
client claims about addresses is replaced. Each request has a connection of its own, closed after the response.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, cast

from tornado.http1connection import HTTP1Connection, HTTP1ConnectionParameters
from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
    RequestStartLine,
    ResponseStartLine,
)
from tornado.iostream import IOStream, StreamClosedError

from attestlab.core.errors import Unavailable
from attestlab.web.rate_limit.client_address import ClientAddressResolver

MAX_BODY_BYTES: Final = 64 * 1024
MAX_RESPONSE_BYTES: Final = 1 << 40  # a download is streamed, so its size is no matter
_PIECE_BYTES: Final = 64 * 1024
# Headers of one connection (RFC 9110, section 7.6.1), and those by which proxies describe a client.
_OF_CONNECTION: Final = frozenset({"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"})
_OF_PROXIES: Final = frozenset(
    {"forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "x-scheme"}
)
_NOT_FORWARDED: Final = _OF_CONNECTION | _OF_PROXIES
_BROKEN_OFF: Final = "The dashboards ended while they answered; they start again. Try again."
_HEADERS: Final = {"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store", "Retry-After": "2"}

Connect = Callable[[], Awaitable[IOStream]]


class Forwarder(HTTPServerConnectionDelegate):
    """Forwards requests whose path is `prefix` or below it. `connect` opens a stream to the other process.

    If `connect` raises `Unavailable`, the client gets a 503 with its message.
    """

    def __init__(self, prefix: str, connect: Connect, addresses: ClientAddressResolver) -> None:
        self._prefix = prefix
        self._connect = connect
        self._addresses = addresses

    def takes(self, path: str) -> bool:
        """Whether a request for this path is forwarded."""
        return path == self._prefix or path.startswith(f"{self._prefix}/")

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        """Begin to forward a request."""
        peer = str(getattr(getattr(request_conn, "context", None), "remote_ip", ""))
        return ForwardedRequest(cast(HTTP1Connection, request_conn), self._connect, peer, self._addresses)


class ForwardedRequest(HTTPMessageDelegate):
    """A request on its way to the other process; Tornado calls it with the parts of the request."""

    def __init__(self, client: HTTP1Connection, connect: Connect, peer: str, addresses: ClientAddressResolver) -> None:
        self._client = client
        self._connect = connect
        self._peer = peer
        self._addresses = addresses
        self._upstream: HTTP1Connection | None = None
        self._refusal = ""
        self._relaying: asyncio.Task[None] | None = None

    async def headers_received(self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders) -> None:
        """Connect to the other process and send it the head; a websocket is relayed until either side closes it."""
        start_line = cast(RequestStartLine, start_line)
        try:
            stream = await self._connect()
        except Unavailable as error:
            self._refusal = str(error)  # sent after the body was read, so that the connection stays usable
            return
        if headers.get("Upgrade", "").lower() == "websocket":
            await self._tunnel(stream, start_line, headers)
            return
        parameters = HTTP1ConnectionParameters(max_body_size=MAX_RESPONSE_BYTES)
        self._upstream = HTTP1Connection(stream, True, parameters)
        self._client.set_close_callback(self._upstream.close)
        head = self._forwardable(headers)
        head["Connection"] = "close"
        await self._upstream.write_headers(start_line, head)

    async def data_received(self, chunk: bytes) -> None:
        """Send a part of the body."""
        if self._upstream is not None:
            await self._upstream.write(chunk)

    def finish(self) -> None:
        """Send the end of the request, and relay the response."""
        if self._upstream is not None:
            self._upstream.finish()
            self._relaying = asyncio.ensure_future(self._relay(self._upstream))
        elif self._refusal:
            self._relaying = asyncio.ensure_future(self._reject(self._refusal))

    def on_connection_close(self) -> None:
        """Close the connection to the other process: the client is gone."""
        if self._upstream is not None:
            self._upstream.close()

    async def _relay(self, upstream: HTTP1Connection) -> None:
        response = RelayedResponse(self._client)
        with suppress(StreamClosedError):
            await upstream.read_response(response)
        upstream.close()
        if not response.has_begun:
            await self._reject(_BROKEN_OFF)
        elif not response.is_complete:
            self._client.close()

    async def _tunnel(self, stream: IOStream, start_line: RequestStartLine, headers: HTTPHeaders) -> None:
        head = self._forwardable(headers)
        head["Connection"], head["Upgrade"] = "Upgrade", "websocket"
        lines = [f"{start_line.method} {start_line.path} HTTP/1.1", *(f"{n}: {v}" for n, v in head.get_all())]
        client = self._client.detach()
        with suppress(StreamClosedError):
            await stream.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
            await asyncio.gather(_copy(client, stream), _copy(stream, client))
        client.close()
        stream.close()

    def _forwardable(self, headers: HTTPHeaders) -> HTTPHeaders:
        """Return the headers for the other process: without those of this connection, with the client's address."""
        head = HTTPHeaders()
        for name, value in headers.get_all():
            if name.lower() not in _NOT_FORWARDED:
                head.add(name, value)
        head["X-Forwarded-For"] = self._addresses.client(self._peer, headers.get("X-Forwarded-For"))
        return head

    async def _reject(self, message: str) -> None:
        body = message.encode()
        headers = HTTPHeaders({**_HEADERS, "Content-Length": str(len(body))})
        with suppress(StreamClosedError):
            await self._client.write_headers(ResponseStartLine("HTTP/1.1", 503, "Service Unavailable"), headers, body)
            self._client.finish()


class RelayedResponse(HTTPMessageDelegate):
    """A response on its way back to the client."""

    def __init__(self, client: HTTP1Connection) -> None:
        self.has_begun = self.is_complete = False
        self._client = client

    async def headers_received(self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders) -> None:
        """Send the head."""
        self.has_begun = True
        head = HTTPHeaders()
        for name, value in headers.get_all():
            if name.lower() not in _OF_CONNECTION:
                head.add(name, value)
        await self._client.write_headers(cast(ResponseStartLine, start_line), head)

    async def data_received(self, chunk: bytes) -> None:
        """Send a part of the body, once the client has taken the one before."""
        await self._client.write(chunk)

    def finish(self) -> None:
        """End the response."""
        self.is_complete = True
        self._client.finish()

    def on_connection_close(self) -> None:
        """Leave the response incomplete: one side is gone, and the client's connection is closed then."""


async def _copy(source: IOStream, target: IOStream) -> None:
    """Copy bytes until the source is closed, then close the target."""
    try:
        while True:
            await target.write(await source.read_bytes(_PIECE_BYTES, partial=True))
    except StreamClosedError:
        target.close()
