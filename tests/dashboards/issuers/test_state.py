"""The state of issuer governance is the query of its address, and no hostile value gets into it."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attestlab_dashboards.issuers.events import EVENTS
from attestlab_dashboards.issuers.state import AGE_LIMITS, KEY_ASKS, SORTS, IssuerState
from attestlab_dashboards.parameters import MAX_PAGE

ID = "0193b5a0-7f3c-7abc-8def-0123456789ab"
KEY = f"{ID}/registrar-1"
NAMES = sorted(IssuerState.param)

ids = st.uuids().map(str)
keys = st.tuples(ids, st.from_regex(r"[A-Za-z0-9_:-]{1,64}", fullmatch=True)).map("/".join)
pages = st.integers(1, MAX_PAGE)
questions = st.one_of(
    st.sampled_from([("", ""), ("add", "")]),
    st.tuples(st.sampled_from(["suspend", "tier", "approve", "reject"]), ids),
    st.tuples(st.sampled_from(KEY_ASKS), keys),
)


@st.composite
def states(draw: st.DrawFn) -> IssuerState:
    ask, about = draw(questions)
    return IssuerState(
        status=draw(st.sampled_from(["", "ACTIVE", "REVOKED"])),
        tier=draw(st.sampled_from(["", "SELF_SIGNED", "ENTERPRISE"])),
        risk=draw(st.sampled_from(["", "LOW", "CRITICAL"])),
        jurisdiction=draw(st.sampled_from(["", "CH", "NO"])),
        changed=draw(st.booleans()),
        range=draw(st.sampled_from(["30d", "yesterday", "2026-10-20/2026-11-01"])),
        sort=draw(st.sampled_from(["", "-"])) + draw(st.sampled_from(SORTS)),
        page=draw(pages),
        drift_page=draw(pages),
        keys_page=draw(pages),
        trail_page=draw(pages),
        age_limit=draw(st.sampled_from(AGE_LIMITS)),
        key=draw(st.one_of(st.just(""), keys)),
        since=draw(st.one_of(st.none(), st.datetimes(timezones=st.just(UTC)).map(_to_minute))),
        issuer=draw(st.one_of(st.just(""), ids)),
        ask=ask,
        about=about,
    )


def _to_minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)


@given(states())
def test_a_state_survives_its_address(state: IssuerState) -> None:
    assert IssuerState.from_query(state.to_query()) == (state, ())


def test_the_default_state_has_an_empty_address() -> None:
    assert IssuerState().to_query() == {}


@given(st.dictionaries(st.sampled_from([*NAMES, "other"]), st.text(max_size=40)))
def test_any_address_gives_a_state_and_names_what_it_left_out(query: dict[str, str]) -> None:
    state, left_out = IssuerState.from_query(query)
    assert set(left_out) <= set(query)
    assert IssuerState.from_query(state.to_query()) == (state, ())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("status", "active"),
        ("jurisdiction", "XX"),
        ("sort", "domain; DROP TABLE issuers"),
        ("page", "0"),
        ("page", "1e9"),
        ("age_limit", "30"),
        ("key", ID),
        ("key", f"{ID}/../.."),
        ("since", "yesterday"),
        ("issuer", "Registrar"),
    ],
)
def test_what_is_not_acceptable_is_left_out(name: str, text: str) -> None:
    assert IssuerState.from_query({name: text}) == (IssuerState(), (name,))


@pytest.mark.parametrize(
    "query", [{"ask": "suspend"}, {"about": ID}, {"ask": "suspend", "about": KEY}, {"ask": "rotate", "about": ID}]
)
def test_a_question_is_about_an_object_of_its_kind(query: dict[str, str]) -> None:
    state, left_out = IssuerState.from_query(query)
    assert (state, set(left_out)) == (IssuerState(), set(query))


@given(states(), st.sampled_from(sorted(EVENTS)), st.text(max_size=60))
def test_no_event_value_breaks_the_state(state: IssuerState, name: str, value: str) -> None:
    changed = EVENTS[name](state, value)
    assert IssuerState.from_query(changed.to_query()) == (changed, ())


def test_a_filter_shows_the_first_pages_again() -> None:
    state = IssuerState(page=3, drift_page=2, keys_page=4, trail_page=5)
    assert EVENTS["tier"](state, "BASIC") == IssuerState(tier="BASIC", trail_page=5)


def test_a_hostile_filter_changes_nothing() -> None:
    state = IssuerState(tier="BASIC", page=2)
    assert EVENTS["tier"](state, "' OR true --") == state


def test_closing_closes_the_dialog_before_the_drawer() -> None:
    state = EVENTS["ask"](IssuerState(issuer=ID), f"suspend:{ID}")
    assert (state.ask, state.about) == ("suspend", ID)
    drawer = EVENTS["close"](state, "")
    assert drawer == IssuerState(issuer=ID)
    assert EVENTS["close"](drawer, "") == IssuerState()


def test_another_key_forgets_the_moment_of_loss() -> None:
    state = IssuerState(key=KEY, since=datetime(2026, 1, 1, tzinfo=UTC))
    other = f"{UUID(int=1)}/other-1"
    assert EVENTS["key"](state, other) == IssuerState(key=other)


def test_filters_are_cleared_one_by_one_or_together() -> None:
    state = IssuerState(tier="BASIC", risk="LOW", changed=True)
    assert EVENTS["clear"](state, "tier") == IssuerState(risk="LOW", changed=True)
    assert EVENTS["clear"](state, "all") == IssuerState()
    assert EVENTS["clear"](state, "sort") == state
