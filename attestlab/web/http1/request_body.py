"""The body of a request as it arrives: by length, or in chunks (RFC 9112 sections 6 and 7).

A body is read only on demand, so a request can be rejected before the client has sent a byte of its body.
"""

from __future__ import annotations

import asyncio
import re
from typing import Protocol

from attestlab.web.http1.request_head import RequestHead, reject, require_fields

PIECE_BYTES = 64 * 1024
# Limit for size lines, extensions and trailers of a body: tiny chunks cost far more to read than to send.
FRAMING_LIMIT_BYTES = 4 * 1024 * 1024
_MAX_LINE_BYTES = 4096
_LINES_PER_TURN = 256  # sizes, ends of chunks and trailers; after half a millisecond of them, other connections run
_CRLF = b"\r\n"
_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]++"
# chunk-ext of RFC 9112 section 7.1.1; blanks are allowed only around ";" and "=".
_QUOTED = rb'"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*+"'
_VALUE = rb"(?:[ \t]*=[ \t]*(?:" + _TOKEN + rb"|" + _QUOTED + rb"))?"
_EXTENSION = rb"[ \t]*;[ \t]*" + _TOKEN + _VALUE
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:" + _EXTENSION + rb")*+")


class ByteSource(Protocol):
    """A source of bytes, such as a connection."""

    buffer: bytearray

    async def read_more(self) -> None:
        """Wait until more bytes are appended to `buffer`."""
        ...


class RequestBody(Protocol):
    """The unread rest of a request's body."""

    bytes_read: int  # bytes that `read_chunk` has returned so far

    @property
    def is_finished(self) -> bool:
        """Whether the whole body was read."""
        ...

    async def read_chunk(self) -> bytes:
        """Read the next bytes, at most about `PIECE_BYTES`; return empty bytes at the end.

        Raises:
            ValidationFailed: the chunks are not well-formed.
        """
        ...

    def discard_buffered(self) -> bool:
        """Discard buffered bytes of the body; return whether the body is complete."""
        ...


def open_body(head: RequestHead, source: ByteSource) -> RequestBody:
    """Return the reader for the body that `head` declares."""
    return ChunkedBody(source) if head.length is None else FixedBody(source, head.length)


def take_buffered(source: ByteSource, count: int) -> bytes:
    """Remove and return up to `count` buffered bytes."""
    piece = bytes(source.buffer[:count])
    del source.buffer[:count]
    return piece


class FixedBody:
    """A body of known length, which may be 0."""

    __slots__ = ("_left", "_source", "bytes_read")

    def __init__(self, source: ByteSource, length: int) -> None:
        self.bytes_read = 0
        self._source = source
        self._left = length

    @property
    def is_finished(self) -> bool:
        return not self._left

    async def read_chunk(self) -> bytes:
        if self._left and not self._source.buffer:
            await self._source.read_more()
        piece = take_buffered(self._source, min(self._left, PIECE_BYTES))
        self._left -= len(piece)
        self.bytes_read += len(piece)
        return piece

    def discard_buffered(self) -> bool:
        if self._left <= len(self._source.buffer):
            del self._source.buffer[: self._left]
            self._left = 0
        return self.is_finished


class ChunkedBody:
    """A chunked body, whose length is known only at its end; small chunks are returned together."""

    __slots__ = ("_framing", "_left", "_lines", "_source", "bytes_read", "is_finished")

    def __init__(self, source: ByteSource) -> None:
        self.bytes_read = 0
        self._source = source
        self._left = 0  # unread bytes of the current chunk
        self._framing = 0  # bytes of size lines and trailers so far
        self._lines = 0
        self.is_finished = False

    async def read_chunk(self) -> bytes:
        gathered = bytearray()
        while not self.is_finished and len(gathered) < PIECE_BYTES and (self._source.buffer or not gathered):
            if self._left == 0:
                await self._begin_chunk()
            else:
                await self._read_from_chunk(gathered)
        self.bytes_read += len(gathered)
        return bytes(gathered)

    def discard_buffered(self) -> bool:
        return self.is_finished

    async def _begin_chunk(self) -> None:
        size = _CHUNK_SIZE.fullmatch(await self._read_line())
        if size is None:
            reject("a chunk does not begin with a hexadecimal size and valid extensions")
        self._left = int(size[1], 16)
        if self._left == 0:
            await self._skip_trailers()
            self.is_finished = True

    async def _skip_trailers(self) -> None:
        """Read the trailer section and ignore its fields, which must still be well-formed."""
        while line := await self._read_line():
            require_fields(line + _CRLF)

    async def _read_from_chunk(self, gathered: bytearray) -> None:
        if not self._source.buffer:
            await self._source.read_more()
        piece = take_buffered(self._source, min(self._left, PIECE_BYTES))
        gathered += piece
        self._left -= len(piece)
        if self._left == 0 and await self._read_line():
            reject("a chunk is longer than its size")

    async def _read_line(self) -> bytes:
        while (end := self._source.buffer.find(_CRLF, 0, _MAX_LINE_BYTES)) < 0:
            if len(self._source.buffer) >= _MAX_LINE_BYTES:
                reject(f"a line between its chunks exceeds {_MAX_LINE_BYTES} bytes")
            await self._source.read_more()
        self._framing += end + len(_CRLF)
        if self._framing > FRAMING_LIMIT_BYTES:
            reject(f"its chunk sizes and trailers exceed {FRAMING_LIMIT_BYTES} bytes")
        self._lines += 1
        if self._lines % _LINES_PER_TURN == 0:
            await asyncio.sleep(0)
        return take_buffered(self._source, end + len(_CRLF))[:end]
