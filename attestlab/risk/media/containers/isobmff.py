"""Reader of boxes of the ISO base media file format (ISO/IEC 14496-12): MP4, QuickTime, HEIF, AVIF.

It reads the creation time of a film (`mvhd`), the texts of the film and of its tracks, and XMP packets.
EXIF of HEIF and AVIF is an item whose place another box lists; it is not read.

Texts are in `ilst` and `keys` (QuickTime File Format, Metadata) and in `udta`. Programs that generate films write their
workflow as a comment, or under keys of their own.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from attestlab.risk.media.containers.metadata import ContainerMetadata, ContainerTime, TimeKind

PLACE = "MP4"
_NAMES = {
    b"\xa9cmt": "Comment",
    b"\xa9des": "ImageDescription",
    b"desc": "ImageDescription",
    b"ldes": "ImageDescription",
    b"\xa9too": "Software",
    b"\xa9swr": "Software",
    b"\xa9enc": "Software",
    b"\xa9ART": "Artist",
    b"\xa9aut": "Author",
    b"\xa9mak": "Make",
    b"\xa9mod": "Model",
}
_NAMES_OF_KEYS = {
    "comment": "Comment", "description": "ImageDescription", "encoder": "Software", "make": "Make", "model": "Model",
}  # fmt: skip
# How a text is encoded, by the type of its `data` box. Boxes of other types hold numbers or pictures.
_ENCODINGS = {0: "utf-8", 1: "utf-8", 2: "utf-16-be"}
_FREE_FORM = b"----"
_QUICKTIME_TEXT = b"\xa9"  # a box in `udta` whose kind begins so holds its text directly
_TYPE_AND_LOCALE = 8  # bytes


class Box(NamedTuple):
    """A box; positions in the file of its payload and behind it."""

    kind: bytes
    start: int
    end: int


ListBoxes = Callable[[int, int], Iterator[Box]]


class FilmTexts:
    """Reads the texts of one film; `list_boxes` lists the boxes between two positions, within the budget of parts."""

    def __init__(self, content: bytes, metadata: ContainerMetadata, list_boxes: ListBoxes) -> None:
        self._content = content
        self._metadata = metadata
        self._list_boxes = list_boxes

    def read_user_data(self, box: Box) -> None:
        """Read a box `udta`: its metadata, and texts in the older form of QuickTime."""
        for inner in self._list_boxes(box.start, box.end):
            if inner.kind == b"meta":
                self.read_metadata(inner)
            elif inner.kind[:1] == _QUICKTIME_TEXT and inner.end - inner.start > 4:
                length = int.from_bytes(self._content[inner.start : inner.start + 2], "big")
                text = self._content[inner.start + 4 : min(inner.start + 4 + length, inner.end)]
                self._metadata.add_text(f"{PLACE} udta", _name_item(inner.kind, ()), text, "utf-8")

    def read_metadata(self, box: Box) -> None:
        """Read a box `meta`, which in ISO's form begins with a version."""
        has_version = self._content[box.start + 4 : box.start + 8] != b"hdlr"
        keys: Sequence[str] = ()
        for inner in self._list_boxes(box.start + 4 * has_version, box.end):
            if inner.kind == b"keys":
                keys = [*self._list_keys(inner)]
            elif inner.kind == b"ilst":
                self._read_items(inner, keys)

    def _list_keys(self, box: Box) -> Iterator[str]:
        """List the names of keys; each entry has the form of a box, whose kind is the namespace."""
        for entry in self._list_boxes(box.start + 8, box.end):
            self._metadata.metadata_bytes.take(entry.end - entry.start)
            yield self._content[entry.start : entry.end].decode("utf-8", "replace")

    def _read_items(self, box: Box, keys: Sequence[str]) -> None:
        for item in self._list_boxes(box.start, box.end):
            name = _name_item(item.kind, keys)
            for part in self._list_boxes(item.start, item.end):
                if part.kind == b"name" and item.kind == _FREE_FORM:
                    name = self._content[part.start + 4 : min(part.end, part.start + 64)].decode("utf-8", "replace")
                elif part.kind == b"data":
                    self._read_data(part, _NAMES_OF_KEYS.get(name, name))

    def _read_data(self, box: Box, name: str) -> None:
        kind = int.from_bytes(self._content[box.start : box.start + 4], "big")
        if kind in _ENCODINGS:
            text = self._content[box.start + _TYPE_AND_LOCALE : box.end]
            self._metadata.add_text(f"{PLACE} ilst", name, text, _ENCODINGS[kind])


def _name_item(kind: bytes, keys: Sequence[str]) -> str:
    """Return the name of an item: of the key that its number has, or of its kind."""
    number = int.from_bytes(kind, "big")
    if 1 <= number <= len(keys):
        return keys[number - 1].rpartition(".")[2]
    return _NAMES.get(kind, kind.decode("latin-1"))


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
