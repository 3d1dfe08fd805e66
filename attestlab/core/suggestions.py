"""Suggestions for misspelt words, in bounded time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from heapq import nlargest

MAX_SUGGESTIONS = 5  # of one response; further errors have no suggestion
_MAX_SUGGESTION_CHARS = 40  # longer words are not compared
_MAX_CANDIDATES = 6  # compared in full, which takes up to a millisecond each
_SEPARATORS = re.compile("[_.-]")


def find_nearest(word: str, words: Iterable[str]) -> str | None:
    """Find the word most similar to `word`, ignoring case and the order of its parts; None if no word is similar.

    One pass over `words` selects the few that share the most letters, and only these are compared in full: a thousand
    words take about a millisecond, whatever they contain.

    >>> find_nearest("trust_teir", ["jurisdiction", "trust_tier"])
    'trust_tier'
    >>> find_nearest("effect_default", ["default_effect", "mode"])
    'default_effect'
    """
    if len(word) > _MAX_SUGGESTION_CHARS:
        return None
    target = word.casefold()
    letters = set(target)

    def similarity(known: str) -> int:
        return len(letters.intersection(known)) + 2 * known.startswith(target[:2]) - abs(len(known) - len(target))

    folded = {known.casefold(): known for known in words if len(known) <= _MAX_SUGGESTION_CHARS}
    candidates = nlargest(_MAX_CANDIDATES, folded, key=similarity)
    parts = _sort_parts(target)
    found = [known for known in candidates if _sort_parts(known) == parts]
    found = found or get_close_matches(target, candidates, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def describe_unknown(noun: str, nearest: str | None) -> str:
    """Return the message about an unknown member or parameter, with the nearest known one."""
    return f"Unknown {noun}." + (f" Did you mean `{nearest}`?" if nearest else "")


def _sort_parts(word: str) -> list[str]:
    return sorted(_SEPARATORS.split(word))
