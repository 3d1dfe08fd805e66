"""Reader of boxes of the ISO base media file format (ISO/IEC 14496-12): MP4, QuickTime, HEIF, AVIF.

It reads the creation time of a film (`mvhd`), the texts of the film and of its tracks (`film_texts`), and XMP packets.
EXIF of HEIF and AVIF is an item whose place another box lists; it is not read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from attestlab.risk.media.containers.film_texts import Box, FilmTexts
from attestlab.risk.media.containers.metadata import ContainerMetadata, ContainerTime, TimeKind

XMP_UUID = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")
EPOCH = datetime(1904, 1, 1, tzinfo=UTC)
_HEAD = struct.Struct(">I4s")
_UUID_BYTES = 16


def read_isobmff(content: bytes, metadata: ContainerMetadata) -> None:
    """Read the boxes of a film or picture; of the film's own boxes, the header and the texts."""
    texts = FilmTexts(content, metadata, lambda start, end: _list_boxes(content, start, end, metadata))
    for box in _list_boxes(content, 0, len(content), metadata):
        if box.kind in (b"moov", b"meta", b"udta"):
            _read_movie(box, content, metadata, texts)
        elif box.kind == b"uuid" and content[box.start : box.start + _UUID_BYTES] == XMP_UUID:
            metadata.add_xmp(content[box.start + _UUID_BYTES : box.end])


def _read_movie(box: Box, content: bytes, metadata: ContainerMetadata, texts: FilmTexts) -> None:
    """Read a box of a film, and what a film or a track holds."""
    if box.kind == b"mvhd":
        _read_movie_header(content[box.start : box.end], metadata)
    elif box.kind == b"udta":
        texts.read_user_data(box)
    elif box.kind == b"meta":
        texts.read_metadata(box)
    elif box.kind in (b"moov", b"trak"):
        for inner in _list_boxes(content, box.start, box.end, metadata):
            if inner.kind != box.kind:  # a film holds tracks, and neither holds its like
                _read_movie(inner, content, metadata, texts)


def _list_boxes(content: bytes, position: int, end: int, metadata: ContainerMetadata) -> Iterator[Box]:
    while position + _HEAD.size <= end:
        metadata.parts.take()
        length, kind = _HEAD.unpack_from(content, position)
        start = position + _HEAD.size
        if length == 1 and start + 8 <= end:  # the length has 64 bits
            length, start = int.from_bytes(content[start : start + 8], "big"), start + 8
        elif length == 0:  # the box reaches to the end of the file
            length = end - position
        if length < start - position or position + length > end:
            metadata.is_truncated = True
            return
        yield Box(kind, start, position + length)
        position += length


def _read_movie_header(header: bytes, metadata: ContainerMetadata) -> None:
    length = 8 if header[:1] == b"\1" else 4
    seconds = int.from_bytes(header[4 : 4 + length], "big")
    if not seconds:  # many programs leave it out
        return
    try:
        at = EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return
    metadata.times.append(ContainerTime("MP4 mvhd", TimeKind.CREATED, at))
