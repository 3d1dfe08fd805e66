"""Reader of JPEG segments (ITU-T T.81, annex B): EXIF, XMP, comments, size, number of scans."""

from __future__ import annotations

import re
import struct

from attestlab.risk.media.containers.metadata import ContainerMetadata

EXIF_HEADER = b"Exif\0\0"
XMP_HEADER = b"http://ns.adobe.com/xap/1.0/\0"
# A marker within coded data: 0xFF is followed neither by a stuffed zero, nor by a restart marker, nor by a fill byte.
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
_START_OF_SCAN, _END, _APP1, _COMMENT = 0xDA, 0xD9, 0xE1, 0xFE
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})


def read_jpeg(content: bytes, metadata: ContainerMetadata) -> None:
    """Read the segments of a JPEG up to its end marker."""
    position = 2
    while found := _MARKER.search(content, position):
        metadata.parts.take()
        marker, position = content[found.start() + 1], found.end()
        if marker == _END:
            metadata.end = position
            return
        if marker in _WITHOUT_LENGTH:
            continue
        if position + 2 > len(content):
            break
        length = max(2, int.from_bytes(content[position : position + 2], "big"))
        _read_segment(marker, content[position + 2 : position + length], metadata)
        position += length
    metadata.is_truncated = True


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
