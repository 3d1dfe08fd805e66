"""The fonts of drawn badges: DejaVu Sans, and GNU Unifont for the characters that it lacks.

Both are in the package, so a picture does not depend on the machine's fonts. The files are as their projects
published them, each with its licence.
"""

from __future__ import annotations

import lzma
import unicodedata
from functools import cache, lru_cache
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont

_FOLDER: Final = files("attestlab.exports") / "fonts"
_CELL: Final = 16  # pixels of a bitmap glyph in height; it is as wide, or half as wide
_REPLACEMENT: Final = "\ufffd"  # Unifont's table ends with the basic plane
_RIGHT_TO_LEFT: Final = frozenset({"R", "AL"})
_NO_CHARACTER: Final = "\uffff"


class Glyph(NamedTuple):
    """A bitmap of Unifont, and where it stands; `x` counts from the left, in its pixels."""

    bits: bytes
    width: int
    x: int


@lru_cache(maxsize=16)
def load_outlines(size: int) -> FreeTypeFont:
    """Load DejaVu Sans for a size in pixels."""
    from PIL import ImageFont

    return ImageFont.truetype(BytesIO((_FOLDER / "DejaVuSans.ttf").read_bytes()), size)


def has_outlines(text: str) -> bool:
    """Whether DejaVu Sans has a glyph for each character, and the machine can set its script."""
    return all(map(_has_outline, text))


def measure_text(text: str, size: int, *, outlined: bool) -> int:
    """Measure the width of a line in pixels, in DejaVu Sans if `outlined`, else in Unifont."""
    if outlined:
        return round(load_outlines(size).getlength(text))
    return _width_of(place_bitmaps(text)) * _scale_of(size)


def _scale_of(size: int) -> int:
    """The whole factor by which bitmaps are enlarged for a size."""
    return max(1, round(size / _CELL))


def draw_bitmaps(text: str, size: int) -> Image:
    """Draw a line with Unifont; returns the mask of its ink."""
    from PIL import Image

    glyphs, scale = place_bitmaps(text), _scale_of(size)
    mask = Image.new("1", (max(1, _width_of(glyphs)), _CELL))
    for glyph in glyphs:
        ink = Image.frombytes("1", (glyph.width, _CELL), glyph.bits)
        mask.paste(1, (glyph.x, 0), ink)
    return mask.resize((mask.width * scale, mask.height * scale), Image.Resampling.NEAREST)


def place_bitmaps(text: str) -> list[Glyph]:
    """Place the glyphs of a line: marks over the character that they belong to, from the right where it begins so."""
    if _begins_right_to_left(text):
        text = "".join(reversed(_split_clusters(text)))
    placed, x = [], 0
    for sign in text:
        bits = _find_bitmap(sign)
        width = 8 * len(bits) // _CELL
        is_mark = unicodedata.category(sign).startswith("M")
        placed.append(Glyph(bits, width, max(0, x - width) if is_mark else x))
        x += 0 if is_mark else width
    return placed


def _width_of(glyphs: list[Glyph]) -> int:
    return max((glyph.x + glyph.width for glyph in glyphs), default=0)


def _begins_right_to_left(text: str) -> bool:
    strong = (unicodedata.bidirectional(sign) for sign in text)
    return next((kind for kind in strong if kind in {"L", *_RIGHT_TO_LEFT}), "L") != "L"


def _split_clusters(text: str) -> list[str]:
    """Split a text into characters with their marks, so that it can be reversed."""
    clusters: list[str] = []
    for sign in text:
        if clusters and unicodedata.category(sign).startswith("M"):
            clusters[-1] += sign
        else:
            clusters.append(sign)
    return clusters


@lru_cache(maxsize=4096)
def _has_outline(sign: str) -> bool:
    """Whether DejaVu Sans has the character, which it draws unlike one that it lacks."""
    if unicodedata.bidirectional(sign) in _RIGHT_TO_LEFT and not _can_set_right_to_left():
        return False
    font = load_outlines(_CELL)
    drawn, missing = font.getmask(sign), font.getmask(_NO_CHARACTER)
    return (drawn.size, bytes(drawn)) != (missing.size, bytes(missing))


@cache
def _can_set_right_to_left() -> bool:
    from PIL import features

    return bool(features.check("raqm"))


@lru_cache(maxsize=4096)
def _find_bitmap(sign: str) -> bytes:
    """Find a character's bitmap, 16 rows of one or two bytes; that of the replacement character if it has none."""
    table, name = _read_table(), f"\n{ord(sign):04X}:".encode()
    start = table.find(name)
    if start < 0:
        return _find_bitmap(_REPLACEMENT)
    first = start + len(name)
    return bytes.fromhex(table[first : table.index(b"\n", first)].decode())


@cache
def _read_table() -> bytes:
    """Read Unifont's table: a line for each character, 3.8 MB."""
    return b"\n" + lzma.decompress((_FOLDER / "unifont-15.0.01.hex.xz").read_bytes())
