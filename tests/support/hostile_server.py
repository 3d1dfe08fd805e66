"""A host of other people that answers HTTP as its owner likes: encoded, endless, dripping, or with a redirect."""

from __future__ import annotations

import gzip
import itertools
import re
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache

from support.timeouts import WAIT_TIMEOUT_S

Answer = Callable[[bytes], Iterator[bytes]]  # from a request to the bytes that are sent one after another
BOMB_BYTES = 16 << 20  # of zeros, of which gzip in gzip leaves some 200 bytes
DRIP_INTERVAL_S = 0.05


@dataclass
class HostileServer:
    """`requests` are those that came, head and body; `sent_bytes` is what clients took of the answers."""

    url: str
    requests: list[bytes] = field(default_factory=list)
    sent_bytes: int = 0


@contextmanager
def serve_hostile_answers(answer: Answer) -> Iterator[HostileServer]:
    """Answer each connection once, in a separate thread, until left."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server, over = HostileServer(f"http://127.0.0.1:{listening.getsockname()[1]}"), threading.Event()
        accepting = threading.Thread(target=_accept, args=(listening, answer, server, over))
        accepting.start()
        try:
            yield server
        finally:
            over.set()
            listening.shutdown(socket.SHUT_RDWR)
            accepting.join(WAIT_TIMEOUT_S)


def _accept(listening: socket.socket, answer: Answer, server: HostileServer, over: threading.Event) -> None:
    with suppress(OSError):
        while True:
            accepted, _ = listening.accept()
            threading.Thread(target=_answer, args=(accepted, answer, server, over), daemon=True).start()


def _answer(accepted: socket.socket, answer: Answer, server: HostileServer, over: threading.Event) -> None:
    with accepted, suppress(OSError):
        request = _request(accepted)
        server.requests.append(request)
        for piece in answer(request):
            if over.is_set():
                return
            accepted.sendall(piece)
            server.sent_bytes += len(piece)


def _request(accepted: socket.socket) -> bytes:
    """A request, head and body."""
    with accepted.makefile("rb") as stream:
        head = b"".join(iter(stream.readline, b"\r\n"))
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        return head + b"\r\n" + stream.read(int(length[1]) if length else 0)


def make_answer(body: bytes, *fields: str, status: str = "200 OK") -> Answer:
    """One answer with these header fields."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *fields, "", ""]
    return lambda _request: iter(["\r\n".join(lines).encode() + body])


def compression_bomb(coding: str, *, status: str = "200 OK", unfolded_bytes: int = BOMB_BYTES) -> Answer:
    """A body of zeros in a content coding that one of `CODED` names."""
    return make_answer(ENCODERS[coding](unfolded_bytes), f"Content-Encoding: {coding}", status=status)


@cache
def _deflated(unfolded_bytes: int) -> bytes:
    return zlib.compress(bytes(unfolded_bytes))


@cache
def _gzipped(unfolded_bytes: int) -> bytes:
    return gzip.compress(bytes(unfolded_bytes))


ENCODERS: dict[str, Callable[[int], bytes]] = {
    "gzip": _gzipped,
    "gzip, gzip": lambda unfolded_bytes: gzip.compress(_gzipped(unfolded_bytes)),
    "deflate": _deflated,
    "br": lambda _: b"x",  # no decoder for it is installed, and the bytes must not be taken for the body either
    "GZIP": _gzipped,
    "identity, gzip": _gzipped,
}


def endless_chunks(_request: bytes) -> Iterator[bytes]:
    """Chunks of 64 KiB for as long as the client reads."""
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    yield from itertools.repeat(b"10000\r\n" + bytes(65536) + b"\r\n")


def endless_length(_request: bytes) -> Iterator[bytes]:
    """A body of a petabyte, of which as much is sent as the client reads."""
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 1125899906842624\r\n\r\n"
    yield from itertools.repeat(bytes(65536))


def endless_header(_request: bytes) -> Iterator[bytes]:
    """Header fields for as long as the client reads."""
    yield b"HTTP/1.1 200 OK\r\n"
    yield from (b"X-%d: %s\r\n" % (number, b"x" * 4000) for number in itertools.count())


def drip_answer(beginning: bytes, drip: bytes, *, drips: int = 400) -> Answer:
    """`beginning`, then `drips` times `drip`, one every `DRIP_INTERVAL_S`."""

    def drip_slowly(_request: bytes) -> Iterator[bytes]:
        yield beginning
        for _ in range(drips):
            threading.Event().wait(DRIP_INTERVAL_S)
            yield drip

    return drip_slowly
