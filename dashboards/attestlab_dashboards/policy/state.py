"""`PolicyState`: what the policy simulator shows; the address has it but for a long draft, which the window keeps."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Final, Self
from urllib.parse import urlencode

import param

from attestlab_dashboards.parameters import NO_ADDRESS, Value, choice, matching, normalizing, object_id, page_number
from attestlab_dashboards.policy.notation import (
    KEPT_HERE,
    MAX_ADDRESS_CHARS,
    Draft,
    decode_draft,
    read_context,
    read_policy,
    read_rule,
    read_segments,
    read_threshold,
    write_draft,
)
from attestlab_dashboards.ranges import DayRange
from attestlab_dashboards.state import PageState

MAX_NUMBER: Final = 1_000_000
DEFAULT_SEGMENTS: Final = ("jurisdiction", "trust_tier", "risk_rating")
CATEGORIES: Final = ("MINT", "VERIFY", "BUNDLE_EXPORT")
YESTERDAY: Final = "yesterday"  # the last full UTC day before that of the newest decision
WINDOWS: Final = ("all", "365d", "90d", "30d", "7d", YESTERDAY)
DIALOGS: Final = ("save", "shadow", "activate", "archive")


def _number(*, doc: str) -> param.Integer[int]:
    return param.Integer(default=0, bounds=(0, MAX_NUMBER), doc=doc)


def _day(*, doc: str) -> Value[str]:
    return Value("", read=normalizing(date.fromisoformat), doc=doc)


class PolicyState(PageState):
    """What the policy simulator shows."""

    policy = Value("", read=read_policy, doc='The id of a policy, or "new"; empty for the one that changed last.')
    version = _number(doc="The version whose document is the text at first; 0 is the newest.")
    category = choice("", *CATEGORIES, doc="What the policies decide that are chosen from.")
    draft = Draft("", read=decode_draft, write=write_draft, doc="The draft; empty for the version's own text.")
    window = choice(*WINDOWS, doc="The decisions that are replayed.")
    since = _day(doc="The first day of the decisions that are replayed, such as 2026-11-02.")
    until = _day(doc="The last day of the decisions that are replayed, such as 2026-11-02.")
    by: Value[tuple[str, ...]] = Value(
        DEFAULT_SEGMENTS,
        read=read_segments,
        write=lambda paths: ",".join(paths) or "-",
        doc="The attributes that segment the flips.",
    )
    sweep = Value("", read=read_threshold, doc="The threshold of the curve, rule|attribute|op; empty for the first.")
    second = Value("", read=read_threshold, doc="The second threshold of the heat map, in the same form.")
    decision = Value("", read=matching("dec_[0-9A-Z]{26}"), doc="The decision that is tried; empty for the newest.")
    context: Value[tuple[tuple[str, str], ...]] = Value(
        (), read=read_context, write=urlencode, doc="Changed values of that decision, by path; empty means missing."
    )
    page = page_number(most=MAX_NUMBER, doc="The page of the examples.")
    example = _number(doc="The example in the drawer, from 1; 0 closes it.")
    rule = Value("", read=read_rule, doc="The rule in the drawer, by its id; empty closes it.")
    changed = choice("", "denied", "allowed", doc="Which changed decisions are listed; empty for all.")
    changed_for = object_id(doc="The issuer whose changed decisions alone are listed; empty for all.")
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
