"""Forms of texts, each a regular expression with words for people: no message shows the expression."""

from __future__ import annotations

_WORDS: dict[str, str] = {}
_UNDESCRIBED = "This text has another form than the field takes."


def describe_form(pattern: str, words: str) -> str:
    """Return a pattern for a field of a wire model, and remember the words with which errors explain it."""
    _WORDS[pattern] = words
    return pattern


def explain_form(pattern: object) -> str:
    """Return the words that explain a pattern to people.

    >>> explain_form(describe_form("^[A-Z]{2}$", "Send two letters in upper case, such as CH."))
    'Send two letters in upper case, such as CH.'
    """
    return _WORDS.get(str(pattern), _UNDESCRIBED)


def is_described(pattern: str) -> bool:
    """Whether `describe_form` was given words for this pattern."""
    return pattern in _WORDS


SHA256_HEX = describe_form(
    r"^(sha256:)?[0-9a-fA-F]{64}$", "Send a SHA-256 as 64 hex digits, with or without `sha256:` before it."
)
