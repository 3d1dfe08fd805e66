"""Rules of the pages: visible text, readable colours, and what a person searches for, as pure functions.

Colours follow WCAG 2.2 (relative luminance, contrast ratio; success criterion 1.4.3).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from attestlab.core.joiners import JOINERS

MONTHS = (  # `strftime` would use the names of the server's locale
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
MIN_CONTRAST = 4.5  # contrast ratio of text and background, level AA
MAX_SEARCH_CHARS = 500
_SHA256 = re.compile(r"(?:sha-?256[:=\s]\s*)?([0-9a-f]{64})(?![0-9a-f])")  # also a line that sha256sum prints
_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])")
_KEY = re.compile(r"[?&]k=([A-Za-z0-9_-]{22})(?![A-Za-z0-9_-])")
_INDEX = re.compile(r"[0-9]{1,15}", re.ASCII)
_COLOR = re.compile(r"#[0-9a-f]{6}")
_BREAKS = "\n\t"
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))
_NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
_INVISIBLE_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")


def escape_invisible(text: str) -> str:
    """Replace invisible characters by their code points, including those that change the writing direction.

    >>> escape_invisible("Zoë 👩‍🔬"), escape_invisible("gnp.exe" + chr(0x202E))
    ('Zoë 👩\u200d🔬', 'gnp.exe[U+202E]')
    """
    if text.isprintable():  # true for nearly all texts, and a much faster check
        return text
    return "".join(f"[U+{ord(sign):04X}]" if _is_invisible(sign) else sign for sign in text)


def drop_non_xml(text: str) -> str:
    """Drop the characters that XML 1.0 does not admit, with which no reader parses a document.

    >>> drop_non_xml("a" + chr(1) + "b" + chr(0xFFFE) + "c")
    'abc'
    """
    return _NOT_XML.sub("", text)


def _is_invisible(sign: str) -> bool:
    return sign not in JOINERS and sign not in _BREAKS and unicodedata.category(sign) in _INVISIBLE_CATEGORIES


def initials(name: str) -> str:
    """Abbreviate a name to up to two letters or digits.

    >>> initials("Northfield University"), initials("株式会社"), initials("...")
    ('NU', '株', '?')
    """
    words = re.findall(r"\w+", name.replace("_", " "))
    return "".join(word[0] for word in [*words[:1], *words[1:][-1:]]).upper() or "?"


def largest_unit(seconds: float) -> tuple[int, str]:
    """Express a duration in the largest unit that it fills: d, h, min or s.

    >>> largest_unit(41.2), largest_unit(150), largest_unit(7300), largest_unit(200000)
    ((41, 's'), (2, 'min'), (2, 'h'), (2, 'd'))
    """
    for size, unit in _UNITS:
        if seconds >= size:
            return int(seconds // size), unit
    return int(seconds), "s"


def shorten_middle(text: str, first: int, last: int) -> str:
    """Shorten a long text to its first and last characters; one that would hardly be shorter stays.

    >>> shorten_middle("0123456789" * 6 + "abcd", 8, 6), shorten_middle("short", 8, 6)
    ('01234567…89abcd', 'short')
    """
    return text if len(text) <= first + last + 4 else f"{text[:first]}…{text[-last:]}"


def parse_color(text: str | None) -> str | None:
    """Parse a colour `#rrggbb`; None for any other text."""
    lower = (text or "").lower()
    return lower if _COLOR.fullmatch(lower) else None


def contrast_ratio(one: str, other: str) -> float:
    """The contrast ratio of two colours, from 1 to 21.

    >>> contrast_ratio("#000000", "#ffffff"), round(contrast_ratio("#777777", "#ffffff"), 2)
    (21.0, 4.48)
    """
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(shown: str) -> float:
    red, green, blue = (_linear_channel(int(shown[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear_channel(part: float) -> float:
    return float(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)


def text_color_on(ground: str) -> str:
    """Choose black or white text for a background, by contrast; one of them is always readable.

    >>> text_color_on("#003366"), text_color_on("#ffdd00")
    ('#ffffff', '#000000')
    """
    return max(("#ffffff", "#000000"), key=lambda ink: contrast_ratio(ink, ground))


def first_readable(candidates: Iterable[str | None], *, on: Iterable[str], otherwise: str) -> str:
    """Select the first candidate with enough contrast on every background, or the default.

    >>> first_readable([None, "#ffff00", "#004400"], on=["#ffffff", "#f4f4f4"], otherwise="#000000")
    '#004400'
    """
    grounds = list(on)
    fits = (
        shade
        for shade in candidates
        if shade and all(contrast_ratio(shade, ground) >= MIN_CONTRAST for ground in grounds)
    )
    return next(fits, otherwise)


class SearchKind(StrEnum):
    """What a text in the search box names."""

    ATTESTATION = "attestation"
    INDEX = "index"
    SHA256 = "sha256"
    NOTHING = "nothing"


class SearchTerm(NamedTuple):
    """A text of the search box, recognised; `value` is canonical: a UUID, decimal digits, 64 hex digits, or the text.

    `key` is the share key of a pasted link, or None.
    """

    kind: SearchKind
    value: str
    key: str | None = None


def parse_search(text: str) -> SearchTerm:
    """Recognise what a text names: an attestation's id or link, an index of the log, or a SHA-256 in hex.

    >>> parse_search(" 12,846 "), parse_search("sha256:" + "AB" * 32).kind.value, parse_search("diploma").kind.value
    (SearchTerm(kind=<SearchKind.INDEX: 'index'>, value='12846', key=None), 'sha256', 'nothing')
    """
    stripped = text.strip()[:MAX_SEARCH_CHARS]
    if found := _SHA256.match(stripped.lower()):
        return SearchTerm(SearchKind.SHA256, found[1])
    if found := _ID.search(stripped.lower()):
        key = _KEY.search(stripped)
        return SearchTerm(SearchKind.ATTESTATION, found[0], key and key[1])
    digits = re.sub(r"[ ,.'_\u00a0\u202f]", "", stripped)
    if _INDEX.fullmatch(digits):
        return SearchTerm(SearchKind.INDEX, str(int(digits)))
    return SearchTerm(SearchKind.NOTHING, stripped)
