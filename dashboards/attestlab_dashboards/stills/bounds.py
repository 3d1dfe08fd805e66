"""Bounds of stills: what is longer than a pane or a page may be, ends with a line that says so."""

from __future__ import annotations

from typing import Final

from attestlab_dashboards.formats import plural
from attestlab_dashboards.stills.elements import Element

MAX_PANE_BYTES: Final = 60_000
MAX_PAGE_BYTES: Final = 300_000
_LISTS: Final = frozenset({"tbody", "ul", "ol", "dl"})
_MIN_ROWS: Final = 2  # of a list that is cut
_NOTE_BYTES: Final = 200  # room for the line about what is missing


def fit_pane(pane: Element, *, max_bytes: int = MAX_PANE_BYTES) -> Element:
    """Cut the longest lists of a pane until it fits; one that cannot be cut is left out, and a line says so.

    Args:
        pane: it is changed.
        max_bytes: how long it may be as markup, in UTF-8.
    """
    if pane.size_bytes <= max_bytes:
        return pane
    left_out = 0
    while pane.size_bytes > max_bytes - _NOTE_BYTES:
        longest = max(_find_lists(pane), key=lambda each: each.size_bytes, default=None)
        if longest is None:
            return leave_out(max_bytes)
        left_out += _halve(longest)
    pane.children.append(_note(f"{plural(left_out, 'more row')} on the page."))
    return pane


def leave_out(max_bytes: int) -> Element:
    """Make the line that stands for a part without room in a still of `max_bytes`."""
    return _note(f"This part is left out: a still has at most {max_bytes // 1000} kB. Open the page to see it.")


def _find_lists(pane: Element) -> list[Element]:
    return [each for each in pane.walk() if each.tag in _LISTS and len(_rows(each)) >= _MIN_ROWS]


def _rows(listed: Element) -> list[Element]:
    return [each for each in listed.children if isinstance(each, Element)]


def _halve(listed: Element) -> int:
    """Drop the second half of the rows of a list; returns how many."""
    rows = _rows(listed)
    kept = rows[: len(rows) // 2]
    listed.children = list(kept)
    return len(rows) - len(kept)


def _note(words: str) -> Element:
    return Element("p", {"class": "sub al-left-out"}, [words])
