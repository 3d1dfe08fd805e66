"""The head of an HTTP/1.1 request, read strictly (RFC 9112; field grammar RFC 9110).

What two readers could frame differently is how requests are smuggled past a proxy, so
bare line feeds, folded fields, repeated lengths and every transfer coding but `chunked`
are refused rather than repaired.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, Never

from attestlab.core.errors import ValidationFailed

END_OF_HEAD = b"\r\n\r\n"

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_REQUEST_LINE = re.compile(rf"({_TOKEN}) ([\x21\x22\x24-\x7e]+) HTTP/1\.([01])")
_FIELD_LINE = re.compile(rf"^({_TOKEN}):([^\x00-\x08\x0a-\x1f\x7f]*)\r\n", re.MULTILINE)
_ABSOLUTE_TARGET = re.compile(r"https?://[^/?]+", re.IGNORECASE)
_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
_LONGEST_LENGTH = 15  # digits; a petabyte


class Head(NamedTuple):
    """What the client asked for, before its body."""

    method: str
    path: str  # as sent, percent-encoded
    query: str
    headers: Mapping[str, str]  # names in lower case; a repeated field is joined by ", "
    keep_alive: bool
    length: int | None  # bytes of the body; None: chunked, so not known
    awaits_continue: bool


def parse_head(raw: bytes) -> Head:
    """The request line and fields in `raw`, which ends before the empty line.

    Raises:
        ValidationFailed: it is not HTTP/1.1 as this module understands it.
    """
    line, _, fields = (raw + b"\r\n").decode("latin-1").partition("\r\n")
    start = _REQUEST_LINE.fullmatch(line)
    if start is None:
        refuse("the request line is not `METHOD target HTTP/1.1`")
    method, target, minor = start.groups()
    headers = _fields(fields)
    path, _, query = _origin_form(target).partition("?")
    modern = minor == "1"
    if modern and "," in headers.get("host", ","):
        refuse("there is not exactly one Host field")
    keep_alive = modern and "close" not in headers.get("connection", "").lower()
    awaits_continue = modern and headers.get("expect", "").lower() == "100-continue"
    return Head(method, path, query, headers, keep_alive, _length(headers, modern=modern), awaits_continue)


def refuse_bare_line_feed(raw: bytes | bytearray) -> None:
    """Refuse early what would otherwise wait for an end that its sender believes to have sent."""
    if _BARE_LINE_FEED.search(raw):
        refuse("a line ends in a bare line feed")


def refuse(why: str) -> Never:
    raise ValidationFailed(f"The request is not well-formed HTTP/1.1: {why}.")


def _fields(text: str) -> dict[str, str]:
    found = _FIELD_LINE.findall(text)
    if len(found) != text.count("\n"):
        refuse("a header line is not `name: value`")
    headers: dict[str, str] = {}
    for name, value in found:
        key, value = name.lower(), value.strip(" \t")
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


def _origin_form(target: str) -> str:
    """`/path?query`, also of a target in absolute form."""
    if target.startswith("/"):
        return target
    rest = _ABSOLUTE_TARGET.sub("", target, count=1)
    return rest if rest.startswith("/") else f"/{rest}"


def _length(headers: Mapping[str, str], *, modern: bool) -> int | None:
    coding, length = headers.get("transfer-encoding"), headers.get("content-length")
    if coding is not None:
        if length is not None or not modern or coding.lower() != "chunked":
            refuse("Transfer-Encoding can only be `chunked`, without Content-Length")
        return None
    if length is None:
        return 0
    if not (length.isascii() and length.isdecimal()) or len(length) > _LONGEST_LENGTH:
        refuse("Content-Length is not one plain number")
    return int(length)
