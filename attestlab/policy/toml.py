"""Policies as TOML (https://toml.io/en/v1.0.0): for people who write them by hand, with comments."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from datetime import date, time
from typing import Any

from attestlab.core.errors import FieldError, ValidationFailed
from attestlab.policy.attributes import UNSTORABLE
from attestlab.policy.documents import MOST_BYTES, Document, pointer, refusal


def document_of(text: str) -> Document:
    """The document that a TOML text spells.

    Raises:
        ValidationFailed: it is no TOML, or no policy; or it says what JSON could not have said.
    """
    if len(text) > MOST_BYTES:
        raise ValidationFailed.of("/toml", "too_large", f"A policy has at most {MOST_BYTES:,} characters of TOML.")
    try:
        raw = tomllib.loads(text)
    except (ValueError, RecursionError) as fault:  # no TOML, or a number of more digits than Python reads
        raise ValidationFailed.of("/toml", "toml", f"This is not TOML: {fault}.") from None
    document = Document.read(raw)  # first, for it bounds what is walked next
    if faults := list(_unsaid_in_json(raw)):
        raise refusal(faults)
    return document


def toml_of(document: Document) -> str:
    """The document as TOML. Reading it again gives the same one, but for nulls in the context of a test.

    TOML has no null. In a context it means missing, as what is left out does; so they are left out.
    """
    import tomlkit  # loaded late: a server's start does not wait for it

    return tomlkit.dumps(_without_nulls(document.content()))


def _unsaid_in_json(value: object, *path: str | int) -> Iterator[FieldError]:
    """Texts that no database holds, numbers that are none, and times: what no reader of JSON lets through."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _fault_of_text(key, *path)
            yield from _unsaid_in_json(member, *path, key)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from _unsaid_in_json(member, *path, index)
    elif isinstance(value, str):
        yield from _fault_of_text(value, *path)
    elif isinstance(value, float) and not math.isfinite(value):
        yield FieldError(pointer(*path), "number", f"{value} is no number that JSON knows; leave it out.")
    elif isinstance(value, date | time):
        yield FieldError(pointer(*path), "time", "No attribute is a date or a time; write it as a text.")


def _fault_of_text(text: str, *path: str | int) -> Iterator[FieldError]:
    """A faulty key is told at the table that has it."""
    if UNSTORABLE.search(text):
        message = "A text holds U+0000 or half of a surrogate pair, which a database's text cannot; leave it out."
        yield FieldError(pointer(*path), "nul" if "\0" in text else "lone_surrogate", message)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [_without_nulls(member) for member in value if member is not None]
    return value
