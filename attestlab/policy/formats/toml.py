"""Policies in TOML (https://toml.io/en/v1.0.0), for authors who write them by hand, with comments."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator
from datetime import date, time
from uuid import UUID

from attestlab.core.encoding import json_pointer
from attestlab.core.errors import FieldError, ValidationFailed
from attestlab.core.strict_json import UNSTORABLE
from attestlab.policy.language.document import MAX_DOCUMENT_BYTES, Document, invalid_policy

MAX_KEY_PARTS = 16  # of one dotted key: tomllib takes quadratic time
_TOKEN = re.compile(
    r'''"""(?:[^"\\]|\\[\s\S]|"(?!""))*(?:"""|\Z)|'''
    r"""'''(?:[^']|'(?!''))*(?:'''|\Z)|"""
    r""""(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[\w+-]+|[ \t]+|[\s\S]"""
)


def parse_body(raw: object) -> Document:
    """Parse a submitted document, as JSON or as `{"toml": "..."}`.

    Raises:
        ValidationFailed: it is not a policy.
    """
    if not isinstance(raw, dict) or "toml" not in raw:
        return Document.read(raw)
    if len(raw) > 1 or not isinstance(raw["toml"], str):
        raise ValidationFailed.of("/toml", "toml", "`toml` must be a text and the only member.")
    return parse_toml(raw["toml"])


def parse_body_or_id(policy: object, policy_id: UUID | None) -> Document | UUID:
    """Parse the document of a request, or return the id of the policy that it names; it has at least one of them.

    Raises:
        ValidationFailed: the document is not a policy.
    """
    if policy is not None:
        return parse_body(policy)
    assert policy_id is not None
    return policy_id


def parse_toml(text: str) -> Document:
    """Parse a document from TOML.

    Raises:
        ValidationFailed: it is not TOML or not a policy; or it has values that JSON cannot express.
    """
    if len(text) > MAX_DOCUMENT_BYTES:
        raise ValidationFailed.of(
            "/toml", "too_large", f"TOML of a policy has at most {MAX_DOCUMENT_BYTES:,} characters."
        )
    _require_short_keys(text)
    try:
        raw = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # not TOML, or a number with more digits than Python reads
        raise ValidationFailed.of("/toml", "toml", f"This is not TOML: {error}.") from None
    document = Document.read(raw)  # first, because it bounds the traversal below
    if faults := list(_errors_beyond_json(raw)):
        raise invalid_policy(faults)
    return document


def format_toml(document: Document) -> str:
    """Return the document as TOML, which parses to the same document, except for nulls in the context of a test.

    TOML has no null. In a context null means missing, like an omitted member, so nulls are omitted.
    """
    import tomli_w  # loaded late, so that the server starts faster

    return tomli_w.dumps({name: _without_nulls(member) for name, member in document.content().items()})


def _require_short_keys(text: str) -> None:
    """Reject a key of many parts before tomllib parses it; only a line with as many dots is tokenized.

    Raises:
        ValidationFailed: a key has more parts than `MAX_KEY_PARTS`.
    """
    if any(line.count(".") >= MAX_KEY_PARTS for line in text.split("\n")) and _longest_run(text) >= MAX_KEY_PARTS:
        message = f"A dotted key has at most {MAX_KEY_PARTS} parts; write tables within tables instead."
        raise ValidationFailed.of("/toml", "key_too_long", message)


def _longest_run(text: str) -> int:
    """Count the dots of the longest dotted key; between two dots is one word, plain or quoted, and blanks."""
    longest = run = words = 0
    for token in _TOKEN.findall(text):
        if token == ".":
            run, words = (run + 1, 0) if words == 1 else (0, 0)
            longest = max(longest, run)
        elif token[0] in " \t":
            continue
        elif token[0] in "\"'+-_" or token[0].isalnum():
            words += 1
            run = run if words == 1 else 0
        else:
            run = words = 0
    return longest


def _errors_beyond_json(value: object, *path: str | int) -> Iterator[FieldError]:
    """Yield an error for each value that the JSON reader would reject: unstorable texts, non-finite numbers, times."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _text_errors(key, *path)
            yield from _errors_beyond_json(member, *path, key)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from _errors_beyond_json(member, *path, index)
    elif isinstance(value, str):
        yield from _text_errors(value, *path)
    elif isinstance(value, float) and not math.isfinite(value):
        yield FieldError(json_pointer(*path), "number", f"{value} is not a number in JSON; omit it.")
    elif isinstance(value, date | time):
        yield FieldError(json_pointer(*path), "time", "Attributes cannot be dates or times; use a text.")


def _text_errors(text: str, *path: str | int) -> Iterator[FieldError]:
    """Yield an error for an unstorable text; that of a key has the position of its table."""
    if UNSTORABLE.search(text):
        message = "The text contains U+0000 or a lone surrogate, which a database cannot store; remove it."
        yield FieldError(json_pointer(*path), "nul" if "\0" in text else "lone_surrogate", message)


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [_without_nulls(member) for member in value if member is not None]
    return value
