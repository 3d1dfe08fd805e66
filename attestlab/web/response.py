"""What handlers return, and responses: status, headers and body, and the only place that writes a response's head."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from attestlab.core.errors import AttestLabError

if TYPE_CHECKING:
    from attestlab.core.limits.rate_counters import Count

JSON = "application/json"
HTML = "text/html; charset=utf-8"
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}" for status in HTTPStatus}
# Forbids a browser that was lured to an API response to do anything with it. HTML pages send their own policy.
_PROTECTING = (
    ("Content-Security-Policy", "\r\nContent-Security-Policy: default-src 'none'; frame-ancestors 'none'"),
    ("Referrer-Policy", "\r\nReferrer-Policy: no-referrer"),
)
_WITHOUT_LENGTH = frozenset({204, 304})


class Response(NamedTuple):
    """A finished response; `body` is sent, and stored with an idempotency key, byte for byte."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    pieces: AsyncGenerator[bytes] | None = None  # of a body that is sent while it is produced; `body` is then empty


def save_as(file_name: str) -> dict[str, str]:
    """Build the header that lets a browser save a body as a file (RFC 6266); `file_name` is ASCII without quotes.

    >>> save_as("account.json")
    {'Content-Disposition': 'attachment; filename="account.json"'}
    """
    return {"Content-Disposition": f'attachment; filename="{file_name}"'}


def add_vary(response: Response, name: str) -> Response:
    """Return a response that a cache keeps apart by the value of a request header (RFC 9110, section 12.5.5)."""
    vary = ", ".join(filter(None, [response.headers.get("Vary"), name]))
    return response._replace(headers={**response.headers, "Vary": vary})


@dataclass(frozen=True, slots=True)
class RawResponse:
    """A route's result that is not a model: bytes as they are; `status` overrides the route's status."""

    body: bytes
    content_type: str
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int | None = None


@dataclass(frozen=True, slots=True)
class StreamedResponse:
    """A route's result that is sent in pieces as they are produced, so that it may be longer than memory.

    An error in a later piece breaks the connection off, because the status is sent already. Produce the first one
    before.
    """

    pieces: AsyncGenerator[bytes]
    content_type: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommittedError:
    """What the handler of a write returns to reject the request and keep its changes; raising would roll them back."""

    error: AttestLabError


def compose(
    answer: Response, *, request_id: str, date: str, rate: Count, close: bool, without_body: bool, chunked: bool = True
) -> bytes:
    """Serialize a response for the wire; `rate` is the tightest limit that applied to its request.

    The body of a streamed response follows in chunks, or up to the end of the connection if not `chunked`.

    Raises:
        ValueError: a header contains a line break or a character outside Latin-1.
    """
    fields = "".join([f"\r\n{name}: {value}" for name, value in answer.headers.items()])
    if fields.count("\n") != len(answer.headers) or fields.count("\r") != len(answer.headers):
        raise ValueError("A response header contains a line break.")
    if "Cache-Control" not in answer.headers:
        fields += "\r\nCache-Control: no-store"
    if answer.pieces is not None:
        fields += "\r\nTransfer-Encoding: chunked" if chunked else ""
    elif answer.status not in _WITHOUT_LENGTH:
        fields += f"\r\nContent-Length: {len(answer.body)}"
    for name, line in _PROTECTING:
        if name not in answer.headers:
            fields += line
    if close:
        fields += "\r\nConnection: close"
    head = (
        f"{_STATUS_LINES[answer.status]}\r\nDate: {date}\r\nX-Request-Id: {request_id}"
        f"\r\nX-Content-Type-Options: nosniff{_rate_fields(rate)}{fields}\r\n\r\n"
    ).encode("latin-1")
    return head if without_body else head + answer.body


def _rate_fields(rate: Count) -> str:
    """Format the rate limit headers, which every response carries (SPEC, Rate limit headers)."""
    return (
        f"\r\nX-RateLimit-Limit: {rate.limit}\r\nX-RateLimit-Remaining: {rate.remaining}"
        f"\r\nX-RateLimit-Reset: {math.ceil(rate.reset_at)}\r\nX-RateLimit-Policy: {rate.limit};w={rate.window_s}"
    )
