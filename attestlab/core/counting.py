"""Counts in sentences: a noun agrees with its number, on every page and in every message."""

from __future__ import annotations


def plural(number: int, one: str, many: str = "") -> str:
    """Write a count with its noun; `many` where the plural is not the noun with an s.

    >>> plural(1, "signal"), plural(1204, "signal"), plural(0, "entry", "entries")
    ('1 signal', '1,204 signals', '0 entries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
