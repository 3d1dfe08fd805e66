"""The address of the log inspector: every state survives it, and no text of a stranger breaks it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.log.entries import EntryType
from attestlab_dashboards.log.events import EVENTS
from attestlab_dashboards.log.heads import KeptHead
from attestlab_dashboards.log.page import PAGE
from attestlab_dashboards.log.state import ENTRY_TYPES, Flip, LogState
from attestlab_dashboards.log.words import TYPES
from support.property_tests import examples

HEX = st.text("0123456789abcdef", min_size=64, max_size=64)
INDEXES = st.integers(0, 2**63 - 1)
STATES = st.builds(
    LogState,
    find=st.text(max_size=300).map(str.strip),
    file=st.just("") | HEX,
    kept=st.none() | st.builds(KeptHead, INDEXES, HEX),
    flip=st.sampled_from(Flip),
    type=st.sampled_from(["", *ENTRY_TYPES]),
    issuer=st.just("") | st.uuids().map(str),
    page=st.integers(1, 2**63 - 1),
    entry=st.none() | INDEXES,
    trust=st.text(max_size=200),
)
HOSTILE = ["", "-1", "9" * 40, "²", "1e3", "../..", "<script>", "\x00", "' OR 1=1", "x" * 5_000, "1.zz", "None"]


@pytest.mark.more_in_soak
@settings(max_examples=examples(100, many=2_000))
@given(STATES)
def test_a_state_survives_its_address(state: LogState) -> None:
    assert LogState.from_query(state.to_query()) == (state, ())


def test_every_type_of_entry_can_be_chosen_and_has_its_word() -> None:
    words = [TYPES[kind].word for kind in EntryType]

    assert [LogState.from_query({"type": kind}) for kind in EntryType] == [
        (LogState(type=kind.value), ()) for kind in EntryType
    ]
    assert len(set(words)) == len(words)


def test_the_default_state_has_an_empty_address() -> None:
    assert LogState().to_query() == {}


def test_the_search_of_every_page_is_read() -> None:
    assert LogState.from_query({"q": "12846"}) == LogState.from_query({"find": "12846"}) == (LogState(find="12846"), ())


@pytest.mark.more_in_soak
@settings(max_examples=examples(50, many=1_000))
@given(st.dictionaries(st.sampled_from([*LogState.param]) | st.text(), st.text()))
def test_any_query_gives_a_state_and_names_what_it_left_out(query: dict[str, str]) -> None:
    state, left_out = LogState.from_query(query)

    assert set(left_out) <= {"q" if name == "find" else name for name in query}
    assert LogState.from_query(state.to_query()) == (state, ())


def test_a_bundle_and_an_answer_are_no_part_of_an_address() -> None:
    assert LogState(bundle="{}", answer="policy_ok").to_query() == {}
    assert LogState.from_query({"bundle": "{}", "answer": "policy_ok"})[1] == ("bundle", "answer")


@pytest.mark.parametrize("name", sorted(EVENTS))
@pytest.mark.parametrize("value", HOSTILE)
def test_an_event_with_a_hostile_value_gives_a_state_with_an_address(name: str, value: str) -> None:
    state = EVENTS[name](LogState(page=3, entry=1), value)
    carried = state.replace(bundle="", answer="", looked=0)

    assert LogState.from_query(state.to_query()) == (carried, ())


def test_looking_again_reads_the_log_again_without_another_address() -> None:
    state = LogState(find="7")
    again = EVENTS["look"](state, "")

    assert again != state
    assert again.to_query() == state.to_query()
    assert {pane.key for pane in PAGE.panes if "looked" in pane.reads} == {
        "answer",
        "kpis",
        "change",
        "growth",
        "entries",
    }


def test_a_search_resets_the_playground_and_the_file() -> None:
    state = EVENTS["find"](LogState(flip=Flip.PATH, file="ab" * 32, answer="policy_ok"), " 7 ")

    assert state == LogState(find="7")


def test_the_same_flip_twice_undoes_it() -> None:
    once = EVENTS["flip"](LogState(), "root")

    assert once.flip is Flip.ROOT
    assert EVENTS["flip"](once, "root") == LogState()


def test_a_filter_starts_at_the_first_page() -> None:
    assert EVENTS["type"](LogState(page=4), "key.status") == LogState(type="key.status")
