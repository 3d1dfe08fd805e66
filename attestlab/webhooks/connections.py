"""HTTP/1.1 connections to vetted addresses, bounded in bytes (RFC 9112, over TLS as RFC 9110 section 4.2.2 asks).

httpcore speaks HTTP on a stream that is opened here, to an address, so it resolves no name. Its own pool is not used:
a cancelled request can stay in it (httpcore 1.0.9, issue 1093), and here every deadline cancels a request.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from uuid import UUID

import httpcore

from attestlab.core.addresses import IPAddress
from attestlab.webhooks.addresses import ReceiverUrl

MAX_HEAD_BYTES = 16_384  # of one response as received, with interim responses; parsing them takes the most time
MAX_BODY_BYTES = 65_536
MAX_READ_BYTES = 2_048  # at once, so that parsing them keeps the event loop for about a millisecond
CONNECT_TIMEOUT_S = 1.0  # to each address but the last
IDLE_TTL_S = 4.0  # shorter than the 5 seconds after which many receivers close
MAX_IDLE_CONNECTIONS = 100
ROUNDS_OF_A_READ = 8  # of the event loop, in which a read returns what TLS and the streams below it hold


class ResponseTooLong(httpcore.ReadError):
    """The response has more than `MAX_HEAD_BYTES` before its body, or than `MAX_BODY_BYTES` after it."""


class BoundedStream(httpcore.AsyncNetworkStream):
    """A stream that bounds what is read of a response: its head from each request on, its body from `allow_body` on.

    `response_began` is whether a byte was read since the last request.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._remaining_bytes = MAX_HEAD_BYTES
        self.response_began = False

    def allow_body(self) -> None:
        """Allow `MAX_BODY_BYTES`, now that the head was read."""
        self._remaining_bytes = MAX_BODY_BYTES

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read up to `MAX_READ_BYTES`.

        Raises:
            ResponseTooLong: the response has reached its limit.
        """
        if self._remaining_bytes <= 0:
            raise ResponseTooLong
        received = await self._stream.read(min(max_bytes, MAX_READ_BYTES, self._remaining_bytes), timeout)
        self._remaining_bytes -= len(received)
        self.response_began = self.response_began or bool(received)
        return received

    async def has_unread_bytes(self) -> bool:
        """Whether bytes wait to be read, or the end of the connection; what it finds is lost."""
        reading = asyncio.create_task(self._stream.read(1))
        try:
            for _ in range(ROUNDS_OF_A_READ):
                await asyncio.sleep(0)
            return reading.done()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write a part of a request."""
        self._remaining_bytes = MAX_HEAD_BYTES
        self.response_began = False
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> object:
        """Return what the stream knows of its socket."""
        return self._stream.get_extra_info(info)


class EndpointConnection(httpcore.AsyncHTTP11Connection):
    """A connection that one endpoint uses, to one scheme, host name and port."""

    def __init__(self, endpoint_id: UUID, url: ReceiverUrl, stream: httpcore.AsyncNetworkStream) -> None:
        self.endpoint_id = endpoint_id
        self._bounded = BoundedStream(stream)
        super().__init__(_origin(url), self._bounded, keepalive_expiry=IDLE_TTL_S)

    @property
    def response_began(self) -> bool:
        """Whether the receiver has sent a byte since the last request."""
        return self._bounded.response_began

    async def is_reusable(self) -> bool:
        """Whether the receiver still listens, and has sent nothing after its last response.

        A second response to one request would otherwise answer the next request.
        """
        unparsed, _ = self._h11_state.trailing_data
        return not (unparsed or self.has_expired() or await self._bounded.has_unread_bytes())


