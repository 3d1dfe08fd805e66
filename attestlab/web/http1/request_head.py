"""Strict parser for the head of an HTTP/1.1 request (RFC 9112; field grammar RFC 9110).

Request smuggling relies on two parsers that frame a message differently. So bare line feeds, folded fields,
repeated lengths and every transfer coding but `chunked` are rejected rather than repaired.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import IPv6Address
from typing import NamedTuple, Never

from attestlab.core.errors import ValidationFailed

END_OF_HEAD = b"\r\n\r\n"

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_REQUEST_LINE = re.compile(rf"({_TOKEN}) ([\x21\x22\x24-\x7e]+) HTTP/1\.([01])")
_FIELD_LINE = re.compile(rf"^({_TOKEN}):([^\x00-\x08\x0a-\x1f\x7f]*)\r\n", re.MULTILINE)
_ABSOLUTE_FORM = re.compile(r"https?://([^/?]*)([/?].*)?", re.IGNORECASE)
# uri-host of RFC 3986 section 3.2.2 with an optional port, without the comma that would join two of them.
_HOST = re.compile(
    r"(?:\[(?P<literal>[0-9A-Fa-f:.]+)\]|(?:[A-Za-z0-9\-._~!$&'()*+;=]|%[0-9A-Fa-f]{2})+)(?::(?P<port>[0-9]{0,5}))?"
)
_MAX_PORT = 65_535
_HOST_FIELD = re.compile(r"^host:", re.IGNORECASE | re.MULTILINE)
_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
_MAX_LENGTH_DIGITS = 15  # digits; a petabyte


class RequestHead(NamedTuple):
    """The request line, fields and framing of a request, before its body."""

    method: str
    path: str  # as sent, percent-encoded
    query: str
    headers: Mapping[str, str]  # names in lower case; a repeated field is joined by ", "
    keep_alive: bool
    length: int | None  # bytes of the body; None: chunked, so not known
    awaits_continue: bool
    takes_chunks: bool = True  # not in HTTP/1.0


def parse_head(raw: bytes) -> RequestHead:
    """Parse the request line and fields in `raw`, which ends before the empty line.

    Raises:
        ValidationFailed: it is not HTTP/1.1 as this module accepts it.
    """
    line, _, fields = (raw + b"\r\n").decode("latin-1").partition("\r\n")
    start = _REQUEST_LINE.fullmatch(line)
    if start is None:
        reject("the request line is not `METHOD target HTTP/1.1`")
    method, target, minor = start.groups()
    headers = _parse_fields(fields)
    modern = minor == "1"
    _require_host(fields, headers, modern=modern)
    path, _, query = _origin_form(method, target).partition("?")
    keep_alive = modern and "close" not in headers.get("connection", "").lower()
    awaits_continue = modern and headers.get("expect", "").lower() == "100-continue"
    length = _body_length(headers, modern=modern)
    return RequestHead(method, path, query, headers, keep_alive, length, awaits_continue, takes_chunks=modern)


def rewrite_head(raw: bytes, head: RequestHead) -> bytes:
    """Return a parsed head for another reader of HTTP: with its target in origin-form, and the empty line."""
    target = f"{head.path}?{head.query}" if head.query else head.path
    request_line = f"{head.method} {target} HTTP/1.{int(head.takes_chunks)}"
    _, separator, fields = raw.partition(b"\r\n")
    return request_line.encode("latin-1") + separator + fields + END_OF_HEAD


def reject_bare_line_feed(raw: bytes | bytearray) -> None:
    """Reject a head with a bare line feed early: its sender believes the head is complete and would wait."""
    if _BARE_LINE_FEED.search(raw):
        reject("a line ends in a bare line feed")


def reject(why: str) -> Never:
    raise ValidationFailed(f"The request is not well-formed HTTP/1.1: {why}.")


def require_fields(lines: bytes) -> None:
    """Reject trailer lines, each with its line end, that are not fields.

    Raises:
        ValidationFailed: a line is not a field.
    """
    _parse_fields(lines.decode("latin-1"))


def _parse_fields(text: str) -> dict[str, str]:
    pairs = _FIELD_LINE.findall(text)
    if len(pairs) != text.count("\n"):
        reject("a header line is not `name: value`")
    headers: dict[str, str] = {}
    for name, value in pairs:
        key, value = name.lower(), value.strip(" \t")
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


def _require_host(fields: str, headers: Mapping[str, str], *, modern: bool) -> None:
    """Reject a request without exactly one valid Host field (RFC 9112 section 3.2); HTTP/1.0 may omit it."""
    count = len(_HOST_FIELD.findall(fields))
    if count > 1 or (modern and not count):
        reject("there is not exactly one Host field")
    host = headers.get("host", "")
    if host and not _is_host(host):
        reject("Host is not a host and an optional port")


def _is_host(text: str) -> bool:
    """Whether `text` is `uri-host [":" port]`.

    >>> [_is_host(text) for text in ("a.example:80", "[::1]", "[::1", "a b", "a:80:80", "a:99999", "user@a")]
    [True, True, False, False, False, False, False]
    """
    match = _HOST.fullmatch(text)
    if match is None or int(match["port"] or 0) > _MAX_PORT:
        return False
    return match["literal"] is None or _is_ipv6(match["literal"])


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def _origin_form(method: str, target: str) -> str:
    """Return `/path?query` of a target in origin-form or absolute-form (RFC 9112 section 3.2).

    For `OPTIONS *` it returns `/*`.
    """
    if target.startswith("/") and method != "CONNECT":
        return target
    if target == "*" and method == "OPTIONS":
        return "/*"
    match = _ABSOLUTE_FORM.fullmatch(target)
    if match is None or method == "CONNECT" or not _is_host(match[1]):
        reject("its target is neither a path nor an http URI; this server is no proxy")
    rest = match[2] or "/"
    return rest if rest.startswith("/") else f"/{rest}"


def _body_length(headers: Mapping[str, str], *, modern: bool) -> int | None:
    coding, length = headers.get("transfer-encoding"), headers.get("content-length")
    if coding is not None:
        if length is not None or not modern or coding.lower() != "chunked":
            reject("Transfer-Encoding can only be `chunked`, without Content-Length")
        return None
    if length is None:
        return 0
    if not (length.isascii() and length.isdecimal()) or len(length) > _MAX_LENGTH_DIGITS:
        reject("Content-Length is not one plain number")
    return int(length)
