"""Readers of JPEG, PNG, WebP and GIF: texts, EXIF, XMP, times, sizes, and where the picture ends.

JPEG has segments (ITU-T T.81, annex B), PNG (W3C PNG, third edition) and WebP (RFC 9649) have chunks, GIF (GIF89a) has
blocks.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from attestlab.core.png_chunks import PngChunk, iterate_chunks
from attestlab.risk.media.containers.metadata import MAX_BLOCKS, Budget, ContainerMetadata, ContainerTime, TimeKind

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


XMP_KEYWORD = b"XML:com.adobe.xmp"
_DATE = struct.Struct(">HBBBBB")


def read_png(content: bytes, metadata: ContainerMetadata) -> None:
    """Read the chunks of a PNG; the checksums are not verified."""
    for chunk in iterate_chunks(content):
        metadata.parts.take()
        if chunk.kind == b"IEND":
            metadata.end = chunk.end
            return
        _read_png_chunk(chunk, content, metadata)
    metadata.is_truncated = True


def _read_png_chunk(chunk: PngChunk, content: bytes, metadata: ContainerMetadata) -> None:
    length = chunk.stop - chunk.start
    if chunk.kind == b"IHDR" and length >= 8:
        metadata.set_size(*struct.unpack_from(">II", content, chunk.start))
    elif chunk.kind == b"eXIf":
        metadata.add_exif(content[chunk.start : chunk.stop])
    elif chunk.kind == b"tIME" and length == _DATE.size:
        _read_time(content, chunk.start, metadata)
    elif chunk.kind in _TEXT_READERS:
        keyword, _, rest = content[chunk.start : chunk.stop].partition(b"\0")
        _TEXT_READERS[chunk.kind](keyword, rest, metadata)


def _read_text(keyword: bytes, rest: bytes, metadata: ContainerMetadata) -> None:
    metadata.add_text("PNG tEXt", keyword.decode("latin-1"), rest)


def _read_compressed_text(keyword: bytes, rest: bytes, metadata: ContainerMetadata) -> None:
    metadata.add_text("PNG zTXt", keyword.decode("latin-1"), metadata.inflate(rest[1:]))


def _read_international_text(keyword: bytes, rest: bytes, metadata: ContainerMetadata) -> None:
    is_compressed = rest[:1] == b"\1"
    text = rest[2:].split(b"\0", 2)[-1]  # behind the language and the translated keyword
    if is_compressed:
        text = metadata.inflate(text)
    if keyword == XMP_KEYWORD:
        metadata.add_xmp(text)
    else:
        metadata.add_text("PNG iTXt", keyword.decode("latin-1"), text, "utf-8")


_TEXT_READERS = {b"tEXt": _read_text, b"zTXt": _read_compressed_text, b"iTXt": _read_international_text}


def _read_time(content: bytes, start: int, metadata: ContainerMetadata) -> None:
    try:
        at = datetime(*_DATE.unpack_from(content, start)).replace(tzinfo=UTC)
    except ValueError:
        return
    metadata.times.append(ContainerTime("PNG tIME", TimeKind.MODIFIED, at))


_CHUNK_HEAD = struct.Struct("<4sI")
_FIRST_CHUNK = 12


def read_webp(content: bytes, metadata: ContainerMetadata) -> None:
    """Read the chunks of a WebP picture."""
    end = _CHUNK_HEAD.size + struct.unpack_from("<I", content, 4)[0]
    metadata.is_truncated = end > len(content)
    metadata.end = min(end, len(content))
    position = _FIRST_CHUNK
    while position + _CHUNK_HEAD.size <= metadata.end:
        metadata.parts.take()
        kind, length = _CHUNK_HEAD.unpack_from(content, position)
        start = position + _CHUNK_HEAD.size
        _read_webp_chunk(kind, content[start : min(start + length, metadata.end)], metadata)
        position = start + length + length % 2


def _read_webp_chunk(kind: bytes, data: bytes, metadata: ContainerMetadata) -> None:
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


GIF_SIGNATURES = (b"GIF87a", b"GIF89a")
XMP_APPLICATION = b"XMP DataXMP"
_XMP_TRAILER_BYTES = 257  # 0x01, then 0xFF down to 0x00, so that readers of blocks find the end (XMP, part 3)
_DESCRIPTOR_BYTES = 13
_IMAGE_DESCRIPTOR_BYTES = 10
_EXTENSION, _IMAGE, _TRAILER = 0x21, 0x2C, 0x3B
_COMMENT_EXTENSION, _APPLICATION_EXTENSION = 0xFE, 0xFF


def read_gif(content: bytes, metadata: ContainerMetadata) -> None:
    """Read the blocks of a GIF up to its trailer."""
    if len(content) < _DESCRIPTOR_BYTES:
        metadata.is_truncated = True
        return
    metadata.set_size(*struct.unpack_from("<HH", content, 6))
    blocks = Budget("data blocks", MAX_BLOCKS, "Save the animation again with a usual program.")
    position = _DESCRIPTOR_BYTES + _color_table_bytes(content[10])
    while position + 1 < len(content) and content[position] != _TRAILER:
        metadata.parts.take()
        start = position
        position = _skip_to_data(content, position)
        end = _skip_blocks(content, position, blocks)
        if content[start] == _EXTENSION:
            _read_extension(content[start + 1], content[position:end], metadata)
        position = end
    metadata.is_truncated = content[position : position + 1] != bytes([_TRAILER])
    metadata.end = None if metadata.is_truncated else position + 1


def _color_table_bytes(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _skip_to_data(content: bytes, position: int) -> int:
    """Return where the data blocks of an extension or an image begin; the end of the file for anything else."""
    if content[position] == _EXTENSION:
        return position + 2
    flags = position + _IMAGE_DESCRIPTOR_BYTES - 1
    if content[position] != _IMAGE or flags >= len(content):
        return len(content)
    return position + _IMAGE_DESCRIPTOR_BYTES + _color_table_bytes(content[flags]) + 1  # one byte: LZW code size


def _skip_blocks(content: bytes, position: int, blocks: Budget) -> int:
    """Return the position behind the block of length zero that ends a sequence of blocks."""
    while position < len(content) and content[position]:
        blocks.take()
        position += 1 + content[position]
    return min(position + 1, len(content))


def _read_extension(label: int, data: bytes, metadata: ContainerMetadata) -> None:
    if label == _COMMENT_EXTENSION:
        metadata.add_text("GIF comment", "Comment", _join_blocks(data), "utf-8")
    elif label == _APPLICATION_EXTENSION and data[1:12] == XMP_APPLICATION:
        metadata.add_xmp(data[12 : -_XMP_TRAILER_BYTES - 1])


def _join_blocks(data: bytes) -> bytes:
    joined, position = bytearray(), 0
    while position < len(data) and data[position]:
        joined += data[position + 1 : position + 1 + data[position]]
        position += 1 + data[position]
    return bytes(joined)
