"""What a media container states about itself, as its reader collects it within the bounds of a scan.

Each bound is checked before a parser sees the bytes that it bounds.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from attestlab.core.errors import ValidationFailed

MAX_MEDIA_BYTES = 39_321_600  # the limit of a payload (CONTRACT section 5)
MAX_PIXELS = 250_000_000
MAX_PARTS = 16_384  # chunks, segments, boxes or blocks of one file
MAX_BLOCKS = 400_000  # data blocks of a GIF, which have at most 255 bytes each
MAX_METADATA_BYTES = 4 << 20  # of all texts, EXIF blocks and XMP packets of one file, decompressed
MAX_DIRECTORY_ENTRIES = 1_000  # of one directory of a TIFF or EXIF block
MAX_XMP_DEPTH = 64
MAX_XMP_ELEMENTS = 20_000

CONTENT = "/content_b64url"


class Budget:
    """Counts what a parser takes from one file, and raises beyond a limit."""

    def __init__(self, noun: str, limit: int, remedy: str) -> None:
        self.limit = limit
        self.used = 0
        self._noun, self._remedy = noun, remedy

    @property
    def remaining(self) -> int:
        return self.limit - self.used

    def take(self, count: int = 1) -> None:
        """Count `count` more.

        Raises:
            ValidationFailed: the file has more than the limit.
        """
        self.used += count
        if self.used > self.limit:
            raise exceed(self._noun, f"at least {self.used:,}", self.limit, self._remedy)


def exceed(noun: str, value: str, limit: int, remedy: str) -> ValidationFailed:
    """Create the error for a file that has more of something than the scan reads."""
    message = f"The media has {value} {noun}; the scan reads at most {limit:,}. {remedy}"
    return ValidationFailed.of(CONTENT, "too_much", message)


def require_size(width: int, height: int) -> None:
    """Require that a picture has at most `MAX_PIXELS`.

    Raises:
        ValidationFailed: it states more.
    """
    if width * height > MAX_PIXELS:
        value = f"{width:,} x {height:,} = {width * height:,}"
        raise exceed("pixels", value, MAX_PIXELS, "Send a smaller rendition.")


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
