"""Bounds on what the scan reads; each is checked before a parser sees the bytes that it bounds."""

from __future__ import annotations

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
