"""The pieces of one stream, from the thread that reads them from a child process to the event loop."""

from __future__ import annotations

import asyncio
from threading import Semaphore

MAX_PIECES_AHEAD = 8  # of a stream, taken from its process before the client has received them
SLICE_BYTES = 64 << 10  # of a piece; the client's speed is measured by them


class PieceQueue:
    """A bounded queue of pieces, and what its reader has taken (`job_watch.Reading`)."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.taken_bytes = 0
        self.is_behind = False
        self._loop = loop
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._free = Semaphore(MAX_PIECES_AHEAD)
        self._is_closed = False
        self._rest = memoryview(b"")  # of the piece that the reader is taking

    def put(self, piece: bytes) -> None:
        """Add a piece; the thread waits while the queue is full and open."""
        if not self._is_closed:
            self._free.acquire()
        if not self._is_closed:
            self._loop.call_soon_threadsafe(self._pieces.put_nowait, piece)

    async def get(self) -> bytes | None:
        """Take the next slice of a piece; None is the end. The reader has received the slice before it."""
        if self._is_closed:
            return None
        if not self._rest:
            self.is_behind = False
            piece = await self._pieces.get()
            self.is_behind = True
            self._free.release()
            if not piece:
                return piece
            self._rest = memoryview(piece)
        taken, self._rest = bytes(self._rest[:SLICE_BYTES]), self._rest[SLICE_BYTES:]
        self.taken_bytes += len(taken)
        return taken

    def end(self) -> None:
        self._pieces.put_nowait(None)

    def close(self) -> None:
        """End the stream without its other pieces, and let the thread continue; any thread may call it."""
        self._is_closed = True
        self._free.release()
