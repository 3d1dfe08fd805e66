"""The picture of a badge: the issuer's logo, or a card with title and issuer that is drawn here.

The same badge has the same picture, byte for byte. Text is laid out once, for PNG and for SVG; an SVG keeps it as
text, which the viewer's fonts show, so it has no script and refers to nothing outside of itself.
"""

from __future__ import annotations

import base64
import unicodedata
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Final, NamedTuple
from xml.sax.saxutils import escape

from attestlab.core.errors import ValidationFailed
from attestlab.core.joiners import JOINERS
from attestlab.exports import badge_fonts
from attestlab.exports.baking.pictures import PictureFormat, bake
from attestlab.exports.baking.png import read_png_size

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

SIDE: Final = 600  # pixels
MAX_DESCRIPTION_CHARACTERS: Final = 300  # of the title element, which screen readers read out
_MARGIN: Final = 48
_HEAD_HEIGHT: Final = 124
_LEADING: Final = 1.25
_LABEL_SIZE: Final = 20
_RING: Final = 40  # radius of the emblem, to the middle of its line
_INK, _QUIET, _ACCENT, _PAPER, _EDGE = "#16202e", "#4f5b6c", "#1d3f6e", "#ffffff", "#c9d2de"
_FAMILY: Final = "DejaVu Sans, Verdana, Noto Sans, Segoe UI, Arial, sans-serif"
_ELLIPSIS: Final = "…"
_OVERSAMPLING: Final = 4  # of the emblem, whose edges Pillow does not smooth


class BadgeFace(NamedTuple):
    """What a drawn badge shows."""

    title: str
    issuer: str
    kind: str  # of achievement, such as `Degree`


class TextLine(NamedTuple):
    """A line of text around its middle, in pixels; `outlined` in DejaVu Sans, else in Unifont."""

    text: str
    y: int
    size: int
    color: str
    outlined: bool
    is_strong: bool = False


