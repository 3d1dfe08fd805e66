"""Reader of PNG chunks (W3C PNG, third edition): text, EXIF, XMP, the time of the last change."""

from __future__ import annotations

import struct
from datetime import UTC, datetime

from attestlab.core.png_chunks import PngChunk, iterate_chunks
from attestlab.risk.media.containers.metadata import ContainerMetadata, ContainerTime, TimeKind

XMP_KEYWORD = b"XML:com.adobe.xmp"
_DATE = struct.Struct(">HBBBBB")


def read_png(content: bytes, metadata: ContainerMetadata) -> None:
    """Read the chunks of a PNG; the checksums are not verified."""
    for chunk in iterate_chunks(content):
        metadata.parts.take()
        if chunk.kind == b"IEND":
            metadata.end = chunk.end
            return
        _read_chunk(chunk, content, metadata)
    metadata.is_truncated = True


def _read_chunk(chunk: PngChunk, content: bytes, metadata: ContainerMetadata) -> None:
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
