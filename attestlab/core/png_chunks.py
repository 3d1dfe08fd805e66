"""Chunks of a PNG (W3C PNG, third edition, section 5): where each one lies in the file."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_HEAD = struct.Struct(">I4s")
_CRC_BYTES = 4


class PngChunk(NamedTuple):
    """A chunk: its type, where it begins, and where its data begins and ends; the checksum follows the data."""

    kind: bytes
    position: int
    start: int
    stop: int

    @property
    def end(self) -> int:
        """Where the next chunk begins."""
        return self.stop + _CRC_BYTES


def iterate_chunks(content: bytes) -> Iterator[PngChunk]:
    """Iterate over the whole chunks of a PNG, up to IEND; checksums are not verified."""
    position = len(SIGNATURE)
    while position + _HEAD.size <= len(content):
        length, kind = _HEAD.unpack_from(content, position)
        start = position + _HEAD.size
        chunk = PngChunk(kind, position, start, start + length)
        if chunk.end > len(content):
            return
        yield chunk
        if kind == b"IEND":
            return
        position = chunk.end
