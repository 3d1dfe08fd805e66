"""The words of markup, as a person reads them."""

from __future__ import annotations

import re


def read_words(markup: str) -> str:
    """The words of markup, with single spaces, and none before a full stop."""
    return re.sub(r" (?=[.,;])", "", re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", markup))).strip()
