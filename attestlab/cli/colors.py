"""Colours of results on a terminal; each only repeats what a word says. NO_COLOR turns them off (no-color.org)."""

from __future__ import annotations

import os
import sys

GOOD, BAD, OPEN = "32", "31", "33"  # green, red and yellow, as SGR parameters (ECMA-48)


def paint(text: str, color: str) -> str:
    """Colour a text for standard output, if that is a terminal that shows colours."""
    return f"\x1b[{color}m{text}\x1b[0m" if _shows_colors() else text


def _shows_colors() -> bool:
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
