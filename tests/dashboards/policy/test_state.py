"""The address of the policy simulator: what it carries, and what hostile parameters do."""

from __future__ import annotations

import base64
import zlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attestlab.policy.language.attributes import PATH, PATH_LENGTH
from attestlab_dashboards.policy.notation import MAX_ADDRESS_CHARS, decode_draft, encode_draft
from attestlab_dashboards.policy.state import CATEGORIES, DIALOGS, WINDOWS, PolicyState

PATHS = st.from_regex(PATH, fullmatch=True).filter(lambda path: len(path) <= PATH_LENGTH)
DAYS = st.dates().map(lambda day: day.isoformat())
THRESHOLDS = st.builds("old-key|{}|{}".format, PATHS, st.sampled_from(["lt", "gte"]))
STATES = st.builds(
    PolicyState,
    policy=st.one_of(st.just(""), st.just("new"), st.uuids().map(str)),
    version=st.integers(0, 99_999),
    category=st.sampled_from(["", *CATEGORIES]),
    draft=st.text(st.characters(exclude_categories=("Cs",)), max_size=MAX_ADDRESS_CHARS),
    window=st.sampled_from(WINDOWS),
    since=st.one_of(st.just(""), DAYS),
    until=st.one_of(st.just(""), DAYS),
    by=st.lists(PATHS, max_size=3, unique=True).map(tuple),
    sweep=st.one_of(st.just(""), THRESHOLDS),
    second=st.one_of(st.just(""), THRESHOLDS),
    decision=st.sampled_from(["", "dec_01KS9G4X2F4JV5JQN365GCASZT"]),
    context=st.dictionaries(PATHS, st.text(st.characters(exclude_categories=("Cs",)), max_size=40), max_size=6).map(
        lambda values: tuple(sorted(values.items()))
    ),
    page=st.integers(1, 500),
    example=st.integers(0, 50),
    dialog=st.sampled_from(["", *DIALOGS]),
)


@given(STATES)
def test_an_address_restores_its_state(state: PolicyState) -> None:
    assert PolicyState.from_query(state.to_query()) == (state, ())


@given(st.dictionaries(st.one_of(st.sampled_from([*PolicyState.param]), st.text(max_size=9)), st.text(max_size=60)))
@example({"draft": "eJw", "by": "a,,b", "version": "²", "since": "2026-02-31", "context": "a=1&a=2", "example": "-1"})
def test_a_hostile_address_raises_nothing_and_what_it_leaves_is_named(query: dict[str, str]) -> None:
    state, left_out = PolicyState.from_query(query)

    again, none_left = PolicyState.from_query(state.to_query())
    assert (again, none_left) == (state, ())
    assert set(left_out) <= set(query)


def test_the_default_is_an_empty_address() -> None:
    assert PolicyState().to_query() == {}


def test_a_long_draft_stays_in_the_window() -> None:
    state = PolicyState().replace(draft="x" * (MAX_ADDRESS_CHARS + 1))

    assert state.is_draft_kept_here
    assert len(state.to_query()["draft"]) < 20
    lost, left_out = PolicyState.from_query(state.to_query())
    assert (lost.is_draft_lost, lost.draft, left_out) == (True, "", ("draft",))
    assert not lost.change(window="7d").is_draft_lost


def test_an_address_that_unpacks_to_much_is_refused() -> None:
    packed = base64.urlsafe_b64encode(zlib.compress(b"x" * 50_000_000, 9)).decode()

    with pytest.raises(ValueError, match="1 to 2,000 characters"):
        decode_draft(packed)
    assert decode_draft(encode_draft("x" * MAX_ADDRESS_CHARS)) == "x" * MAX_ADDRESS_CHARS
