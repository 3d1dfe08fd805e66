"""`PolicyState`: what the policy simulator shows; the address has it but for a long draft, which the window keeps."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Mapping
from datetime import date
from typing import Final, Self
from urllib.parse import parse_qsl, urlencode

import param

from attestlab.policy.language.attributes import PATH, PATH_LENGTH
from attestlab_dashboards.ranges import DayRange
from attestlab_dashboards.state import NO_ADDRESS, PageState, Value, choice, matching, page_number, read_uuid

MAX_ADDRESS_CHARS: Final = 2_000  # of a draft in the address; a longer one is kept in the window
MAX_DRAFT_CHARS: Final = 60_000
MAX_SEGMENTS: Final = 3  # what a simulation counts flips by
MAX_CONTEXT_VALUES: Final = 40
MAX_NUMBER: Final = 1_000_000
DEFAULT_SEGMENTS: Final = ("jurisdiction", "trust_tier", "risk_rating")
CATEGORIES: Final = ("MINT", "VERIFY", "BUNDLE_EXPORT")
YESTERDAY: Final = "yesterday"  # the last full UTC day before that of the newest decision
WINDOWS: Final = ("all", "365d", "90d", "30d", "7d", YESTERDAY)
DIALOGS: Final = ("save", "shadow", "activate", "archive")
NEW_POLICY: Final = "new"
KEPT_HERE: Final = "in-the-window"  # stands in an address for a draft that is too long for it
_MAX_VALUE_CHARS: Final = 200
_RULE_ID: Final = re.compile(r"[^\x00-\x1f\x7f|]{1,64}")
_OPS: Final = ("lt", "lte", "gt", "gte")


class Draft(Value[str]):
    """The text of a draft, which may be longer than an address."""

    def _validate_value(self, value: str, allow_None: bool) -> None:  # noqa: N803  # param's name
        if len(value) > MAX_DRAFT_CHARS + 1:  # with the newline that ends it
            raise ValueError(f"The draft has {len(value):,} characters; at most {MAX_DRAFT_CHARS:,} are accepted.")


def encode_draft(text: str) -> str:
    """Encode the text of a draft for an address: deflated, as base64url.

    >>> decode_draft(encode_draft('name = "é"'))
    'name = "é"'
    """
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=") if text else ""


def decode_draft(text: str) -> str:
    """Decode the draft of an address.

    Raises:
        ValueError: it is none, or is longer than an address may have.
    """
    unpacker = zlib.decompressobj()
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        draft = unpacker.decompress(packed, 4 * MAX_ADDRESS_CHARS + 1).decode()
    except (binascii.Error, zlib.error) as error:
        raise ValueError("The draft is not deflated text as base64url.") from error
    if not unpacker.eof or not 0 < len(draft) <= MAX_ADDRESS_CHARS:
        raise ValueError(f"A draft in an address has 1 to {MAX_ADDRESS_CHARS:,} characters.")
    return draft


def read_path(text: str) -> str:
    """Read the path of an attribute.

    Raises:
        ValueError: it is none.
    """
    if len(text) > PATH_LENGTH or not PATH.fullmatch(text):
        raise ValueError(f"{text!r} is not the path of an attribute.")
    return text


def _write_draft(text: str) -> str:
    return KEPT_HERE if len(text) > MAX_ADDRESS_CHARS else encode_draft(text)


def _read_policy(text: str) -> str:
    return text if text == NEW_POLICY else read_uuid(text)


def _read_day(text: str) -> str:
    return date.fromisoformat(text).isoformat()


def _read_rule(text: str) -> str:
    if not _RULE_ID.fullmatch(text):
        raise ValueError(f"{text!r} is not the id of a rule.")
    return text


def _read_threshold(text: str) -> str:
    """Read a threshold, such as `old-key|key.age_days|gt`."""
    rule, attribute, op = text.split("|")
    read_path(attribute)
    if not _RULE_ID.fullmatch(rule) or op not in _OPS:
        raise ValueError(f"{text!r} is not rule|attribute|op.")
    return text


def _read_segments(text: str) -> tuple[str, ...]:
    paths = () if text == "-" else tuple(dict.fromkeys(map(read_path, text.split(","))))
    if len(paths) > MAX_SEGMENTS:
        raise ValueError(f"Flips are counted by at most {MAX_SEGMENTS} attributes.")
    return paths


def _read_context(text: str) -> tuple[tuple[str, str], ...]:
    pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True, max_num_fields=MAX_CONTEXT_VALUES)
    values = {read_path(path): value for path, value in pairs}
    if len(values) != len(pairs) or any(len(value) > _MAX_VALUE_CHARS for value in values.values()):
        raise ValueError(f"Each attribute has one value of at most {_MAX_VALUE_CHARS} characters.")
    return tuple(sorted(values.items()))


def _number(*, doc: str) -> param.Integer[int]:
    return param.Integer(default=0, bounds=(0, MAX_NUMBER), doc=doc)


class PolicyState(PageState):
    """What the policy simulator shows."""

    policy = Value("", read=_read_policy, doc='The id of a policy, or "new"; empty for the one that changed last.')
    version = _number(doc="The version whose document is the text at first; 0 is the newest.")
    category = choice("", *CATEGORIES, doc="What the policies decide that are chosen from.")
    draft = Draft("", read=decode_draft, write=_write_draft, doc="The draft; empty for the version's own text.")
    window = choice(*WINDOWS, doc="The decisions that are replayed.")
    since = Value("", read=_read_day, doc="The first day of the decisions that are replayed, such as 2026-11-02.")
    until = Value("", read=_read_day, doc="The last day of the decisions that are replayed, such as 2026-11-02.")
    by: Value[tuple[str, ...]] = Value(
        DEFAULT_SEGMENTS,
        read=_read_segments,
        write=lambda paths: ",".join(paths) or "-",
        doc="The attributes that segment the flips.",
    )
    sweep = Value("", read=_read_threshold, doc="The threshold of the curve, rule|attribute|op; empty for the first.")
    second = Value("", read=_read_threshold, doc="The second threshold of the heat map, in the same form.")
    decision = Value("", read=matching("dec_[0-9A-Z]{26}"), doc="The decision that is tried; empty for the newest.")
    context: Value[tuple[tuple[str, str], ...]] = Value(
        (), read=_read_context, write=urlencode, doc="Changed values of that decision, by path; empty means missing."
    )
    page = page_number(most=MAX_NUMBER, doc="The page of the examples.")
    example = _number(doc="The example in the drawer, from 1; 0 closes it.")
    rule = Value("", read=_read_rule, doc="The rule in the drawer, by its id; empty closes it.")
    changed = choice("", "denied", "allowed", doc="Which changed decisions are listed; empty for all.")
    changed_for = Value("", read=read_uuid, doc="The issuer whose changed decisions alone are listed; empty for all.")
    changes_page = page_number(most=MAX_NUMBER, doc="The page of the changed decisions.")
    dialog = choice("", *DIALOGS, doc="The action that is to be confirmed.")
    run = param.Integer(default=0, doc="How often the replay was started again.", precedence=NO_ADDRESS)
    is_draft_lost = param.Boolean(
        default=False, doc="Whether the address is of a draft that another window keeps.", precedence=NO_ADDRESS
    )

    @property
    def own_range(self) -> DayRange | None:
        """The days whose decisions are replayed, None unless both ends are given."""
        if not (self.since and self.until):
            return None
        return DayRange(*sorted(map(date.fromisoformat, (self.since, self.until))))

    @classmethod
    def from_query(cls, query: Mapping[str, str], /) -> tuple[Self, tuple[str, ...]]:
        """Read the query of an address; a draft that another window keeps is ignored, and lost."""
        state, ignored = super().from_query(query)
        return state.replace(is_draft_lost=query.get("draft") == KEPT_HERE), ignored

    @property
    def is_draft_kept_here(self) -> bool:
        """Whether the draft is too long for the address, so that only this window has it."""
        return len(self.draft) > MAX_ADDRESS_CHARS

    def change(self, **texts: str) -> Self:
        """Return a copy with other values; the dialog and the drawers close unless they are among them."""
        changed = super().change(**{"dialog": "", "example": "", "rule": "", **texts})
        return changed if changed is self else changed.replace(is_draft_lost=False)

    def replay(self, **values: object) -> Self:
        """Return a copy with other values whose decisions are replayed again; the dialog and the drawers close."""
        return self.change().replace(run=self.run + 1, **values)
