"""Wire models of the search (CONTRACT section 8)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from attestlab.core.encoding import quote
from attestlab.core.joiners import drop_joiners
from attestlab.core.shapes import In, Out
from attestlab.search.rules import DEFAULT_ITEMS, MAX_ITEMS, MAX_TEXT_LENGTH, FoundType

FoundTypeName = Literal["entity", "case", "issuer", "key", "policy", "decision", "attestation", "person", "page"]


def _read_text(text: str) -> str:
    trimmed = text.strip()
    if not trimmed or not drop_joiners(trimmed).isprintable():
        raise ValueError(f"{quote(text)} is nothing to search. Send 1 to {MAX_TEXT_LENGTH} printable characters.")
    return trimmed


def _read_types(names: object) -> object:
    return tuple(map(_read_type, names.split(","))) if isinstance(names, str) else names


def _read_type(name: str) -> FoundType:
    try:
        return FoundType(name.strip())
    except ValueError:
        raise ValueError(f"There is no type {quote(name)}. Send some of {', '.join(FoundType)}.") from None


class TenantSearchQuery(In, wire_name="search_query", source="CONTRACT 8"):
    """What to search, and what kinds of things."""

    q: Annotated[str, Field(min_length=1, max_length=MAX_TEXT_LENGTH), AfterValidator(_read_text)]
    """The beginning of an id or hash, from 4 characters, or a part of a name. Format: 1-256 characters."""
    types: Annotated[
        tuple[FoundType, ...],
        BeforeValidator(_read_types),
        WithJsonSchema({"type": "string"}),
    ] = Field(default_factory=lambda: tuple(FoundType))
    """Only these types, found in this order; by default all. Format: types, separated by commas."""
    limit: Annotated[int, Field(ge=1, le=MAX_ITEMS)] = DEFAULT_ITEMS
    """The most that is returned, shared between the types. Format: 1-50, by default 20."""


class FoundOut(Out, wire_name="search_result", source="CONTRACT 8"):
    """One thing that was found, and where the dashboards show it."""

    type: FoundTypeName
    """What it is. Format: entity, case, issuer, key, policy, decision, attestation, person or page."""
    id: str
    """Its id; that of an entity is its type, a colon and its id. Format: text."""
    title: str
    """Its name, or what it is known by. Format: text."""
    subtitle: str
    """What it is and how it stands, for people. Format: text."""
    url: str
    """Its page in the dashboards. Format: a path below the address of the service."""


class SearchOut(Out, wire_name="search_result_list", source="CONTRACT 8"):
    """What was found, by type; empty if there is nothing that the caller may read."""

    items: list[FoundOut]
    """What was found, in the order of the types. Format: at most `limit`."""
    truncated: bool
    """Whether more was found than `limit`. Format: true or false."""
