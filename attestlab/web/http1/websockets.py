"""Websockets on their way to another process: the handshake, the bound on handshakes of an address, and the relay.

A websocket is relayed byte for byte, so what a client sends over it is no request of ours any more. That begins only
after a complete handshake (RFC 6455, section 4.2.1) and the other process's 101; any other `Upgrade` is ignored
(RFC 9110, section 7.8).
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from binascii import Error as NotBase64
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from tornado.httputil import HTTPHeaders, RequestStartLine, ResponseStartLine
from tornado.iostream import IOStream, StreamClosedError

from attestlab.core.errors import Unavailable
from attestlab.web.rate_limit.client_address import rate_limit_key

HANDSHAKE_S: Final = 10.0
MAX_HANDSHAKES: Final = 64  # of one address at once
OPENING: Final = {"Connection": "Upgrade", "Upgrade": "websocket"}  # the headers of a handshake for one connection
_PIECE_BYTES: Final = 64 * 1024
_KEY_BYTES: Final = 16
_TOO_MANY: Final = f"{MAX_HANDSHAKES} websockets are being opened from your address, the limit. Try again."


class Handshakes:
    """The handshakes that clients have begun and not completed, counted by address."""

    def __init__(self) -> None:
        self._begun: Counter[str] = Counter()

    @contextmanager
    def begin(self, address: str) -> Iterator[None]:
        """Count a handshake while it lasts.

        Raises:
            Unavailable: the address has too many of them.
        """
        place = rate_limit_key(address)
        if self._begun[place] >= MAX_HANDSHAKES:
            raise Unavailable(_TOO_MANY)
        self._begun[place] += 1
        try:
            yield
        finally:
            self._begun[place] -= 1
            if not self._begun[place]:
                del self._begun[place]


def is_handshake(start_line: RequestStartLine, headers: HTTPHeaders) -> bool:
    """Whether a request is a complete handshake of a websocket (RFC 6455, section 4.2.1), without a body."""
    has_body = headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in headers
    return (
        (start_line.method, start_line.version, has_body) == ("GET", "HTTP/1.1", False)
        and "websocket" in _read_tokens(headers, "Upgrade")
        and "upgrade" in _read_tokens(headers, "Connection")
        and headers.get("Sec-WebSocket-Version") == "13"
        and _is_key(headers.get("Sec-WebSocket-Key", ""))
    )


def _read_tokens(headers: HTTPHeaders, name: str) -> set[str]:
    return {token.strip().lower() for token in headers.get(name, "").split(",")}


def _is_key(text: str) -> bool:
    try:
        return len(b64decode(text, validate=True)) == _KEY_BYTES
    except (NotBase64, ValueError):
        return False


def write_head(start_line: ResponseStartLine, headers: HTTPHeaders) -> bytes:
    """Write the head of the 101 as the client reads it."""
    lines = [f"HTTP/1.1 {start_line.code} {start_line.reason}", *(f"{n}: {v}" for n, v in headers.get_all())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def relay_bytes(client: IOStream, upstream: IOStream, head: bytes) -> None:
    """Send the client the head of the 101, and copy bytes in both directions until either side closes."""
    with suppress(StreamClosedError):
        await client.write(head)
        await asyncio.gather(_copy(client, upstream), _copy(upstream, client))
    client.close()
    upstream.close()


async def _copy(source: IOStream, target: IOStream) -> None:
    """Copy bytes until the source is closed, then close the target; after each piece, other connections run."""
    try:
        while True:
            await target.write(await source.read_bytes(_PIECE_BYTES, partial=True))
            await asyncio.sleep(0)
    except StreamClosedError:
        target.close()
