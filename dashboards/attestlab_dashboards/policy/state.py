"""`PolicyState`: what the address of the policy simulator carries, and the text of a draft in the window."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final, Self
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from attestlab.policy.language.attributes import PATH, PATH_LENGTH

MAX_ADDRESS_CHARS: Final = 2_000  # of a draft in the address; a longer one is kept in the window
MAX_DRAFT_CHARS: Final = 60_000
MAX_SEGMENTS: Final = 3  # what a simulation counts flips by
MAX_CONTEXT_VALUES: Final = 40
DEFAULT_SEGMENTS: Final = ("jurisdiction", "trust_tier", "risk_rating")
CATEGORIES: Final = ("MINT", "VERIFY", "BUNDLE_EXPORT")
WINDOWS: Final = ("all", "365d", "90d", "30d", "7d")
DIALOGS: Final = ("save", "shadow", "activate", "archive")
NEW_POLICY: Final = "new"
KEPT_HERE: Final = "in-the-window"  # stands in an address for a draft that is too long for it
_RULE_ID: Final = re.compile(r"[^\x00-\x1f\x7f|]{1,64}")
_OPS: Final = ("lt", "lte", "gt", "gte")
_DECISION_ID: Final = re.compile(r"dec_[0-9A-Z]{26}")


@dataclass(frozen=True)
class PolicyState:
    """What the page shows.

    Attributes:
        policy: the id of a policy, "new", or "" for the one that changed last.
        version: the version whose document is the text at first; 0 is the newest.
        draft: the text of the draft; "" is the document of the version, unchanged.
        window: which decisions are replayed; `since` and `until` are days, and narrow it further.
        by: the attributes that segment the flips.
        sweep: the threshold of the curve as `rule|attribute|op`; "" is the first; `second` for the heat map.
        decision: the recorded decision whose values the form of one decision begins with; "" is the newest.
        context: values of that form that were changed, by path; "" is missing.
        example: the number of the example in the drawer, from 1; 0 closes it.
        dialog: the action that is to be confirmed; "" is none.
        run: how often the replay was asked for again.
        is_draft_lost: whether the address stands for a draft that was too long for it.
    """

    policy: str = ""
    version: int = 0
    category: str = ""
    draft: str = ""
    window: str = "all"
    since: str = ""
    until: str = ""
    by: tuple[str, ...] = DEFAULT_SEGMENTS
    sweep: str = ""
    second: str = ""
    decision: str = ""
    context: tuple[tuple[str, str], ...] = ()
    page: int = 1
    example: int = 0
    dialog: str = ""
    run: int = 0
    is_draft_lost: bool = field(default=False, compare=False)

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> tuple[Self, tuple[str, ...]]:
        """Read a query; returns the state, and the names of parameters that were left out. It never raises."""
        values: dict[str, object] = {}
        left_out: list[str] = []
        for name, text in query.items():
            value = _READERS[name](text) if name in _READERS and len(text) <= 8_000 else None
            if value is None:
                left_out.append(name)
            else:
                values[name] = value
        values["is_draft_lost"] = query.get("draft") == KEPT_HERE
        state = cls(**values)  # type: ignore[arg-type]  # each reader returns the type of its field
        return state, tuple(left_out)

    def to_query(self) -> dict[str, str]:
        """Write the state as a query, without what is the default."""
        texts = {
            "policy": self.policy,
            "version": str(self.version or ""),
            "category": self.category,
            "draft": KEPT_HERE if self.is_draft_kept_here else encode_draft(self.draft),
            "window": "" if self.window == "all" else self.window,
            "since": self.since,
            "until": self.until,
            "by": "" if self.by == DEFAULT_SEGMENTS else ",".join(self.by) or "-",
            "sweep": self.sweep,
            "second": self.second,
            "decision": self.decision,
            "context": urlencode(self.context),
            "page": "" if self.page == 1 else str(self.page),
            "example": str(self.example or ""),
            "dialog": self.dialog,
        }
        return {name: text for name, text in texts.items() if text}

    @property
    def is_draft_kept_here(self) -> bool:
        """Whether the draft is too long for the address, so that only this window has it."""
        return len(self.draft) > MAX_ADDRESS_CHARS

    def change(self, **values: object) -> Self:
        """Return the state with other values; the dialog and the drawer close unless they are among them."""
        closed: dict[str, object] = {"dialog": "", "example": 0, "is_draft_lost": False}
        return replace(self, **{**closed, **values})  # type: ignore[arg-type]  # names and types of the fields


def encode_draft(text: str) -> str:
    """Encode the text of a draft for an address: deflated, as base64url.

    >>> decode_draft(encode_draft('name = "é"'))
    'name = "é"'
    """
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=") if text else ""


def decode_draft(text: str) -> str | None:
    """Decode the draft of an address; None if it is none, or is longer than an address may have."""
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(packed, 4 * MAX_ADDRESS_CHARS + 1)
        draft = data.decode() if unpacker.eof else ""
    except (binascii.Error, zlib.error, ValueError):
        return None
    return draft if 0 < len(draft) <= MAX_ADDRESS_CHARS else None


def read_threshold(text: str) -> str | None:
    """Read a threshold, `rule|attribute|op`.

    >>> read_threshold("old-key|key.age_days|gt"), read_threshold("old-key")
    ('old-key|key.age_days|gt', None)
    """
    rule, _, rest = text.partition("|")
    attribute, _, op = rest.partition("|")
    return text if _RULE_ID.fullmatch(rule) and read_path(attribute) and op in _OPS else None


def read_policy(text: str) -> str | None:
    """Read the id of a policy, or "new"."""
    if text == NEW_POLICY:
        return text
    try:
        return str(UUID(text))
    except ValueError:
        return None


def read_day(text: str) -> str | None:
    """Read a day, such as 2026-11-02."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return None


def read_path(text: str) -> str | None:
    """Read the path of an attribute."""
    return text if len(text) <= PATH_LENGTH and PATH.fullmatch(text) else None


def read_decision(text: str) -> str | None:
    """Read the id of a decision."""
    return text if _DECISION_ID.fullmatch(text) else None


def read_number(text: str, most: int = 1_000_000) -> int | None:
    """Read a whole number from 1."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 7 and 1 <= int(text) <= most else None


def _read_segments(text: str) -> tuple[str, ...] | None:
    if text == "-":
        return ()
    paths = tuple(dict.fromkeys(text.split(",")))
    return paths if len(paths) <= MAX_SEGMENTS and all(map(read_path, paths)) else None


def _read_context(text: str) -> tuple[tuple[str, str], ...] | None:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True, max_num_fields=MAX_CONTEXT_VALUES)
    except ValueError:
        return None
    values = {path: value for path, value in pairs if read_path(path) and len(value) <= 200}
    return tuple(sorted(values.items())) if len(values) == len(pairs) else None


def _one_of(*words: str) -> dict[str, str]:
    return {word: word for word in words}


_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    "policy": read_policy,
    "version": read_number,
    "category": _one_of(*CATEGORIES).get,
    "draft": decode_draft,
    "window": _one_of(*WINDOWS).get,
    "since": read_day,
    "until": read_day,
    "by": _read_segments,
    "sweep": read_threshold,
    "second": read_threshold,
    "decision": read_decision,
    "context": _read_context,
    "page": read_number,
    "example": read_number,
    "dialog": _one_of(*DIALOGS).get,
}
