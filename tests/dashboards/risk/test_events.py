"""Each event is a pure function, and no value that a browser sends breaks it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab_dashboards.risk.events import EVENTS
from attestlab_dashboards.risk.state import RiskState

WINDOW = "2026-10-04T00:00:00+00:00,2026-11-03T00:00:00+00:00"
BUSY = RiskState(source="login", min_score=60, page=3, entity="user:u-1", rule_score=60.0)


@settings(deadline=None)
@given(st.sampled_from(sorted(EVENTS)), st.text(max_size=60) | st.just(f"nan,1,0,1,{WINDOW}"))
def test_a_hostile_value_gives_a_state_that_an_address_can_carry(name: str, value: str) -> None:
    state = EVENTS[name](BUSY, value)

    assert RiskState.from_query(state.to_query()) == (state, ())


@pytest.mark.parametrize("value", ["<script>", "x" * 10_000, "-1", "٣", "1E9", "a:b", "0.1,0.2,0.3,0.4", "2026/2025"])
@pytest.mark.parametrize("name", sorted({*EVENTS} - {"close", "rule_reset", "clear", "graph"}))
def test_a_value_that_means_nothing_changes_nothing(name: str, value: str) -> None:
    assert EVENTS[name](BUSY, value) == BUSY


def test_a_brush_selects_time_and_scores() -> None:
    state = EVENTS["brush"](RiskState(page=4), f"0.5,0.6,0.775,0.951,{WINDOW}")

    assert state == RiskState(
        since=datetime(2026, 10, 19, tzinfo=UTC), until=datetime(2026, 10, 22, tzinfo=UTC), min_score=77, max_score=96
    )


def test_a_brush_of_the_columns_leaves_the_scores() -> None:
    state = EVENTS["brush_time"](RiskState(min_score=60), f"0.0000,0.1000,0.2000,0.4000,{WINDOW}")

    assert (state.since, state.min_score) == (datetime(2026, 10, 4, tzinfo=UTC), 60)


def test_a_selected_time_is_extended_both_ways() -> None:
    days = [f"2026-11-0{day}T00:00Z/2026-11-0{day + 1}T00:00Z" for day in range(1, 5)]
    state = EVENTS["extend"](RiskState(), days[1])
    assert (state.since, state.until) == (datetime(2026, 11, 2, tzinfo=UTC), datetime(2026, 11, 3, tzinfo=UTC))

    later, earlier = EVENTS["extend"](state, days[3]), EVENTS["extend"](state, days[0])

    assert (later.since, later.until) == (state.since, datetime(2026, 11, 5, tzinfo=UTC))
    assert (earlier.since, earlier.until) == (datetime(2026, 11, 1, tzinfo=UTC), state.until)


def test_a_double_click_selects_all_again() -> None:
    brushed = EVENTS["brush"](RiskState(source="login"), f"0.5,0.6,0.7,0.9,{WINDOW}")

    assert EVENTS["brush"](brushed, "") == RiskState(source="login")


def test_a_facet_filters_and_its_value_once_more_drops_it() -> None:
    once = EVENTS["source"](RiskState(page=7), "login")

    assert once == RiskState(source="login")
    assert EVENTS["source"](once, "login") == RiskState()


def test_a_band_of_scores_once_more_drops_it() -> None:
    once = EVENTS["score"](RiskState(), "80-100")

    assert (once.min_score, once.max_score) == (80, 100)
    assert EVENTS["score"](once, "80-100") == EVENTS["score"](once, "0-100") == RiskState()


def test_one_filter_or_all_are_dropped() -> None:
    assert EVENTS["clear"](BUSY, "score") == BUSY.replace(min_score=0, page=1)
    assert EVENTS["clear"](BUSY, "all") == BUSY.replace(min_score=0, source="", page=1)


def test_everything_of_an_entity_closes_its_drawer() -> None:
    assert EVENTS["about"](RiskState(entity="user:u-1"), "user:u-1") == RiskState(about="user:u-1")


def test_another_window_forgets_the_selected_time() -> None:
    brushed = EVENTS["brush_time"](RiskState(), f"0.0000,0.1000,0.2000,0.4000,{WINDOW}")

    assert EVENTS["window"](brushed, "7d") == RiskState(window="7d")


def test_a_comparison_is_chosen_and_dropped() -> None:
    before = EVENTS["compare"](RiskState(window="7d"), "before")
    own = EVENTS["compare"](before, "2026-10-07/2026-10-01")

    assert (before.compare, own.compare) == ("before", "2026-10-01/2026-10-07")
    assert EVENTS["compare"](own, "2026-10-01/2026-10-07").compare == ""
    assert EVENTS["clear"](own, "compare") == RiskState(window="7d")
    assert EVENTS["compare"](before, "last week") == before
