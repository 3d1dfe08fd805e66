"""`LogState`: what the log inspector shows; all but the last four parameters are in its address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import ClassVar, Final, Self

import param

from attestlab.log.entries import EntryType
from attestlab_dashboards.log.heads import MAX_INDEX, KeptHead, SeenHead
from attestlab_dashboards.parameters import NO_ADDRESS, Value, choice, matching, object_id, page_number
from attestlab_dashboards.ranges import read_range
from attestlab_dashboards.state import PageState

MAX_FIND_CHARS: Final = 300
MAX_TRUST_CHARS: Final = 2_000  # of a pinned policy, which the address carries
MAX_BUNDLE_CHARS: Final = 1_000_000
SEARCH: Final = "q"  # the name of `find` in an address, as the search box of every page sends it
FILTERS: Final = ("type", "issuer", "range")  # of the entries that are listed
ENTRY_TYPES: Final = tuple(each.value for each in EntryType)


class Flip(StrEnum):
    """What the playground changes in a copy: one bit of it."""

    NOTHING = ""
    CLAIM = "claim"
    SIGNATURE = "signature"
    ENTRY = "entry"
    PATH = "path"
    ROOT = "root"


def _read_find(text: str) -> str:
    stripped = text.strip()
    if not 0 < len(stripped) <= MAX_FIND_CHARS:
        raise ValueError(f"Search for 1 to {MAX_FIND_CHARS} characters.")
    return stripped


def _at_most(most: int) -> Callable[[str], str]:
    def read(text: str) -> str:
        if len(text) > most:
            raise ValueError(f"The text has {len(text):,} characters; at most {most:,} are accepted.")
        return text

    return read


class LogState(PageState):
    """What the log inspector shows."""

    filters = FILTERS
    NAMES_IN_ADDRESS: ClassVar[Mapping[str, str]] = {"find": SEARCH}

    find = Value("", read=_read_find, doc="What is searched; empty for the newest attestation.")
    file = Value("", read=matching("[0-9a-f]{64}"), doc="The SHA-256 of a file to compare, 64 hex digits.")
    kept: Value[KeptHead | None] = Value(None, read=KeptHead.parse, write=str, doc="A head to compare, size.root.")
    flip = choice(Flip.NOTHING, *Flip, doc="The part of a copy in which one bit is flipped.")
    type = choice("", *ENTRY_TYPES, doc="The type of the entries that are listed; empty for all.")
    issuer = object_id(doc="The issuer whose entries are listed; empty for all.")
    range = Value("", read=read_range, doc="The days of the entries that are listed, from/to; empty for all.")
    page = page_number(most=MAX_INDEX, doc="The page of the entries.")
    entry = param.Integer(default=None, bounds=(0, MAX_INDEX), allow_None=True, doc="The index of the open entry.")
    trust = Value("", read=_at_most(MAX_TRUST_CHARS), doc="A pinned C2SP tlog-policy; empty for the service's own.")
    bundle = Value("", read=_at_most(MAX_BUNDLE_CHARS), doc="The text of a bundle to check.", precedence=NO_ADDRESS)
    answer = param.String(default="", doc="The service's reason codes, with spaces between.", precedence=NO_ADDRESS)
    looked = param.Integer(default=0, doc="How often the person looked again.", precedence=NO_ADDRESS)
    seen: Value[SeenHead | None] = Value(
        None, read=SeenHead.parse, write=str, doc="What the browser remembers of its last look.", precedence=NO_ADDRESS
    )

    @classmethod
    def from_query(cls, query: Mapping[str, str], /) -> tuple[Self, tuple[str, ...]]:
        """Read the query of an address, which may name the search `find` too."""
        return super().from_query({SEARCH if name == "find" else name: text for name, text in query.items()})
