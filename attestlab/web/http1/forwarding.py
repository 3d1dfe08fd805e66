"""Forwards the requests below a path, and websockets, to another process of this service on this machine.

The other process listens on a private Unix socket. It trusts the headers that this one adds, so everything that a
client claims about addresses is replaced. Each request has a new connection, closed after the response.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, NamedTuple, cast

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
from attestlab.core.path_prefix import FORWARDED_PREFIX
from attestlab.web.http1.connection import Connection
from attestlab.web.http1.websockets import HANDSHAKE_S, OPENING, Handshakes, is_handshake, relay_bytes, write_head
from attestlab.web.path_prefix import PathPrefixResolver
from attestlab.web.rate_limit.client_address import ClientAddressResolver

MAX_BODY_BYTES: Final = 64 * 1024
MAX_RESPONSE_BYTES: Final = 1 << 40  # a download is streamed, so its size is no matter
RESPONSE_S: Final = 300.0  # until the other process begins its response
_SWITCHING_PROTOCOLS: Final = 101
# Headers of one connection (RFC 9110, section 7.6.1), and those by which proxies describe a client.
_OF_CONNECTION: Final = frozenset({"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"})
_OF_PROXIES: Final = frozenset({"forwarded", "x-real-ip", "x-scheme"})
_OF_ANY_PROXY: Final = "x-forwarded-"  # for, host, port, prefix, proto, server and what else there may be
_NOT_FORWARDED: Final = _OF_CONNECTION | _OF_PROXIES
_SLOW: Final = f"The websocket was not opened within {HANDSHAKE_S:.0f} seconds. Try again."
_BROKEN_OFF: Final = "The dashboards ended while they answered; they start again. Try again."
_HEADERS: Final = {"Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store", "Retry-After": "2"}

Connect = Callable[[], Awaitable[IOStream]]


class ClientFacts(NamedTuple):
    """The address of a client, and the path prefix below which it reaches this service."""

    address: str
    path_prefix: str

    def as_headers(self) -> dict[str, str]:
        """The headers that state both; no prefix is no header."""
        prefix = {FORWARDED_PREFIX: self.path_prefix} if self.path_prefix else {}
        return {"X-Forwarded-For": self.address, **prefix}


class Forwarder(HTTPServerConnectionDelegate):
    """Forwards requests whose path is `prefix` or below it. `connect` opens a stream to the other process.

    If `connect` raises `Unavailable`, the client gets a 503 with its message.
    """

    def __init__(
        self, prefix: str, connect: Connect, addresses: ClientAddressResolver, path_prefixes: PathPrefixResolver
    ) -> None:
        self._prefix = prefix
        self._connect = connect
        self._addresses = addresses
        self._path_prefixes = path_prefixes
        self.handshakes = Handshakes()

    def takes(self, path: str) -> bool:
        """Whether a request for this path is forwarded."""
        return path == self._prefix or path.startswith(f"{self._prefix}/")

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        """Begin to forward a request."""
        peer = str(getattr(getattr(request_conn, "context", None), "remote_ip", ""))
        return ForwardedRequest(self, cast(Connection, server_conn), cast(HTTP1Connection, request_conn), peer)

    async def connect(self) -> IOStream:
        """Open a stream to the other process.

        Raises:
            Unavailable: it cannot be reached.
        """
        return await self._connect()

    def describe_client(self, peer: str, headers: HTTPHeaders) -> ClientFacts:
        """Return the facts about the client behind a peer that the other process gets."""
        return ClientFacts(
            self._addresses.client(peer, headers.get("X-Forwarded-For")),
            self._path_prefixes.resolve(peer, headers.get(FORWARDED_PREFIX)),
        )


class ForwardedRequest(HTTPMessageDelegate):
    """A request on its way to the other process; Tornado calls it with the parts of the request."""

    def __init__(self, forwarder: Forwarder, connection: Connection, client: HTTP1Connection, peer: str) -> None:
        self._forwarder = forwarder
        self._connection = connection
        self._client = client
        self._peer = peer
        self._upstream: HTTP1Connection | None = None
        self._refusal = ""
        self._relaying: asyncio.Task[None] | None = None

    async def headers_received(self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders) -> None:
        """Connect to the other process and send it the head; a websocket is relayed until either side closes it."""
        start_line = cast(RequestStartLine, start_line)
        client = self._forwarder.describe_client(self._peer, headers)
        try:
            if is_handshake(start_line, headers):
                await self._open_websocket(start_line, headers, client)
            else:
                self._upstream = await self._send_head(start_line, headers, client, {"Connection": "close"})
        except Unavailable as error:
            self._refusal = str(error)  # sent after the body was read, so that the connection stays usable

    async def _send_head(
        self, start_line: RequestStartLine, headers: HTTPHeaders, client: ClientFacts, own: dict[str, str]
    ) -> HTTP1Connection:
        stream = await self._forwarder.connect()
        parameters = HTTP1ConnectionParameters(max_body_size=MAX_RESPONSE_BYTES, header_timeout=RESPONSE_S)
        upstream = HTTP1Connection(stream, True, parameters)
        self._client.set_close_callback(upstream.close)
        with suppress(StreamClosedError):  # it may have ended, which its response shows
            await upstream.write_headers(start_line, make_forwardable(headers, {**own, **client.as_headers()}))
        return upstream

    async def _open_websocket(self, start_line: RequestStartLine, headers: HTTPHeaders, client: ClientFacts) -> None:
        """Ask the other process for a websocket, and relay it; another answer than 101 is an ordinary response."""
        response: RelayedResponse | None = None
        try:
            with self._forwarder.handshakes.begin(client.address):
                async with asyncio.timeout(HANDSHAKE_S):
                    upstream = await self._send_head(start_line, headers, client, OPENING)
                    upstream.finish()
                    response = RelayedResponse(self._client, self._connection, upstream)
                    await self._read_response(response)
        except TimeoutError:
            if response is None or not response.has_begun:
                raise Unavailable(_SLOW) from None
            self._client.close()
        if response.switched is not None:
            self._connection.slot.leave_address()
            await relay_bytes(self._client.detach(), *response.switched)

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
        await self._read_response(RelayedResponse(self._client, self._connection, upstream))

    async def _read_response(self, response: RelayedResponse) -> None:
        """Relay the response, unless it opens a websocket."""
        try:
            with suppress(StreamClosedError):
                await response.upstream.read_response(response)
        finally:
            if response.switched is None:
                response.upstream.close()
        if not response.has_begun:
            await self._reject(_BROKEN_OFF)
        elif response.switched is None and not response.is_complete:
            self._connection.reset_at_close()
            self._client.close()

    async def _reject(self, message: str) -> None:
        body = message.encode()
        headers = HTTPHeaders({**_HEADERS, "Content-Length": str(len(body))})
        with suppress(StreamClosedError):
            await self._client.write_headers(ResponseStartLine("HTTP/1.1", 503, "Service Unavailable"), headers, body)
            self._client.finish()


class RelayedResponse(HTTPMessageDelegate):
    """A response on its way back to the client, each part of which the client has to take in its time."""

    def __init__(self, client: HTTP1Connection, connection: Connection, upstream: HTTP1Connection) -> None:
        self.has_begun = self.is_complete = False
        self.upstream = upstream
        self.switched: tuple[IOStream, bytes] | None = None  # the stream of a 101, and its head for the client
        self._client = client
        self._connection = connection

    async def headers_received(self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders) -> None:
        """Send the head."""
        start_line = cast(ResponseStartLine, start_line)
        self.has_begun = True
        if start_line.code == _SWITCHING_PROTOCOLS:
            self.switched = self.upstream.detach(), write_head(start_line, headers)
            return
        head = HTTPHeaders()
        for name, value in headers.get_all():
            if name.lower() not in _OF_CONNECTION:
                head.add(name, value)
        head.add("Vary", FORWARDED_PREFIX)  # which the other process got, for redirects, cookies and pages
        async with self._connection.sending():
            await self._client.write_headers(start_line, head)

    async def data_received(self, chunk: bytes) -> None:
        """Send a part of the body, once the client has taken the one before."""
        async with self._connection.sending():
            await self._client.write(chunk)

    def finish(self) -> None:
        """End the response."""
        self.is_complete = True
        self._client.finish()

    def on_connection_close(self) -> None:
        """Leave the response incomplete: one side is gone, and the client's connection is closed then."""


def make_forwardable(headers: HTTPHeaders, own: dict[str, str]) -> HTTPHeaders:
    """Return the headers for the other process: without those of this connection and of proxies, with our own."""
    head = HTTPHeaders()
    for name, value in headers.get_all():
        if name.lower() not in _NOT_FORWARDED and not name.lower().startswith(_OF_ANY_PROXY):
            head.add(name, value)
    for name, value in own.items():
        head[name] = value
    return head