class IdleConnections:
    """Connections that wait for the next request of the endpoint that they were opened for.

    Each endpoint has its own, even if tenants share a host: what a receiver sends unasked reaches no other endpoint.
    Belongs to one event loop.
    """

    def __init__(self, max_connections: int = MAX_IDLE_CONNECTIONS) -> None:
        self._max_connections = max_connections
        self._waiting: list[EndpointConnection] = []
        self._sweeping: asyncio.Task[None] | None = None

    async def take(self, endpoint_id: UUID, url: ReceiverUrl) -> EndpointConnection | None:
        """Take the endpoint's connection that was used last; returns None if none can be used again."""
        while (connection := self._pop(endpoint_id, url)) is not None:
            is_reusable = False
            try:
                is_reusable = await connection.is_reusable()
            finally:
                if not is_reusable:
                    await close_despite_cancellation(connection)
            if is_reusable:
                return connection
        return None

    def _pop(self, endpoint_id: UUID, url: ReceiverUrl) -> EndpointConnection | None:
        origin = _origin(url)
        for connection in reversed(self._waiting):
            if connection.endpoint_id == endpoint_id and connection.can_handle_request(origin):
                self._waiting.remove(connection)
                return connection
        return None

    async def give_back(self, connection: EndpointConnection) -> None:
        """Keep a connection if its response was read to the end and there is room; otherwise close it."""
        if not connection.is_idle() or len(self._waiting) >= self._max_connections:
            await close_despite_cancellation(connection)
            return
        self._waiting.append(connection)
        if self._sweeping is None or self._sweeping.done():
            self._sweeping = asyncio.create_task(self._close_expired())

    async def close(self) -> None:
        """Close them all."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        waiting, self._waiting = self._waiting, []
        for connection in waiting:
            await close_despite_cancellation(connection)

    async def _close_expired(self) -> None:
        """Close connections that no request has reused, until none is left."""
        while self._waiting:
            await asyncio.sleep(IDLE_TTL_S)
            expired = [each for each in self._waiting if each.has_expired()]
            self._waiting = [each for each in self._waiting if each not in expired]
            for connection in expired:
                await close_despite_cancellation(connection)


async def open_connection(
    endpoint_id: UUID, url: ReceiverUrl, addresses: Sequence[IPAddress], context: ssl.SSLContext
) -> EndpointConnection:
    """Connect to the first of these addresses that accepts; TLS verifies the host name of `url`.

    Raises:
        httpcore.ConnectError: none of them accepts, or the certificate is not valid for the host.
    """
    stream = await _connect(addresses, url.port)
    if url.scheme == "https":
        try:
            stream = await stream.start_tls(context, server_hostname=url.host)
        except BaseException:  # httpcore leaves it open if the handshake is cancelled
            await close_despite_cancellation(stream)
            raise
    return EndpointConnection(endpoint_id, url, stream)


def compose_request(url: ReceiverUrl, headers: Mapping[str, str], body: bytes) -> httpcore.Request:
    """Compose a POST request that accepts no content coding."""
    fields = {"Host": url.authority, "Accept": "*/*", "Accept-Encoding": "identity", **headers}
    fields["Content-Length"] = str(len(body))
    return httpcore.Request(
        "POST",
        httpcore.URL(scheme=url.scheme, host=url.host, port=url.port, target=url.target),
        headers=list(fields.items()),
        content=body,
    )


async def close_despite_cancellation(connection: EndpointConnection | httpcore.AsyncNetworkStream) -> None:
    """Close a connection, even if the delivery that used it is cancelled in the middle."""
    with suppress(Exception):  # it is of no use any more, in whatever state it was
        await asyncio.shield(asyncio.ensure_future(connection.aclose()))


def describe_failure(error: Exception) -> str:
    """Describe a failed connection or exchange, without any text that the receiver sent."""
    cause = _find_os_error(error)
    match error:
        case _ if isinstance(cause, ssl.SSLCertVerificationError):
            return f"The TLS certificate is not valid: {cause.verify_message}."
        case _ if isinstance(cause, ssl.SSLError):
            return "TLS cannot be established."
        case httpcore.ConnectError() if cause is not None:
            return f"The connection cannot be opened ({errno.errorcode.get(cause.errno or 0, 'unreachable')})."
        case ResponseTooLong():
            return f"The response has more than {MAX_HEAD_BYTES:,} bytes before its body."
        case httpcore.RemoteProtocolError() if error.__cause__ is not None:
            return "The response is not valid HTTP/1.1."
        case httpcore.LocalProtocolError():
            return "The request cannot be sent as HTTP/1.1."
        case _:
            return "The connection ended before a response."


def _find_os_error(error: BaseException) -> OSError | None:
    """Find the system's or TLS's own error behind those of the libraries."""
    found = error if isinstance(error, OSError) else None
    while error.__cause__ is not None:
        error = error.__cause__
        found = error if isinstance(error, OSError) else found
    return found


async def _connect(addresses: Sequence[IPAddress], port: int) -> httpcore.AsyncNetworkStream:
    """Connect to the first address that accepts; each but the last has `CONNECT_TIMEOUT_S`."""
    backend = httpcore.AnyIOBackend()
    for address in addresses[:-1]:
        with suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
            return await backend.connect_tcp(str(address), port, timeout=CONNECT_TIMEOUT_S)
    return await backend.connect_tcp(str(addresses[-1]), port)


def _origin(url: ReceiverUrl) -> httpcore.Origin:
    return httpcore.Origin(url.scheme.encode(), url.host.encode(), url.port)
