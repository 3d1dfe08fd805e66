"""The transport of webhooks: one POST to a receiver that may be hostile, bounded in time and bytes.

A delivery

- looks the name up once, checks all its addresses, and connects to one of these: a name that changes between a check
  and the connection (DNS rebinding) leads nowhere. If one address of a name is refused, so are all;
- verifies the certificate for the host name, uses no proxy or password from the environment, follows no redirect,
  stores no cookie, and decodes no content coding;
- reuses only connections of the same endpoint, and none on which the receiver has sent anything unasked;
- ends at a deadline that includes the look-up of the name, and reads a bounded part of the response.

Status line and headers are the receiver's response. The body is only for people: if it is slow, long or broken, the
delivery has been answered all the same, and a repetition would not change what the receiver did.

A receiver may close an idle connection while the next request is on its way. A request that ends so, before a byte of
a response, is sent again on a new connection (RFC 9112, section 9.3.1). It is the same attempt, with the same deadline.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, cast
from uuid import UUID

from attestlab.core.addresses import IPAddress
from attestlab.core.errors import Unavailable, ValidationFailed
from attestlab.webhooks.addresses import ReceiverUrl, is_acceptable, require_public_url
from attestlab.webhooks.host_resolution import (
    LOOKUP_TIMEOUT_S,
    HostResolver,
    NameNotResolved,
    PublicHostResolver,
    SystemHostResolver,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpcore

    from attestlab.webhooks.connections import BoundedStream, EndpointConnection, IdleConnections

DELIVERY_TIMEOUT_S: Final = LOOKUP_TIMEOUT_S
MAX_EXCERPT_BYTES = 1024
MAX_BODY_PIECES = 64  # that are read: a body in chunks of one byte would keep the event loop for tenths of a second
MAX_HEADERS = 64
MAX_HEADER_CHARACTERS = 1024
MAX_ADDRESSES = 4  # of a host name that are tried; all of them are vetted


class SendFailed(Unavailable):
    """The receiver did not respond: `reason` for people, after `elapsed_ms` milliseconds."""

    def __init__(self, reason: str, elapsed_ms: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.elapsed_ms = elapsed_ms


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A delivery attempt: of which endpoint, where to, and the headers and body that were signed."""

    endpoint_id: UUID
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


class ReceiverResponse(NamedTuple):
    """A receiver's response: headers by lowercase name, the beginning of the body as printable text."""

    status: int
    headers: Mapping[str, str]
    excerpt: str
    elapsed_ms: int

    @property
    def is_success(self) -> bool:
        """Whether the receiver has accepted the event: any 2xx status."""
        return 200 <= self.status < 300


