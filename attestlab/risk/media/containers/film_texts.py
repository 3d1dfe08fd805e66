"""Reader of the texts of a film: `ilst` and `keys` (QuickTime File Format, Metadata) and texts of `udta`.

Programs that generate films write their workflow as a comment, or under keys of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from attestlab.risk.media.containers.metadata import ContainerMetadata

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
