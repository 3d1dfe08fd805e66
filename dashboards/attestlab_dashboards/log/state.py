"""`LogState`: what the log inspector shows; all but the last four parameters are in its address."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import ClassVar, Final, NamedTuple, Self

import param

from attestlab.log.entries import EntryType
from attestlab_dashboards.state import NO_ADDRESS, PageState, Value, choice, matching, page_number, read_uuid

MAX_FIND_CHARS: Final = 300
MAX_TRUST_CHARS: Final = 2_000  # of a pinned policy, which the address carries
MAX_BUNDLE_CHARS: Final = 1_000_000
MAX_INDEX: Final = 2**63 - 1
SEARCH: Final = "q"  # the name of `find` in an address, as the search box of every page sends it
FILTERS: Final = ("type", "issuer")  # of the entries that are listed
ENTRY_TYPES: Final = tuple(each.value for each in EntryType)

_HEAD = r"(?P<size>0|[1-9][0-9]{0,18})\.(?P<root>[0-9a-f]{64})"
_SEEN = rf"(?P<head>{_HEAD})\.(?P<key>[0-9a-f]{{8}})\.(?P<at>[0-9]{{1,11}})"


class Flip(StrEnum):
    """What the playground changes in a copy: one bit of it."""

    NOTHING = ""
    CLAIM = "claim"
    SIGNATURE = "signature"
    ENTRY = "entry"
    PATH = "path"
    ROOT = "root"


class KeptHead(NamedTuple):
    """A tree head that this browser kept: the number of entries and the root (64 hex digits)."""

    size: int
    root: str

    def __str__(self) -> str:
        return f"{self.size}.{self.root}"

    @classmethod
    def parse(cls, text: str) -> KeptHead:
        """Parse `size.root`.

        Raises:
            ValueError: it is none.
        """
        found = re.fullmatch(_HEAD, text, re.ASCII)
        if found is None or int(found["size"]) > MAX_INDEX:
            raise ValueError(text)
        return cls(int(found["size"]), found["root"])


class SeenHead(NamedTuple):
    """The tree head that this browser saw at its last look, the key that signed it (8 hex digits), and when."""

    head: KeptHead
    key_id: str
    at: datetime

    def __str__(self) -> str:
        return f"{self.head}.{self.key_id}.{int(self.at.timestamp())}"

    @classmethod
    def parse(cls, text: str) -> SeenHead:
        """Parse what the browser remembers.

        Raises:
            ValueError: it is none.
        """
        found = re.fullmatch(_SEEN, text, re.ASCII)
        if found is None:
            raise ValueError(text)
        return cls(KeptHead.parse(found["head"]), found["key"], datetime.fromtimestamp(int(found["at"]), UTC))


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

    NAMES_IN_ADDRESS: ClassVar[Mapping[str, str]] = {"find": SEARCH}

    find = Value("", read=_read_find, doc="What is searched; empty for the newest attestation.")
    file = Value("", read=matching("[0-9a-f]{64}"), doc="The SHA-256 of a file to compare, 64 hex digits.")
    kept: Value[KeptHead | None] = Value(None, read=KeptHead.parse, write=str, doc="A head to compare, size.root.")
    flip = choice(Flip.NOTHING, *Flip, doc="The part of a copy in which one bit is flipped.")
    type = choice("", *ENTRY_TYPES, doc="The type of the entries that are listed; empty for all.")
    issuer = Value("", read=read_uuid, doc="The issuer whose entries are listed; empty for all.")
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
