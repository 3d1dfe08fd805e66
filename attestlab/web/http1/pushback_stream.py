"""A Tornado stream that can take bytes back: the next read begins with them."""

from __future__ import annotations

import socket

from tornado.iostream import IOStream

_MARKER = b"\0"
_PIECE_BYTES = 64 * 1024


class PushbackStream(IOStream):
    """An `IOStream` with a buffer in front of its socket.

    It overrides `read_from_fd` alone, the method that Tornado documents for streams over other sources.
    """

    def __init__(self, connected: socket.socket, *, max_buffer_size: int, read_chunk_size: int) -> None:
        self._pushed_back = bytearray()
        self._owes_marker = False
        super().__init__(connected, max_buffer_size=max_buffer_size, read_chunk_size=read_chunk_size)

    async def push_back(self, data: bytes) -> None:
        """Make the next read begin with `data`; bytes that Tornado has already read ahead follow it.

        Raises:
            StreamClosedError: the client has closed the connection.
        """
        self._pushed_back[:0] = data + await self._take_read_ahead()

    def read_from_fd(self, buf: bytearray | memoryview) -> int | None:
        """Read from the bytes that were pushed back, or else from the socket."""
        if self._owes_marker:
            self._owes_marker = False
            return _copy(_MARKER, buf)
        if self._pushed_back:
            count = _copy(self._pushed_back, buf)
            del self._pushed_back[:count]
            return count
        return super().read_from_fd(buf)

    async def _take_read_ahead(self) -> bytes:
        """Take the bytes in Tornado's own buffer, whose size is not public.

        A read takes buffered bytes first, and only then calls `read_from_fd`, which gives it a marker: the marker
        is the end of the buffer. No read waits for the client.
        """
        self._owes_marker = True
        taken = bytearray()
        while self._owes_marker:
            taken += await self.read_bytes(_PIECE_BYTES, partial=True)
        return bytes(taken[: -len(_MARKER)])


def _copy(source: bytes | bytearray, buf: bytearray | memoryview) -> int:
    count = min(len(source), len(buf))
    buf[:count] = source[:count]
    return count
