"""What a media container states about itself, as its reader collects it."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from attestlab.risk.media.limits import MAX_METADATA_BYTES, MAX_PARTS, Budget, require_size


class TimeKind(StrEnum):
    """What happened at a time that a container states."""

    TAKEN = "taken"  # a camera recorded the picture
    CREATED = "created"  # a program wrote this container
    MODIFIED = "modified"  # a program last changed the picture


class NamedText(NamedTuple):
    """A text with its name, such as the PNG chunk `Software`; `place` is the part of the file that has it."""

    place: str
    name: str
    text: str


class ContainerTime(NamedTuple):
    """A time that the container states; without a zone where the format has none."""

    place: str
    kind: TimeKind
    at: datetime


@dataclass
class ContainerMetadata:
    """The metadata of one file; the readers fill it, within its budgets."""

    size: tuple[int, int] | None = None  # width and height in pixels
    texts: list[NamedText] = field(default_factory=list)
    exif: list[bytes] = field(default_factory=list)  # TIFF blocks
    xmp: list[bytes] = field(default_factory=list)  # XML packets
    times: list[ContainerTime] = field(default_factory=list)
    scans: int = 0  # of a JPEG
    end: int | None = None  # where the media ends; bytes behind it are no part of it
    is_truncated: bool = False
    parts: Budget = field(
        default_factory=lambda: Budget("chunks, segments or boxes", MAX_PARTS, "Save it again with a usual program.")
    )
    metadata_bytes: Budget = field(
        default_factory=lambda: Budget("bytes of metadata", MAX_METADATA_BYTES, "Remove the metadata that is too long.")
    )

    def set_size(self, width: int, height: int) -> None:
        """Record the size of the picture; of several sizes that a file states, the largest.

        Raises:
            ValidationFailed: it has too many pixels.
        """
        require_size(width, height)
        self.size = max(self.size or (0, 0), (width, height), key=math.prod)

    def add_text(self, place: str, name: str, text: bytes, encoding: str = "latin-1") -> None:
        """Record a text; bytes that the encoding does not have are replaced."""
        self.metadata_bytes.take(len(text))
        self.texts.append(NamedText(place, name, text.decode(encoding, "replace").strip("\0 ")))

    def add_exif(self, block: bytes) -> None:
        self.metadata_bytes.take(len(block))
        self.exif.append(block)

    def add_xmp(self, packet: bytes) -> None:
        self.metadata_bytes.take(len(packet))
        self.xmp.append(packet)

    def inflate(self, compressed: bytes) -> bytes:
        """Decompress a zlib stream, at most one byte further than the budget of metadata allows.

        A damaged stream gives what was read before the damage.
        """
        try:
            return zlib.decompressobj().decompress(compressed, self.metadata_bytes.remaining + 1)
        except zlib.error:
            return b""
