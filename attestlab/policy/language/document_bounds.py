"""The bounds of a policy document as JSON, which hold before any recursive code reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attestlab.core.errors import ValidationFailed

MAX_JSON_VALUES = 50_000  # JSON values of a whole document
MAX_JSON_DEPTH = 32  # JSON levels of a whole document; each level of a condition takes two


def require_bounded(raw: object) -> None:
    """Reject a document with too many values or levels, without recursion, before any recursive code reads it."""
    level, depth, nodes = [raw], 0, 0
    while level:
        nodes, depth = nodes + len(level), depth + 1
        if nodes > MAX_JSON_VALUES or depth > MAX_JSON_DEPTH:
            raise ValidationFailed.of(
                "",
                "too_large",
                f"A policy has at most {MAX_JSON_VALUES:,} values in at most {MAX_JSON_DEPTH} levels.",
            )
        level = [inner for value in level for inner in _children(value)]


def _children(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value
