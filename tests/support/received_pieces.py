"""A connection of which a test has the bytes, for readers of bodies."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from attestlab.web.http1.request_body import RequestBody


class Pieces:
    """A byte source in pieces that ends like a connection."""

    def __init__(self, *pieces: bytes) -> None:
        self.buffer = bytearray()
        self._pieces = [piece for piece in pieces if piece]

    async def read_more(self) -> None:
        if not self._pieces:
            raise EOFError
        self.buffer += self._pieces.pop(0)


def read_whole_body(body: RequestBody) -> bytes:
    """Reads the whole body in pieces."""

    async def read() -> bytes:
        gathered = b""
        while piece := await body.read_chunk():
            gathered += piece
        return gathered

    return run(read())


def run(awaited: Coroutine[Any, Any, bytes]) -> bytes:
    """Returns the result of a coroutine that waits for nothing but its next turn."""
    try:
        while awaited.send(None) is None:
            pass
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    raise AssertionError("it waits")