class _Block(NamedTuple):
    """A text around a middle, in the largest of several sizes in which its lines fit into a height."""

    middle: int
    height: int
    sizes: tuple[int, ...]
    color: str
    is_strong: bool = False

    def max_lines(self, size: int) -> int:
        """How many lines of a size the block has room for."""
        return max(1, self.height // _step_of(size))


_KIND = _Block(160, 20, (_LABEL_SIZE,), _QUIET)
_TITLE = _Block(296, 210, (56, 48, 40, 32), _INK, is_strong=True)
_LABEL = _Block(438, 20, (_LABEL_SIZE,), _QUIET)
_ISSUER = _Block(504, 84, (32, 26), _INK)


def make_badge(face: BadgeFace, credential: str, form: PictureFormat, *, logo: bytes | None) -> bytes:
    """Make the picture of a badge with its credential; a logo that is no readable PNG is not used."""
    size = None if logo is None else _read_logo_size(logo)
    if logo is None or size is None:
        picture = draw_png(face) if form is PictureFormat.PNG else draw_svg(face)
    else:
        picture = logo if form is PictureFormat.PNG else _frame_logo(logo, size, face)
    return bake(picture, credential)


def draw_png(face: BadgeFace) -> bytes:
    """Draw a badge as PNG."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (SIDE, SIDE), _PAPER)
    image.paste(_draw_emblem(), (0, 0))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, SIDE - 1, SIDE - 1), outline=_EDGE, width=2)
    for line in lay_out(face):
        _draw_line(draw, line)
    written = BytesIO()
    image.save(written, "PNG", compress_level=9)
    return written.getvalue()


def draw_svg(face: BadgeFace) -> bytes:
    """Draw a badge as SVG."""
    middle = SIDE // 2
    shapes = (
        f'<rect width="{SIDE}" height="{SIDE}" fill="{_PAPER}"/>'
        f'<rect width="{SIDE}" height="{_HEAD_HEIGHT}" fill="{_ACCENT}"/>'
        f'<circle cx="{middle}" cy="{_HEAD_HEIGHT // 2}" r="{_RING}" fill="none" stroke="{_PAPER}" stroke-width="6"/>'
        f'<path d="{_tick_path()}" fill="none" stroke="{_PAPER}" stroke-width="9"/>'
        f'<rect x="1" y="1" width="{SIDE - 2}" height="{SIDE - 2}" fill="none" stroke="{_EDGE}" stroke-width="2"/>'
    )
    texts = "".join(map(_write_line, lay_out(face)))
    return _write_svg(SIDE, SIDE, face, f'{shapes}<g font-family="{_FAMILY}" text-anchor="middle">{texts}</g>')


def lay_out(face: BadgeFace) -> Iterator[TextLine]:
    """Lay out the texts of a badge, each in the largest size in which it fits, and cut where none does."""
    yield from _lay_out_block(face.kind, _KIND)
    yield from _lay_out_block(face.title, _TITLE)
    yield from _lay_out_block("Issued by", _LABEL)
    yield from _lay_out_block(face.issuer, _ISSUER)


def clean_text(text: str) -> str:
    """Replace white space by single spaces, and drop characters that are invisible or that no XML may have.

    >>> clean_text(" Diploma\\n in\\u202e Law\\x00 ")
    'Diploma in Law'
    """
    kept = (sign for sign in text if sign.isspace() or sign in JOINERS or unicodedata.category(sign)[0] != "C")
    return " ".join("".join(kept).split())


def _lay_out_block(text: str, block: _Block) -> Iterator[TextLine]:
    cleaned = clean_text(text)
    outlined = badge_fonts.has_outlines(cleaned)
    size, lines = _fit(cleaned, block, outlined)
    step = _step_of(size)
    top = block.middle - step * (len(lines) - 1) // 2
    for number, line in enumerate(lines):
        yield TextLine(line, top + number * step, size, block.color, outlined, block.is_strong)


def _fit(text: str, block: _Block, outlined: bool) -> tuple[int, list[str]]:
    """Find the largest size in which a text fits, and its lines; in the smallest one, cut what does not fit."""
    size, lines = block.sizes[0], [""]
    for size in block.sizes:
        lines = _wrap(text, size, block.max_lines(size) + 1, outlined)
        if len(lines) <= block.max_lines(size):
            return size, lines
    *kept, last = lines[: block.max_lines(size)]
    return size, [*kept, _shorten(last + _ELLIPSIS, size, outlined)]


def _step_of(size: int) -> int:
    """The distance of two lines of a size."""
    return round(size * _LEADING)


def _wrap(text: str, size: int, at_most: int, outlined: bool) -> list[str]:
    """Wrap a text into lines that fit, at spaces where there are some; stop after `at_most` lines."""
    lines: list[str] = []
    rest = text
    while rest and len(lines) < at_most:
        fitting = _count_fitting(rest, size, outlined)
        at = fitting if fitting == len(rest) else _find_break(rest, fitting)
        lines.append(rest[:at].strip())
        rest = rest[at:].strip()
    return lines


def _count_fitting(text: str, size: int, outlined: bool) -> int:
    """Count the characters at the beginning of a text that fit into a line, at least one."""
    low, high = 1, min(len(text), SIDE)  # no character is narrower than a pixel
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _fits(text[:middle], size, outlined) else (low, middle - 1)
    return low


def _find_break(text: str, fitting: int) -> int:
    """Find where a line ends: at its last space, else before a character that is no mark of the one before."""
    space = text.rfind(" ", 1, fitting + 1)
    if space > 0:
        return space
    at = fitting
    while at > 1 and (unicodedata.category(text[at])[0] == "M" or text[at] in JOINERS):
        at -= 1
    return at


def _shorten(line: str, size: int, outlined: bool) -> str:
    """Shorten a line that ends with an ellipsis until it fits."""
    while len(line) > 1 and not _fits(line, size, outlined):
        line = line[:-2].rstrip() + _ELLIPSIS
    return line


def _fits(text: str, size: int, outlined: bool) -> bool:
    return badge_fonts.measure_text(text, size, outlined=outlined) <= SIDE - 2 * _MARGIN


def _draw_line(draw: ImageDraw, line: TextLine) -> None:
    middle = SIDE // 2
    if line.outlined:
        stroke = 1 if line.is_strong else 0
        font = badge_fonts.load_outlines(line.size)
        draw.text((middle, line.y), line.text, line.color, font, anchor="mm", stroke_width=stroke)
        return
    mask = badge_fonts.draw_bitmaps(line.text, line.size)
    draw.bitmap((middle - mask.width // 2, line.y - mask.height // 2), mask, line.color)


def _draw_emblem() -> Image:
    """Draw the head of the card, a tick in a ring, with smooth edges."""
    from PIL import Image, ImageDraw

    scale, middle = _OVERSAMPLING, SIDE // 2
    large = Image.new("RGB", (SIDE * scale, _HEAD_HEIGHT * scale), _ACCENT)
    draw = ImageDraw.Draw(large)
    draw.circle((middle * scale, _HEAD_HEIGHT * scale // 2), (_RING + 3) * scale, outline=_PAPER, width=6 * scale)
    points = [(x * scale, y * scale) for x, y in _tick_points()]
    draw.line(points, _PAPER, 9 * scale, joint="curve")
    return large.resize((SIDE, _HEAD_HEIGHT), Image.Resampling.BOX)


def _tick_points() -> list[tuple[int, int]]:
    x, y = SIDE // 2, _HEAD_HEIGHT // 2
    return [(x - 19, y + 2), (x - 5, y + 16), (x + 21, y - 14)]


def _tick_path() -> str:
    return "M" + "L".join(f"{x} {y}" for x, y in _tick_points())


def _write_line(line: TextLine) -> str:
    weight = ' font-weight="bold"' if line.is_strong else ""
    baseline = line.y + round(line.size * 0.36)
    place = f'x="{SIDE // 2}" y="{baseline}" font-size="{line.size}" fill="{line.color}"'
    return f"<text {place}{weight}>{escape(line.text)}</text>"


def _frame_logo(logo: bytes, size: tuple[int, int], face: BadgeFace) -> bytes:
    """Frame a PNG as SVG of the same size, which contains it."""
    source = f"data:image/png;base64,{base64.b64encode(logo).decode('ascii')}"
    return _write_svg(*size, face, f'<image width="{size[0]}" height="{size[1]}" href="{source}"/>')


def _write_svg(width: int, height: int, face: BadgeFace, content: str) -> bytes:
    title = escape(clean_text(f"{face.title}, issued by {face.issuer}")[:MAX_DESCRIPTION_CHARACTERS])
    place = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    text = f'<svg xmlns="http://www.w3.org/2000/svg" {place} role="img"><title>{title}</title>{content}</svg>'
    return text.encode()


def _read_logo_size(logo: bytes) -> tuple[int, int] | None:
    """Read the size of a logo; None if it is no PNG, or a damaged one."""
    try:
        return read_png_size(logo)
    except ValidationFailed:
        return None
