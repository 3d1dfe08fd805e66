"""`LogState`: all that the address of the log inspector carries, and its reducers; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, NamedTuple, Self

MAX_FIND_CHARS: Final = 300
MAX_TRUST_CHARS: Final = 2_000  # of a pinned policy, which the address carries
MAX_BUNDLE_CHARS: Final = 1_000_000
MAX_INDEX: Final = 2**63 - 1
SEARCH: Final = "q"  # the name of `find` in an address, as the search box of every page sends it
ENTRY_TYPES: Final = ("attestation.minted", "attestation.status", "key.status", "issuer.status", "status.list")

_HEX_HASH = re.compile(r"[0-9a-f]{64}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SEEN = re.compile(r"(?P<head>[0-9]{1,19}\.[0-9a-f]{64})\.(?P<key>[0-9a-f]{8})\.(?P<at>[0-9]{1,11})", re.ASCII)
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


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
    def parse(cls, text: str) -> KeptHead | None:
        """Parse `size.root`; None for any other text."""
        size, _, root = text.partition(".")
        number = _parse_number(size)
        return cls(number, root) if number is not None and _HEX_HASH.fullmatch(root) else None


class SeenHead(NamedTuple):
    """The tree head that this browser saw at its last look, the key that signed it (8 hex digits), and when."""

    head: KeptHead
    key_id: str
    at: datetime

    def __str__(self) -> str:
        return f"{self.head}.{self.key_id}.{int(self.at.timestamp())}"

    @classmethod
    def parse(cls, text: str) -> SeenHead | None:
        """Parse what the browser remembers; None for any other text."""
        found = _SEEN.fullmatch(text)
        head = KeptHead.parse(found["head"]) if found else None
        if found is None or head is None:
            return None
        return cls(head, found["key"], datetime.fromtimestamp(int(found["at"]), UTC))


@dataclass(frozen=True, kw_only=True)
class LogState:
    """What the inspector shows.

    `find` is the text of the search box, `file` the SHA-256 (hex) of a file to compare, `entry` the index that is open
    in the drawer, `trust` a pinned C2SP tlog-policy, `seen` what the browser remembers of its last look. No address
    carries `bundle`, `answer`, `looked` and `seen`.
    """

    find: str = ""
    file: str = ""
    kept: KeptHead | None = None
    flip: Flip = Flip.NOTHING
    type: str = ""
    issuer: str = ""
    page: int = 1
    entry: int | None = None
    trust: str = ""
    bundle: str = field(default="", repr=False)
    answer: str = ""  # of the service to step 8: reason codes, separated by spaces
    looked: int = 0  # how often the person looked again
    seen: SeenHead | None = None

    @classmethod
    def from_query(cls, query: Mapping[str, str], /) -> tuple[Self, tuple[str, ...]]:
        """Read a query; returns the state, and the names of parameters that were left out."""
        values: dict[str, object] = {}
        left_out = []
        for wire_name, text in query.items():
            name = "find" if wire_name == SEARCH else wire_name
            value = _PARSERS[name](text) if name in _PARSERS else None
            if value is None:
                left_out.append(wire_name)
            else:
                values[name] = value
        return cls(**values), tuple(left_out)  # type: ignore[arg-type]  # each parser gives the type of its field

    def to_query(self) -> dict[str, str]:
        """Write the state as a query, without what is the default."""
        changed = {name: getattr(self, name) for name in _PARSERS if getattr(self, name) != getattr(_DEFAULT, name)}
        return {SEARCH if name == "find" else name: str(value) for name, value in changed.items()}


def _parse_number(text: str) -> int | None:
    number = int(text) if _NUMBER.fullmatch(text) else -1
    return number if 0 <= number <= MAX_INDEX else None


def _parse_page(text: str) -> int | None:
    return _parse_number(text) or None


def _parse_find(text: str) -> str | None:
    stripped = text.strip()
    return stripped if 0 < len(stripped) <= MAX_FIND_CHARS else None


def _parse_flip(text: str) -> Flip | None:
    return Flip(text) if text in set(Flip) else None


def _parse_trust(text: str) -> str | None:
    return text if 0 < len(text) <= MAX_TRUST_CHARS else None


def _parse_hash(text: str) -> str | None:
    return text if _HEX_HASH.fullmatch(text) else None


def _parse_issuer(text: str) -> str | None:
    return text if _UUID.fullmatch(text) else None


_PARSERS: Final[Mapping[str, Callable[[str], object | None]]] = {
    "find": _parse_find,
    "file": _parse_hash,
    "kept": KeptHead.parse,
    "flip": _parse_flip,
    "type": lambda text: text if text in ENTRY_TYPES else None,
    "issuer": _parse_issuer,
    "page": _parse_page,
    "entry": _parse_number,
    "trust": _parse_trust,
}
_DEFAULT: Final = LogState()


def _reduce(name: str, *, clears: tuple[str, ...] = ()) -> Callable[[LogState, str], LogState]:
    """Build the reducer that sets one field, or with an empty value resets it, and resets the fields of `clears`."""

    def reducer(state: LogState, value: str) -> LogState:
        parsed = getattr(_DEFAULT, name) if not value.strip() else _PARSERS[name](value)
        if parsed is None and value.strip():
            return state
        return replace(state, **{name: parsed, **{each: getattr(_DEFAULT, each) for each in clears}})

    return reducer


def toggle_flip(state: LogState, value: str) -> LogState:
    """Flip one bit of something in a copy; the same again undoes it."""
    flip = _parse_flip(value)
    if flip is None:
        return state
    return replace(state, flip=Flip.NOTHING if flip is state.flip else flip)


def read_bundle(state: LogState, value: str) -> LogState:
    """Take the text of a bundle to check; an empty text removes it."""
    return replace(state, bundle=value) if len(value) <= MAX_BUNDLE_CHARS else state


def recall_head(state: LogState, text: str) -> LogState:
    """Take what the browser remembers of its last look."""
    return replace(state, seen=SeenHead.parse(text))


def look_again(state: LogState, _value: str) -> LogState:
    """Read the head of now again, and all that depends on it."""
    return replace(state, looked=state.looked + 1)


def close_drawer(state: LogState, _value: str) -> LogState:
    """Close the drawer."""
    return replace(state, entry=None)


def inspect_entry(state: LogState, value: str) -> LogState:
    """Search an entry by its index, and close the drawer."""
    return replace(EVENTS["find"](state, value), entry=None) if _parse_number(value) is not None else state


def inspect_twin(state: LogState, value: str) -> LogState:
    """Search another attestation of the same document, `index.hash`, and compare the file with it too."""
    index, _, digest = value.partition(".")
    if _parse_number(index) is None or _parse_hash(digest) is None:
        return state
    return replace(EVENTS["find"](state, index), file=digest)


def show_all(state: LogState, _value: str) -> LogState:
    """Show all entries."""
    return replace(state, type="", issuer="", page=1)


EVENTS: Final[Mapping[str, Callable[[LogState, str], LogState]]] = {
    "find": _reduce("find", clears=("flip", "file", "answer")),
    "file": _reduce("file"),
    "keep": _reduce("kept"),
    "look": look_again,
    "flip": toggle_flip,
    "type": _reduce("type", clears=("page",)),
    "issuer": _reduce("issuer", clears=("page",)),
    "page": _reduce("page"),
    "open": _reduce("entry"),
    "inspect": inspect_entry,
    "twin": inspect_twin,
    "close": close_drawer,
    "all": show_all,
    "pin": _reduce("trust"),
    "bundle": read_bundle,
}
