"""Cards: what a notebook shows of an object, in light and dark, and still readable where a host removes every style.

JupyterLab's sanitizer keeps inline styles with literal values, and a code host keeps bare tables. So a card is one
table with literal inline styles and no text colour; a state is a pill with a glyph and a word. Every text
is escaped, and none enters a style or an address.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum
from html import escape
from typing import Final, NamedTuple

MAX_TEXT_CHARACTERS = 200
_SHORT_HASH_CHARACTERS = 20
_LINE: Final = "rgba(127,127,127,0.35)"
_TABLE: Final = (
    "border-collapse:collapse;max-width:560px;width:100%;table-layout:auto;text-align:left;font-size:13px;"
    f"border:1px solid {_LINE};margin:4px 0px"
)
_ROW: Final = "background-color:transparent"
_LABEL: Final = (
    "text-align:left;vertical-align:top;padding:3px 12px;border:none;opacity:0.75;white-space:nowrap;width:1%"
)
_VALUE: Final = "text-align:left;vertical-align:top;padding:3px 12px;border:none;width:99%"
_HEAD: Final = "text-align:left;padding:9px 12px 5px 12px;border:none;font-weight:bold"
_FOOT: Final = f"text-align:left;padding:7px 12px;border:none;border-top:1px solid {_LINE};font-size:12px;opacity:0.85"
_MONO: Final = "font-family:monospace;font-size:12px;white-space:nowrap"


class CardTone(StrEnum):
    """The judgement that a pill shows: its colour has 5.3:1 against white text and 3.4:1 against a dark page."""

    GOOD = "#1e7a46"
    BAD = "#c5302b"
    WARN = "#915f00"
    CALM = "#5f6b7b"


_GLYPHS = {CardTone.GOOD: "✓", CardTone.BAD: "✗", CardTone.WARN: "△", CardTone.CALM: "○"}


class Markup(str):
    """Markup that this module made from escaped text; every other text is escaped when it enters a card."""

    __slots__ = ()


class CardRow(NamedTuple):
    """A line of a card: its label, and a value that is escaped unless it is `Markup`."""

    label: str
    value: object


def draw_card(
    tone: CardTone, word: str, title: str, rows: Iterable[CardRow], *, foot: str | Markup | None = None
) -> str:
    """Draw a card: a pill and a title, lines of label and value, and a closing line."""
    head = f'<td colspan="2" style="{_HEAD}">{_draw_pill(tone, word)}&nbsp; {write_text(title)}</td>'
    drawn = [_draw_row(head), *(_draw_pair(row) for row in rows if row.value is not None)]
    if foot is not None:
        drawn.append(_draw_row(f'<td colspan="2" style="{_FOOT}">{write_text(foot)}</td>'))
    return f'<table style="{_TABLE};border-left:4px solid {tone.value}"><tbody>{"".join(drawn)}</tbody></table>'


def write_text(value: object) -> Markup:
    """Escape a text and shorten it; markup stays as it is."""
    if isinstance(value, Markup):
        return value
    text = str(value)
    text = text if len(text) <= MAX_TEXT_CHARACTERS else text[: MAX_TEXT_CHARACTERS - 1] + "…"
    return Markup(escape(text, quote=True))


def write_code(text: object) -> Markup:
    """Write a text as code."""
    return Markup(f'<code style="{_MONO}">{write_text(text)}</code>')


def write_hash(text: str) -> Markup:
    """Write a hash or an id by its ends; the whole is what the object's field has."""
    whole = text.removeprefix("sha256:")
    short = whole if len(whole) <= _SHORT_HASH_CHARACTERS else f"{whole[:8]}…{whole[-6:]}"
    return write_code(short)


def write_time(at: datetime) -> str:
    """Write a time for people, in UTC.

    >>> from datetime import datetime, UTC
    >>> write_time(datetime(2026, 11, 2, 9, 5, tzinfo=UTC))
    '2 Nov 2026, 09:05 UTC'
    """
    at = at.astimezone(UTC)
    return f"{at.day} {at:%b %Y, %H:%M} UTC"


def write_steps(steps: Iterable[tuple[str, bool | None]]) -> Markup:
    """Write the steps of a verification: passed, failed, or None for those that were not reached."""
    return Markup(" &nbsp; ".join(_draw_step(name, outcome) for name, outcome in steps))


def write_bar(share: float, tone: CardTone, text: str) -> Markup:
    """Write a number after a bar of a width from 0 to 1."""
    width = max(4, round(160 * min(1.0, max(0.0, share))))
    bar = f"display:inline-block;width:{width}px;height:8px;background-color:{tone.value}"
    return Markup(f'<span style="{bar}"></span> <b>{write_text(text)}</b>')


def join(*parts: object) -> Markup:
    """Join texts and markup."""
    return Markup("".join(write_text(part) for part in parts))


def _draw_step(name: str, outcome: bool | None) -> str:
    shown = write_text(name)
    if outcome is None:
        return f'<span style="opacity:0.6;white-space:nowrap">&ndash;&nbsp;{shown}</span>'
    return f"✓&nbsp;{shown}" if outcome else _draw_pill(CardTone.BAD, name)


def _draw_pill(tone: CardTone, word: str) -> str:
    style = f"background-color:{tone.value};color:#ffffff;padding:2px 8px;border-radius:9px;white-space:nowrap"
    return f'<span style="{style}"><b>{_GLYPHS[tone]}&nbsp;{write_text(word)}</b></span>'


def _draw_pair(row: CardRow) -> str:
    label = f'<td style="{_LABEL}">{write_text(row.label)}</td>'
    return _draw_row(f'{label}<td style="{_VALUE}">{write_text(row.value)}</td>')


def _draw_row(cells: str) -> str:
    return f'<tr style="{_ROW}">{cells}</tr>'
