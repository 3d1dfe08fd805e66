"""Texts of values for reprs and cards: one line of bounded length."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Final
from uuid import UUID

from attestlab.core.encoding import format_time

MAX_REPR_CHARACTERS: Final = 300
_MAX_VALUE_CHARACTERS: Final = 60


def shorten(text: str, limit: int) -> str:
    """Cut a text; a `…` is its last character then, before a bracket that it ends with."""
    if len(text) <= limit:
        return text
    end = text[-1] if text[-1] in ")" else ""
    return f"{text[: limit - 1 - len(end)]}…{end}"


def show_value(value: object) -> str:
    """Show a value in at most some sixty characters of one line."""
    if isinstance(value, Enum | UUID | datetime):
        return show_plainly(value)
    return shorten(repr(value), _MAX_VALUE_CHARACTERS)


def show_plainly(value: object) -> str:
    """Show a value as people read it: the value of an enumeration, a time to the minute."""
    if isinstance(value, Enum):
        return str(value.value)
    return format_time(value)[:16] + "Z" if isinstance(value, datetime) else str(value)
