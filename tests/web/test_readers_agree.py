"""What our reader of HTTP takes, h11 and Tornado read alike: method, target, fields, body, and where a request ends.

Requests are malformed at random, for a path of the application and for one of the fallback, with a second request
behind each. Our reader may refuse more than the others do.
"""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, cast

import h11
import pytest
from tornado.http1connection import HTTP1Connection
from tornado.httputil import HTTPHeaders, HTTPMessageDelegate, RequestStartLine, ResponseStartLine
from tornado.iostream import IOStream

from attestlab.core.errors import AttestLabError
from attestlab.web.http1.request_body import open_body
from attestlab.web.http1.request_head import END_OF_HEAD, parse_head, reject_bare_line_feed, rewrite_head
from support.raw_http import get_request
from support.received_pieces import Pieces, read_whole_body

COUNT, SEED = 2_000, 20_261_127
AFTER = get_request("/after")
LINES = ("GET {path} HTTP/1.1", "POST {path} HTTP/1.1", "HEAD {path} HTTP/1.1", "GET {path}?a=b HTTP/1.0")
FIELDS = (
    "Host: a.example",
    "Content-Length: 5",
    "Transfer-Encoding: chunked",
    "Connection: keep-alive",
    "X-Own: one, two",
    "Cookie: a=b; c=d",
    "Accept: */*",
    "Expect: 100-continue",
)
EXTENDED = "5;a=b\r\nhello\r\n0\r\nX-Trailer: a\r\n\r\n"
BODIES = ("", "hello", "5\r\nhello\r\n0\r\n\r\n", EXTENDED, "0\r\n\r\n")
JUNK = (
    "\r",
    "\n",
    "\r\n",
    "\t",
    " ",
    "\0",
    "\x0b",
    "\x85",
    "\xa0",
    "\xff",
    ":",
    ",",
    ";",
    '"',
    "+",
    "-",
    "_",
    "0",
    "x",
    "#",
    "%00",
)


class Reading(NamedTuple):
    """One request as a reader understands it."""

    method: str
    target: str
    fields: Mapping[str, str]
    body: bytes
    rest: bytes


def make_requests(path: str) -> Iterator[bytes]:
    """Yield requests of which some are whole, and most have up to three changed places."""
    chance = random.Random(SEED)
    for _ in range(COUNT):
        fields = [*FIELDS[:1], *chance.sample(FIELDS[1:], chance.randrange(4))]
        text = "\r\n".join([chance.choice(LINES).format(path=path), *fields, "", ""]) + chance.choice(BODIES)
        for _ in range(chance.randrange(4)):
            marks = [place for place, letter in enumerate(text) if letter in ":\r\n ;"]
            place = chance.choice([chance.choice(marks), chance.choice(marks) + 1, chance.randrange(len(text) + 1)])
            text = text[:place] + chance.choice(JUNK) + text[place + chance.randrange(2) :]
        yield text.encode("latin-1")


def read_with_h11(raw: bytes) -> Reading | None:
    """Read the first request, or None where it is refused or not whole."""
    reader = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
    reader.receive_data(raw)
    body = b""
    try:
        head = reader.next_event()
        if not isinstance(head, h11.Request):
            return None
        while isinstance(event := reader.next_event(), h11.Data):
            body += bytes(event.data)
        if not isinstance(event, h11.EndOfMessage):
            return None
    except h11.RemoteProtocolError:
        return None
    fields = join_fields((name.decode(), value.decode("latin-1")) for name, value in head.headers)
    return Reading(head.method.decode(), head.target.decode("latin-1"), fields, body, reader.trailing_data[0])


def join_fields(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Fields by their names in lower case; a repeated one is joined."""
    fields: dict[str, str] = {}
    for name, value in pairs:
        key = name.lower()
        fields[key] = f"{fields[key]}, {value}" if key in fields else value
    return fields


def read_as_the_service(raw: bytes) -> tuple[Reading, bytes] | None:
    """Read the first request with our reader; returns it with the bytes that the fallback would read."""
    end = raw.find(END_OF_HEAD)
    try:
        reject_bare_line_feed(raw[: max(end, 0)])
        lines = raw[:end].removeprefix(b"\r\n")
        head = parse_head(lines)
        arrived = Pieces()
        arrived.buffer += raw[end + len(END_OF_HEAD) :]
        body = read_whole_body(open_body(head, arrived))
    except (AttestLabError, EOFError):
        return None
    target = f"{head.path}?{head.query}" if head.query else head.path
    handed_on = rewrite_head(lines, head) + raw[end + len(END_OF_HEAD) :]
    return Reading(head.method, target, head.headers, body, bytes(arrived.buffer)), handed_on


class Recorder(HTTPMessageDelegate):
    """Notes what Tornado reads."""

    def __init__(self) -> None:
        self.start_line: RequestStartLine | None = None
        self.fields: dict[str, str] = {}
        self.body = b""
        self.is_complete = False

    def headers_received(self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders) -> None:
        self.start_line = cast(RequestStartLine, start_line)
        self.fields = join_fields(headers.get_all())

    def data_received(self, chunk: bytes) -> None:
        self.body += chunk

    def finish(self) -> None:
        self.is_complete = True


async def read_with_tornado(raw: bytes) -> Reading | None:
    """Read the first request, or None where it is refused or not whole."""
    ours, theirs = socket.socketpair()
    stream, recorder = IOStream(ours), Recorder()
    theirs.sendall(raw)
    theirs.shutdown(socket.SHUT_WR)
    connection = HTTP1Connection(stream, False)
    reading = asyncio.ensure_future(connection.read_response(recorder))
    while not (recorder.is_complete or reading.done()):
        await asyncio.sleep(0)
    rest = b""
    if recorder.is_complete:
        rest = await connection.detach().read_until_close()
    await reading
    stream.close()
    theirs.close()
    if recorder.start_line is None or not recorder.is_complete:
        return None
    return Reading(recorder.start_line.method, recorder.start_line.path, recorder.fields, recorder.body, rest)


@pytest.mark.parametrize("path", ["/healthz", "/dash/echo"])
def test_what_our_reader_takes_others_read_alike(path: str) -> None:
    """But that Tornado takes no chunk extensions and trailers: it refuses such a request, and closes."""
    taken = [ours for raw in make_requests(path) if (ours := read_as_the_service(raw + AFTER)) is not None]
    differences = []
    for reading, handed_on in taken:
        of_tornado = asyncio.run(read_with_tornado(handed_on))
        is_refused = of_tornado is None and (b"5;" in handed_on or b"X-Trailer" in handed_on)
        others = [read_with_h11(handed_on), *([] if is_refused else [of_tornado])]
        differences += [(handed_on, reading, other) for other in others if other != reading]

    assert COUNT / 10 < len(taken) < COUNT / 2
    assert not differences, differences[0]
