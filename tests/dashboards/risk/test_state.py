"""The state is its address: each state comes back from its query, and nothing in a query can raise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab_dashboards.risk.state import CASE_STATES, SORTS, RiskState, read_entity_key, write_entity_key
from attestlab_dashboards.risk.windows import WINDOWS

KEYS = st.sampled_from(["user:u-1", "ip:2001:db8::1", "device:a b", "document:ü/<x>?&#", "issuer:'; drop--"])
NAMES = st.from_regex(r"[a-z0-9_]{1,64}", fullmatch=True)
MINUTES = st.integers(0, 60 * 24 * 365 * 60).map(
    lambda number: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
)


@st.composite
def states(draw: st.DrawFn) -> RiskState:
    low, high = sorted(draw(st.tuples(st.integers(0, 100), st.integers(0, 100))))
    span = sorted(draw(st.sets(MINUTES, min_size=2, max_size=2)))
    since, until = span if draw(st.booleans()) else (None, None)
    return RiskState(
        window=draw(st.sampled_from(sorted(WINDOWS))),
        source=draw(st.just("") | NAMES),
        type=draw(st.just("") | NAMES),
        kind=draw(st.sampled_from(["", "user", "issuer"])),
        min_score=low,
        max_score=high,
        since=since,
        until=until,
        about=draw(st.just("") | KEYS),
        by=draw(st.sampled_from(["source", "type"])),
        sort=draw(st.sampled_from([*SORTS, *(f"-{name}" for name in SORTS)])),
        page=draw(st.integers(1, 100_000)),
        entity=draw(st.just("") | KEYS),
        signal=draw(st.just("") | st.uuids().map(str)),
        graph=draw(st.just("") | KEYS),
        depth=draw(st.integers(1, 3)),
        cases=draw(st.sampled_from(CASE_STATES)),
        cases_page=draw(st.integers(1, 100_000)),
        rule_score=draw(st.none() | st.integers(0, 100).map(float)),
        rule_source=draw(st.just("") | NAMES),
        rule_burst=draw(st.integers(0, 100_000)),
    )


@settings(deadline=None)
@given(states())
def test_a_state_comes_back_from_its_address(state: RiskState) -> None:
    assert RiskState.from_query(state.to_query()) == (state, ())


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from([*RiskState.param, "from", "to", "x"]), st.text(max_size=40)))
def test_no_address_raises_and_what_is_left_out_is_named(query: dict[str, str]) -> None:
    state, left_out = RiskState.from_query(query)

    assert set(left_out) <= set(query)
    assert RiskState.from_query(state.to_query()) == (state, ())


@pytest.mark.parametrize(
    ("query", "left_out"),
    [
        ({"window": "31d"}, ("window",)),
        ({"source": "Robert'); DROP TABLE"}, ("source",)),
        ({"page": "0"}, ("page",)),
        ({"page": "٣"}, ("page",)),
        ({"entity": "planet:earth"}, ("entity",)),
        ({"from": "2026-10-01T00:00Z"}, ("from",)),
        ({"from": "2026-10-02T00:00Z", "to": "2026-10-01T00:00Z"}, ("from", "to")),
        ({"from": "0001-01-01T00:00+14:00", "to": "2026-10-01T00:00Z"}, ("from", "to")),
        ({"min_score": "90", "max_score": "10"}, ("min_score", "max_score")),
        ({"min_score": "-1"}, ("min_score",)),
        ({"rule_score": "nan"}, ("rule_score",)),
        ({"since": "2026-10-01T00:00Z"}, ("since",)),
    ],
)
def test_what_is_not_acceptable_is_left_out(query: dict[str, str], left_out: tuple[str, ...]) -> None:
    state, found = RiskState.from_query(query)

    assert (state, tuple(sorted(found))) == (RiskState(), tuple(sorted(left_out)))


def test_a_default_is_not_in_the_address() -> None:
    assert RiskState().to_query() == {}
    assert RiskState(source="login", page=2).to_query() == {"source": "login", "page": "2"}


def test_a_change_that_is_not_acceptable_changes_nothing() -> None:
    state = RiskState(source="login")

    assert state.change(page="-3") is state
    assert state.change(kind="user") == state.replace(kind="user")


def test_an_entity_of_an_address_has_colons_of_its_own() -> None:
    assert write_entity_key(read_entity_key("ip:2001:db8::1")) == "ip:2001:db8::1"
