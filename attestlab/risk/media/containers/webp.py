"""Reader of WebP chunks (RFC 9649): EXIF, XMP, size."""

from __future__ import annotations

import struct

from attestlab.risk.media.containers.metadata import ContainerMetadata

_HEAD = struct.Struct("<4sI")
_FIRST_CHUNK = 12


def read_webp(content: bytes, metadata: ContainerMetadata) -> None:
    """Read the chunks of a WebP picture."""
    end = _HEAD.size + struct.unpack_from("<I", content, 4)[0]
    metadata.is_truncated = end > len(content)
    metadata.end = min(end, len(content))
    position = _FIRST_CHUNK
    while position + _HEAD.size <= metadata.end:
        metadata.parts.take()
        kind, length = _HEAD.unpack_from(content, position)
        start = position + _HEAD.size
        _read_chunk(kind, content[start : min(start + length, metadata.end)], metadata)
        position = start + length + length % 2


def _read_chunk(kind: bytes, data: bytes, metadata: ContainerMetadata) -> None:
    if kind == b"EXIF":
        metadata.add_exif(data.removeprefix(b"Exif\0\0"))
    elif kind == b"XMP ":
        metadata.add_xmp(data)
    elif kind == b"VP8X" and len(data) >= 10:
        metadata.set_size(1 + int.from_bytes(data[4:7], "little"), 1 + int.from_bytes(data[7:10], "little"))
    elif kind == b"VP8 " and len(data) >= 10:
        width, height = struct.unpack_from("<HH", data, 6)
        metadata.set_size(width & 0x3FFF, height & 0x3FFF)
    elif kind == b"VP8L" and len(data) >= 5:
        bits = int.from_bytes(data[1:5], "little")
        metadata.set_size(1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
