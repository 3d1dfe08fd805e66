"""Generated files for the demo: a diploma and a certificate as PDF, a badge and a card as PNG.

The same arguments give the same bytes with the same version of Pillow, so that hashes in a notebook are stable: no
file contains a time, a random value or a path. The drawing depends on the text, so that two documents are easy to
distinguish. Texts must be ASCII, because Pillow's own font has no other letters.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from datetime import date
from io import BytesIO
from typing import Final

from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]
Point = tuple[float, float]

_PAPER: Final[Colour] = (252, 250, 244)
_INK: Final[Colour] = (38, 38, 46)
_GREY: Final[Colour] = (112, 112, 122)
_WHITE: Final[Colour] = (255, 255, 255)
_ACCENTS: Final[tuple[Colour, ...]] = ((27, 73, 101), (110, 36, 51), (40, 88, 60), (84, 58, 112), (122, 78, 22))

_PDF_DPI: Final = 120
_SHEET_PX: Final = (992, 700)  # A5 landscape, 210 x 148 mm
_BADGE_PX: Final = 480
_CARD_PX: Final = (856, 540)  # an ISO/IEC 7810 ID-1 card, ten pixels a millimetre
_OVERSAMPLING: Final = 3


def diploma_pdf(name: str, title: str, awarded: date, *, institution: str = "Northfield University") -> bytes:
    """Draw a one-page A5 PDF: `institution` confers `title` on `name`; under 60 KB."""
    lines = ("has fulfilled all requirements and is awarded the degree of", title)
    return _draw_sheet("Diploma", institution, name, lines, awarded)


def certificate_pdf(name: str, course: str, completed: date, *, provider: str = "Harbour Training") -> bytes:
    """Draw a one-page A5 PDF: `name` completed `course` with `provider`; under 60 KB."""
    lines = ("has completed, with all its assessments, the course", course)
    return _draw_sheet("Certificate of Completion", provider, name, lines, completed)


def badge_png(name: str, skill: str, earned: date, *, level: str = "Practitioner") -> bytes:
    """Draw a 480 x 480 PNG: a round badge for `skill`; under 60 KB."""
    accent, seed = _accent(name, skill, level), _seed(name, skill, level, earned.isoformat())
    side, middle = _BADGE_PX * _OVERSAMPLING, _BADGE_PX * _OVERSAMPLING / 2
    image = Image.new("RGB", (side, side), _WHITE)
    draw = ImageDraw.Draw(image)
    _draw_disc(draw, (middle, middle), side * 0.48, accent)
    _draw_rosette(draw, (middle, middle), side * 0.455, seed, _lighter(accent, 0.35), hollow=0.81)
    _draw_disc(draw, (middle, middle), side * 0.36, _PAPER)
    _draw_centered(draw, middle, side * 0.33, level.upper(), side // 26, _GREY, widest=side * 0.5)
    _draw_centered(draw, middle, side * 0.45, skill, side // 11, accent, widest=side * 0.62)
    _draw_centered(draw, middle, side * 0.57, name, side // 20, _INK, widest=side * 0.58)
    _draw_centered(draw, middle, side * 0.66, earned.isoformat(), side // 28, _GREY, widest=side * 0.5)
    return _png(image.resize((_BADGE_PX, _BADGE_PX), Image.Resampling.LANCZOS))


def card_png(name: str, organization: str, membership_id: str, valid_to: date) -> bytes:
    """Draw an 856 x 540 PNG: a membership card; under 60 KB."""
    accent, seed = _accent(organization), _seed(name, organization, membership_id)
    width, height = (pixels * _OVERSAMPLING for pixels in _CARD_PX)
    image = Image.new("RGB", (width, height), accent)
    draw = ImageDraw.Draw(image)
    _draw_rosette(draw, (width * 0.83, height * 0.74), height * 0.2, seed, _lighter(accent, 0.3), hollow=0.3)
    left, widest = width * 0.07, width * 0.6
    _draw_left(draw, left, height * 0.12, organization, height // 11, _WHITE, widest=widest)
    _draw_left(draw, left, height * 0.52, name, height // 9, _WHITE, widest=widest)
    _draw_left(draw, left, height * 0.70, f"Member {membership_id}", height // 17, _WHITE, widest=widest)
    _draw_left(draw, left, height * 0.80, f"Valid to {valid_to.isoformat()}", height // 17, _WHITE, widest=widest)
    return _png(image.resize(_CARD_PX, Image.Resampling.LANCZOS))


def _draw_sheet(heading: str, issuer: str, name: str, lines: tuple[str, str], on: date) -> bytes:
    accent, seed = _accent(issuer), _seed(heading, issuer, name, *lines, on.isoformat())
    width, height = (pixels * _OVERSAMPLING for pixels in _SHEET_PX)
    image = Image.new("RGB", (width, height), _PAPER)
    draw = ImageDraw.Draw(image)
    _draw_frame(draw, width, height, accent)
    middle, widest = width / 2, width * 0.8
    _draw_centered(draw, middle, height * 0.15, issuer, height // 22, accent, widest=widest)
    _draw_centered(draw, middle, height * 0.26, heading, height // 14, _INK, widest=widest)
    _draw_centered(draw, middle, height * 0.40, name, height // 15, accent, widest=widest)
    _draw_centered(draw, middle, height * 0.50, lines[0], height // 34, _GREY, widest=widest)
    _draw_centered(draw, middle, height * 0.585, lines[1], height // 20, _INK, widest=widest)
    _draw_rosette(draw, (middle, height * 0.79), height * 0.13, seed, accent, hollow=0.3)
    _draw_signature(draw, width * 0.22, height * 0.84, height, "Date", on.isoformat())
    _draw_signature(draw, width * 0.78, height * 0.84, height, "Registrar", issuer)
    small = image.resize(_SHEET_PX, Image.Resampling.LANCZOS)
    return _pdf(small, title=f"{heading}: {name}", author=issuer)


def _draw_frame(draw: ImageDraw.ImageDraw, width: int, height: int, fill: Colour) -> None:
    for inset, thickness in ((height // 30, height // 140), (height // 21, height // 400)):
        draw.rectangle((inset, inset, width - inset, height - inset), outline=fill, width=thickness)


def _draw_signature(draw: ImageDraw.ImageDraw, x: float, y: float, height: int, caption: str, text: str) -> None:
    half = height * 0.17
    draw.line((x - half, y, x + half, y), fill=_GREY, width=height // 400)
    _draw_centered(draw, x, y - height * 0.03, text, height // 34, _INK, widest=half * 1.9)
    _draw_centered(draw, x, y + height * 0.025, caption, height // 44, _GREY, widest=half * 1.9)


def _pdf(image: Image.Image, *, title: str, author: str) -> bytes:
    out = BytesIO()
    # Pillow writes the current time into a PDF unless both dates are None.
    image.save(out, "PDF", resolution=_PDF_DPI, quality=50, title=title, author=author, creationDate=None, modDate=None)
    return out.getvalue()


def _png(image: Image.Image) -> bytes:
    out = BytesIO()
    image.quantize(64, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def _draw_centered(
    draw: ImageDraw.ImageDraw, x: float, y: float, text: str, size: int, fill: Colour, *, widest: float
) -> None:
    draw.text((x, y), text, fill=fill, font=_fit_font(text, size, widest), anchor="mm")


def _draw_left(
    draw: ImageDraw.ImageDraw, x: float, y: float, text: str, size: int, fill: Colour, *, widest: float
) -> None:
    draw.text((x, y), text, fill=fill, font=_fit_font(text, size, widest), anchor="lm")


def _fit_font(text: str, size: int, widest: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Load Pillow's own font, as large as `size` or as the width allows."""
    if not text.isascii():
        raise ValueError(f"{text!r} is not ASCII, and Pillow's own font has no other letters.")
    font = ImageFont.load_default(size)
    length = font.getlength(text)
    return font if length <= widest else ImageFont.load_default(max(8, size * widest / length))


