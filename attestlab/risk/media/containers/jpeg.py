"""Reader of JPEG segments (ITU-T T.81, annex B): EXIF, XMP, comments, size, number of scans."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from attestlab.risk.media.containers.metadata import ContainerMetadata

EXIF_HEADER = b"Exif\0\0"
XMP_HEADER = b"http://ns.adobe.com/xap/1.0/\0"
# A marker within coded data: 0xFF is followed neither by a stuffed zero, nor by a restart marker, nor by a fill byte.
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
_START_OF_SCAN, _END, _APP1, _COMMENT = 0xDA, 0xD9, 0xE1, 0xFE
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9), _END})
_DESCRIBING = frozenset({*range(0xE1, 0xEE), 0xEF, _COMMENT})  # not APP0 and APP14, which state the colours


class Segment(NamedTuple):
    """A marker with its data; positions in the file of the marker, of its data and behind it."""

    marker: int
    start: int
    data: int
    end: int


def read_jpeg(content: bytes, metadata: ContainerMetadata) -> None:
    """Read the segments of a JPEG up to its end marker."""
    for segment in _list_segments(content):
        metadata.parts.take()
        if segment.marker == _END:
            metadata.end = segment.end
            return
        _read_segment(segment.marker, content[segment.data : segment.end], metadata)
    metadata.is_truncated = True


def strip_metadata(content: bytes) -> bytes:
    """Return a JPEG without the segments that describe it, so that a decoder of its pixels parses none of them."""
    kept = [content[:2]]
    for segment in _list_segments(content):
        if segment.marker == _START_OF_SCAN:
            return b"".join([*kept, content[segment.start :]])
        if segment.marker not in _DESCRIBING:
            kept.append(content[segment.start : segment.end])
    return b"".join(kept)


def _list_segments(content: bytes) -> Iterator[Segment]:
    position = 2
    while found := _MARKER.search(content, position):
        marker, position = content[found.start() + 1], found.end()
        if marker in _WITHOUT_LENGTH:
            yield Segment(marker, found.start(), position, position)
        elif position + 2 <= len(content):
            length = max(2, int.from_bytes(content[position : position + 2], "big"))
            yield Segment(marker, found.start(), position + 2, position + length)
            position += length


def _read_segment(marker: int, segment: bytes, metadata: ContainerMetadata) -> None:
    if marker == _START_OF_SCAN:
        metadata.scans += 1
    elif marker in _FRAMES and len(segment) >= 5:
        height, width = struct.unpack_from(">HH", segment, 1)
        metadata.set_size(width, height)
    elif marker == _APP1 and segment.startswith(EXIF_HEADER):
        metadata.add_exif(segment[len(EXIF_HEADER) :])
    elif marker == _APP1 and segment.startswith(XMP_HEADER):
        metadata.add_xmp(segment[len(XMP_HEADER) :])
    elif marker == _COMMENT:
        metadata.add_text("JPEG comment", "Comment", segment, "utf-8")