class HttpTransport:
    """Sends deliveries; keeps connections open for a few seconds. Belongs to one event loop.

    `allow_private` also allows http and private networks, for trials. `dns_server` is `host:port` of a name server,
    None for the system's. `resolver`, `timeout_s` and `tls` replace the defaults.
    """

    def __init__(
        self,
        *,
        allow_private: bool = False,
        dns_server: str | None = None,
        resolver: HostResolver | None = None,
        timeout_s: float = DELIVERY_TIMEOUT_S,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allow_private = allow_private
        self._resolver = resolver or (SystemHostResolver() if allow_private else PublicHostResolver(dns_server))
        self._timeout_s = timeout_s
        self._tls = tls
        self._loading: asyncio.Future[_Client] | None = None

    async def send(self, request: OutgoingRequest) -> ReceiverResponse:
        """Send a request once, and return the response, whatever its status.

        Raises:
            SendFailed: the URL is not acceptable, or there was no response within the deadline.
        """
        loop = asyncio.get_running_loop()
        client = await self._load()
        started = loop.time()
        try:
            status, headers, excerpt = await self._exchange(client, request, started + self._timeout_s)
        except client.failures as error:
            raise SendFailed(self._describe(error), _milliseconds(loop.time() - started)) from error
        return ReceiverResponse(status, headers, excerpt, _milliseconds(loop.time() - started))

    async def close(self) -> None:
        """Close the connections that no delivery uses."""
        if self._loading is not None:
            await (await self._loading).idle.close()

    async def _exchange(
        self, client: _Client, request: OutgoingRequest, deadline: float
    ) -> tuple[int, dict[str, str], str]:
        url = require_public_url(request.url, allow_private=self._allow_private)
        async with asyncio.timeout_at(deadline):
            reused = await client.idle.take(request.endpoint_id, url)
        if reused is not None:
            try:
                return await _exchange_on(reused, client, url, request, deadline)
            except client.endings:
                if reused.response_began:
                    raise
        async with asyncio.timeout_at(deadline):
            connection = await self._connect(client, url, request.endpoint_id)
        return await _exchange_on(connection, client, url, request, deadline)

    async def _connect(self, client: _Client, url: ReceiverUrl, endpoint_id: UUID) -> EndpointConnection:
        from attestlab.webhooks.connections import open_connection  # loads httpcore; `_load` did so in a thread

        return await open_connection(endpoint_id, url, await self._vetted_addresses(url), client.tls)

    async def _vetted_addresses(self, url: ReceiverUrl) -> list[IPAddress]:
        """Resolve the host and vet all its addresses; IPv4 first, because more hosts can reach it.

        Raises:
            AddressNotAllowed: there is none, or one of them is not acceptable.
        """
        found = [url.address] if url.address is not None else await self._resolver.resolve(url.host)
        if not found or not all(is_acceptable(each, allow_private=self._allow_private) for each in found):
            raise AddressNotAllowed
        return sorted(set(found), key=lambda address: (address.version, int(address)))[:MAX_ADDRESSES]

    def _describe(self, error: Exception) -> str:
        from attestlab.webhooks.connections import describe_failure

        match error:
            case ValidationFailed():
                return error.message
            case TimeoutError():
                return f"No response within {self._timeout_s:g} seconds."
            case NameNotResolved():
                return "No name server resolved the host name in time."
            case AddressNotAllowed():
                return "The host name does not resolve, or not only to public addresses."
            case _:
                return describe_failure(error)

    async def _load(self) -> _Client:
        """Load the HTTP client in a thread at the first delivery: it takes some tenths of a second."""
        if self._loading is None:
            self._loading = asyncio.ensure_future(asyncio.to_thread(_load_client, self._tls))
        return await asyncio.shield(self._loading)


class AddressNotAllowed(Exception):
    """A host has no address, or one that is not acceptable; the two are not distinguished.

    A name may be resolvable in the operator's network only, and that is nothing that a tenant should learn.
    """


class _Client(NamedTuple):
    """What is loaded once: the idle connections, the TLS context, and the errors of a delivery.

    `endings` are those of a connection that ends, `failures` all of them.
    """

    idle: IdleConnections
    tls: ssl.SSLContext
    endings: tuple[type[Exception], ...]
    failures: tuple[type[Exception], ...]


def _load_client(tls: ssl.SSLContext | None) -> _Client:
    import httpcore

    from attestlab.webhooks.connections import IdleConnections

    context = tls or httpcore.default_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    endings = (httpcore.NetworkError, httpcore.RemoteProtocolError)
    client_errors = (*endings, httpcore.ProtocolError, httpcore.TimeoutException)
    # ValueError: a host name that TLS cannot encode.
    return _Client(IdleConnections(), context, endings, (*client_errors, *_DELIVERY_ERRORS, OSError, ValueError))


_DELIVERY_ERRORS = (ValidationFailed, NameNotResolved, AddressNotAllowed)


async def _exchange_on(
    connection: EndpointConnection, client: _Client, url: ReceiverUrl, request: OutgoingRequest, deadline: float
) -> tuple[int, dict[str, str], str]:
    """Send a request on a connection and read its response; then keep the connection for the endpoint, or close it."""
    from attestlab.webhooks.connections import compose_request

    try:
        async with asyncio.timeout_at(deadline):
            response = await connection.handle_async_request(compose_request(url, request.headers, request.body))
        headers = _select_headers(response.headers)
        body = await _read_beginning(response, deadline, client.failures)
    finally:
        await client.idle.give_back(connection)
    return response.status, headers, _excerpt(body, headers.get("content-encoding", "identity"))


async def _read_beginning(response: httpcore.Response, deadline: float, failures: tuple[type[Exception], ...]) -> bytes:
    """Read a body up to its end, the deadline, or a limit; returns its first bytes.

    A body that was read to its end leaves the connection to the next request.
    """
    beginning = bytearray()
    pieces = cast("AsyncGenerator[bytes, None]", response.aiter_stream())
    cast("BoundedStream", response.extensions["network_stream"]).allow_body()
    try:
        async with asyncio.timeout_at(deadline), aclosing(pieces):
            for _ in range(MAX_BODY_PIECES):
                beginning += (await anext(pieces))[: MAX_EXCERPT_BYTES - len(beginning)]
    except StopAsyncIteration:
        await response.aclose()
    except failures:  # the head was the receiver's response
        pass
    return bytes(beginning)


def _select_headers(fields: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the first headers by lowercase name, the first of each name, shortened and printable."""
    selected: dict[str, str] = {}
    for name, value in fields[:MAX_HEADERS]:
        selected.setdefault(name.decode("latin-1").lower(), _printable(value.decode("latin-1"))[:MAX_HEADER_CHARACTERS])
    return selected


def _excerpt(body: bytes, coding: str) -> str:
    """Return the beginning of a body as text of at most `MAX_EXCERPT_BYTES` in UTF-8."""
    if coding.strip().lower() not in ("", "identity"):
        return f"(not decoded: {coding[:40]})" if body else ""
    text = _printable(body.decode("utf-8", "replace"))
    return text.encode()[:MAX_EXCERPT_BYTES].decode("utf-8", "ignore")


def _printable(text: str) -> str:
    """Replace control, format and unassigned characters; white space becomes a blank or stays a new line.

    >>> _printable("tab\tbell\x07")
    'tab bell\ufffd'
    """
    return "".join(
        character if character.isprintable() or character == "\n" else " " if character.isspace() else "\ufffd"
        for character in text
    )


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