def _draw_disc(draw: ImageDraw.ImageDraw, centre: Point, radius: float, fill: Colour) -> None:
    x, y = centre
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)


def _draw_rosette(
    draw: ImageDraw.ImageDraw, centre: Point, radius: float, seed: bytes, fill: Colour, *, hollow: float
) -> None:
    """Draw a guilloche rosette that depends on `seed`; `hollow` is the share of the radius left empty."""
    petals, strands, turn = 7 + seed[0] % 8, 4 + seed[1] % 3, seed[2] / 256
    for strand in range(strands):
        line = list(_wave_points(centre, radius, petals, 2 * math.pi * (strand + turn) / strands, hollow))
        draw.line(line, fill, max(1, round(radius / 130)))


def _wave_points(centre: Point, radius: float, petals: int, phase: float, hollow: float) -> Iterator[Point]:
    steps = 60 * petals
    for step in range(steps + 1):
        angle = 2 * math.pi * step / steps
        reach = radius * ((1 + hollow) / 2 + (1 - hollow) / 2 * math.cos(petals * angle + phase))
        yield centre[0] + reach * math.cos(angle), centre[1] + reach * math.sin(angle)


def _seed(*texts: str) -> bytes:
    return hashlib.sha256("\x00".join(texts).encode()).digest()


def _accent(*texts: str) -> Colour:
    return _ACCENTS[_seed(*texts)[0] % len(_ACCENTS)]


def _lighter(colour: Colour, share: float) -> Colour:
    red, green, blue = (round(part + (255 - part) * share) for part in colour)
    return red, green, blue
