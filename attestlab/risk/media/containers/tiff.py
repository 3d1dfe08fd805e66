"""Reader of the directories of a TIFF or EXIF block (TIFF 6.0, CIPA DC-008): a few texts and times.

It reads the tags below and nothing else, so an offset in a block leads to at most one further directory. Pillow reads
each value of each entry, of which a hostile block may have thousands that overlap.
"""

from __future__ import annotations

import struct
from datetime import datetime

from attestlab.risk.media.containers.metadata import (
    MAX_DIRECTORY_ENTRIES,
    Budget,
    ContainerMetadata,
    ContainerTime,
    TimeKind,
)

SIGNATURES = (b"II*\0", b"MM\0*")
_ENTRY_BYTES = 12
_EXIF_DIRECTORY, _XMP, _WIDTH, _HEIGHT = 0x8769, 0x02BC, 0x0100, 0x0101
_USER_COMMENT = 0x9286
_TEXTS = {
    0x010E: "ImageDescription",
    0x010F: "Make",
    0x0110: "Model",
    0x0131: "Software",
    0x013B: "Artist",
    _USER_COMMENT: "UserComment",
}
_TIMES = {0x0132: TimeKind.MODIFIED, 0x9003: TimeKind.TAKEN}
_ENCODINGS_OF_MARKS = {b"\xff\xfe": ("utf-16",), b"\xfe\xff": ("utf-16",)}
_BYTES_OF_TYPE = {1: 1, 2: 1, 3: 2, 4: 4, 6: 1, 7: 1}
_ASCII_COMMENT, _UNICODE_COMMENT = b"ASCII\0\0\0", b"UNICODE\0"


def read_tiff(block: bytes, metadata: ContainerMetadata, *, is_file: bool = False) -> None:
    """Read the first directory of a block and its EXIF directory; `is_file` for a TIFF picture.

    Offsets that lead out of the block are ignored.
    """
    if len(block) < 8 or block[:4] not in SIGNATURES:
        return
    order = "<" if block[:2] == b"II" else ">"
    first = _read_directory(block, order, struct.unpack_from(order + "I", block, 4)[0])
    entries = {**first, **_read_directory(block, order, _number(first.get(_EXIF_DIRECTORY, b""), order))}
    for tag, value in entries.items():
        _read_entry(tag, value, order, metadata)
    if is_file:
        metadata.set_size(_number(entries.get(_WIDTH, b""), order), _number(entries.get(_HEIGHT, b""), order))


def _read_directory(block: bytes, order: str, offset: int) -> dict[int, bytes]:
    """Return the wanted entries of a directory: their tags and their values as bytes."""
    if not 8 <= offset <= len(block) - 2:
        return {}
    entries = Budget("entries in a directory", MAX_DIRECTORY_ENTRIES, "Remove the EXIF metadata.")
    (count,) = struct.unpack_from(order + "H", block, offset)
    entries.take(count)
    found, start = {}, offset + 2
    end = min(start + count * _ENTRY_BYTES, len(block) - _ENTRY_BYTES + 1)
    for position in range(start, end, _ENTRY_BYTES):
        tag, kind, length = struct.unpack_from(order + "HHI", block, position)
        if tag in _WANTED:
            found[tag] = _read_value(block, order, position + 8, length * _BYTES_OF_TYPE.get(kind, 0))
    return found


def _read_value(block: bytes, order: str, position: int, length: int) -> bytes:
    start = position if length <= 4 else struct.unpack_from(order + "I", block, position)[0]
    return block[start : start + length]


def _read_entry(tag: int, value: bytes, order: str, metadata: ContainerMetadata) -> None:
    if tag == _USER_COMMENT:
        _read_comment(value, order, metadata)
    elif tag in _TEXTS:
        metadata.add_text("EXIF", _TEXTS[tag], value, "utf-8")
    elif tag == _XMP:
        metadata.add_xmp(value)
    elif tag in _TIMES:
        _read_time(_TIMES[tag], value, metadata)


def _read_comment(value: bytes, order: str, metadata: ContainerMetadata) -> None:
    """Read a user comment, whose first eight bytes name its encoding.

    EXIF leaves the byte order of UTF-16 open, and writers differ: it is that of the byte order mark, of the block, or
    the other one, so a text without a mark is read both ways.
    """
    head, text = value[:8], value[8:]
    if head != _UNICODE_COMMENT:
        is_ascii = head == _ASCII_COMMENT
        metadata.add_text("EXIF", "UserComment", text if is_ascii else value, "ascii" if is_ascii else "utf-8")
        return
    little, big = "utf-16-le", "utf-16-be"
    encodings = _ENCODINGS_OF_MARKS.get(text[:2]) or ((little, big) if order == "<" else (big, little))
    for encoding in encodings:
        metadata.add_text("EXIF", "UserComment", text, encoding)


def _read_time(kind: TimeKind, value: bytes, metadata: ContainerMetadata) -> None:
    """Read a time of EXIF, which is local time without a zone."""
    try:
        at = datetime.strptime(value.decode("ascii").rstrip("\0 "), "%Y:%m:%d %H:%M:%S")
    except ValueError:
        return
    metadata.times.append(ContainerTime("EXIF", kind, at))


def _number(value: bytes, order: str) -> int:
    return int.from_bytes(value[:4], "little" if order == "<" else "big")


_WANTED = frozenset({_EXIF_DIRECTORY, _XMP, _WIDTH, _HEIGHT, *_TEXTS, *_TIMES})
