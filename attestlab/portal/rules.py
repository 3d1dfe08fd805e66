"""Rules of the public page: visible text, readable colours and the media type, as pure functions.

Colours follow WCAG 2.2 (relative luminance, contrast ratio; success criterion 1.4.3),
media types RFC 9110 section 12.5.1.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

MIN_CONTRAST = 4.5  # contrast ratio of text and background, level AA
_COLOR = re.compile(r"#[0-9a-f]{6}")
_JOINERS = "\u200c\u200d"  # many scripts and emoji need them, and they do not reorder text
_BREAKS = "\n\t"
_INVISIBLE_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")


def escape_invisible(text: str) -> str:
    """Replace invisible characters by their code points, including those that change the writing direction.

    >>> escape_invisible("Zoë 👩‍🔬"), escape_invisible("gnp.exe" + chr(0x202E))
    ('Zoë 👩\u200d🔬', 'gnp.exe[U+202E]')
    """
    if text.isprintable():  # true for nearly all texts, and a much faster check
        return text
    return "".join(f"[U+{ord(sign):04X}]" if _is_invisible(sign) else sign for sign in text)


def _is_invisible(sign: str) -> bool:
    return sign not in _JOINERS and sign not in _BREAKS and unicodedata.category(sign) in _INVISIBLE_CATEGORIES


def initials(name: str) -> str:
    """Abbreviate a name to up to two letters or digits.

    >>> initials("Northfield University"), initials("株式会社"), initials("...")
    ('NU', '株', '?')
    """
    words = re.findall(r"\w+", name.replace("_", " "))
    return "".join(word[0] for word in [*words[:1], *words[1:][-1:]]).upper() or "?"


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


def wants_json(accept: str | None) -> bool:
    """Whether an Accept header prefers JSON to HTML; without a preference the client gets HTML.

    >>> wants_json("application/json"), wants_json("text/html,application/json;q=0.9"), wants_json("*/*")
    (True, False, False)
    """
    weights = dict(_parse_weight(part) for part in (accept or "*/*").lower().split(","))
    return _weight(weights, "application/json") > _weight(weights, "text/html")


def _parse_weight(part: str) -> tuple[str, float]:
    kind, *parameters = (piece.strip() for piece in part.split(";"))
    given = next((value[2:] for value in parameters if value.startswith("q=")), "1")
    return kind, float(given) if re.fullmatch(r"[01](\.[0-9]{0,3})?", given) else 0.0


def _weight(weights: dict[str, float], kind: str) -> float:
    family = kind.partition("/")[0]
    return next((weights[name] for name in (kind, f"{family}/*", "*/*") if name in weights), 0.0)
