"""`make house` prints the measures of the plan of the house before and after."""

from __future__ import annotations

from house.__main__ import PLACES, list_figures, render_points
from house.goals import POINTS


def test_make_house_measures_every_goal() -> None:
    measured = {*PLACES, *(name for name, _value in list_figures())}

    assert {name for goals in POINTS.values() for name in goals} <= measured


def test_a_goal_is_printed_with_what_was_before_and_what_was_wanted() -> None:
    measured = {name: 3 for goals in POINTS.values() for name in goals}

    lines = list(render_points(measured))

    assert "  modules in import circles: 3 (before 20, wanted 0)" in lines
    assert [line for line in lines if line[0] != " "] == list(POINTS)
