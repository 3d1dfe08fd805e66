"""Events of the browser: each is a pure change of the state, and a hostile value changes nothing."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attestlab.policy.language.attributes import PATH, PATH_LENGTH
from attestlab_dashboards.policy.events import EVENTS
from attestlab_dashboards.policy.notation import MAX_DRAFT_CHARS
from attestlab_dashboards.policy.state import PolicyState

ISSUER = "0193b5a0-7f3c-7abc-8def-0123456789ab"
CHANGES = [
    ("policy", "new", {"policy": "new"}),
    ("version", "3", {"version": 3}),
    ("version", "newest", {}),
    ("category", "MINT", {"category": "MINT"}),
    ("draft", "a = 1\r\nb = 2", {"draft": "a = 1\nb = 2\n", "run": 1}),
    ("window", "30d", {"window": "30d"}),
    ("range", "2026-01-31/2026-01-02", {"since": "2026-01-02", "until": "2026-01-31"}),
    ("segment", "risk_rating", {"by": ("jurisdiction", "trust_tier")}),
    ("segment", "status", {"by": ("trust_tier", "risk_rating", "status")}),
    ("sweep", "old-key|key.age_days|gt", {"sweep": "old-key|key.age_days|gt"}),
    ("second", "old-key|key.age_days|gt", {"second": "old-key|key.age_days|gt"}),
    ("at:key.age_days", " 4 ", {"context": (("key.age_days", "4"),)}),
    ("at:trust_tier", "", {"context": (("trust_tier", ""),)}),
    ("try", "a=1\nb=x=y", {"context": (("a", "1"), ("b", "x=y"))}),
    ("load", "dec_01KS9G4X2F4JV5JQN365GCASZT", {"decision": "dec_01KS9G4X2F4JV5JQN365GCASZT"}),
    ("page", "2", {"page": 2}),
    ("example", "3", {"example": 3}),
    ("rule", "old-key", {"rule": "old-key"}),
    ("changed", "denied", {"changed": "denied"}),
    ("changed_for", ISSUER, {"changed_for": ISSUER}),
    ("changes_page", "2", {"changes_page": 2}),
    ("dialog", "activate", {"dialog": "activate"}),
    ("replay", "", {"run": 1}),
    ("close", "", {}),
]
HOSTILE = ["\0", "<script>", "x" * 100_000, "-1", "9" * 30, "²", "../../etc/passwd", "2026-02-30", "a|b|c"]


@pytest.mark.parametrize(("name", "value", "changed"), CHANGES, ids=lambda each: str(each)[:30])
def test_an_event_changes_its_part_of_the_state(name: str, value: str, changed: dict[str, object]) -> None:
    assert EVENTS[name](PolicyState(), value) == PolicyState().replace(**changed)


@pytest.mark.parametrize("name", sorted(set(EVENTS) - {"draft", "replay", "close", "rule"}))
@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_value_changes_nothing(name: str, value: str) -> None:
    assert EVENTS[name](PolicyState(), value).to_query() == {}


@pytest.mark.parametrize("value", ["\0", "x" * 65, "a|b", "a\nb"], ids=range(4))
def test_what_is_no_id_of_a_rule_opens_nothing(value: str) -> None:
    assert EVENTS["rule"](PolicyState(), value).to_query() == {}


def test_a_draft_is_bounded() -> None:
    assert EVENTS["draft"](PolicyState(), "x" * (MAX_DRAFT_CHARS + 1)) == PolicyState()
    assert EVENTS["draft"](PolicyState(draft="x"), "").draft == ""


@given(st.text(string.ascii_lowercase + ".0é", max_size=70))
def test_only_paths_of_attributes_are_events(name: str) -> None:
    is_path = len(name) <= PATH_LENGTH and PATH.fullmatch(name) is not None

    assert (f"at:{name}" in EVENTS, name in EVENTS) == (is_path, name in set(EVENTS))


def test_the_drawer_and_the_dialog_close_with_the_next_event() -> None:
    state = EVENTS["dialog"](EVENTS["example"](PolicyState(), "2"), "save")

    assert (state.example, state.dialog) == (0, "save")
    assert EVENTS["close"](state, "") == PolicyState()
