"""Lists and trails are narrowed to days: what is shown, what is exported, and the chips that say so."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

import attestlab
from attestlab import Lab
from attestlab_dashboards.lake_query import PARAMETER
from attestlab_dashboards.page_list import find_page
from attestlab_dashboards.pages import AnyPane
from attestlab_dashboards.ranges import DayRange, draw_days

LISTS = {("log", "entries"): "logged_at", ("agents", "acts"): "at", ("access", "trail"): "at"}


@pytest.fixture(scope="module")
def demo(caches: None) -> Iterator[Lab]:
    with attestlab.demo() as lab:
        yield lab


def find_list(path: str, key: str) -> tuple[Any, AnyPane]:
    page = find_page(path)
    return page, next(pane for pane in page.panes if pane.key == key)


def read_days(lab: Lab, pane: AnyPane, state: Any, column: str) -> list[date]:
    assert pane.export is not None
    return [at.date() for at in pane.export(lab, state).df()[column]]


@pytest.mark.parametrize(("path", "key"), LISTS, ids=lambda each: each)
def test_a_list_has_the_lines_of_its_days_and_no_other(demo: Lab, path: str, key: str) -> None:
    page, pane = find_list(path, key)
    all_days = read_days(demo, pane, page.state(), LISTS[path, key])
    first = sorted(all_days)[len(all_days) // 2]
    chosen = DayRange(first, first + timedelta(days=6))
    state = page.state(range=str(chosen))
    wanted = [each for each in all_days if chosen.first <= each <= chosen.last]

    assert 0 < len(wanted) < len(all_days)
    assert read_days(demo, pane, state, LISTS[path, key]) == wanted
    assert f"{len(wanted):,}" in str(pane.reading(pane.load(demo, state), state))  # type: ignore[operator]  # it is one
    sql = pane.compose_sql(state)
    assert sql is not None
    assert PARAMETER.search(sql) is None
    assert len(list(demo.sql(sql))) == len(wanted)


@pytest.mark.parametrize(("path", "key"), LISTS, ids=lambda each: each)
def test_days_without_a_line_say_so_and_lead_back(demo: Lab, path: str, key: str) -> None:
    page, pane = find_list(path, key)
    state = page.state(range="2001-01-01/2001-01-02")
    drawn = str(pane.draw(pane.load(demo, state), state))

    assert "1 Jan to 2 Jan 2001" in drawn
    assert 'data-v="2001-01-01/2001-01-02"' in drawn or 'data-ev="clear"' in drawn
    assert page.events["range"](state, "2001-01-01/2001-01-02") == page.state()


def test_the_chosen_days_are_the_pressed_chip_alone() -> None:
    today = datetime(2026, 11, 29, tzinfo=UTC).date()
    pressed = {
        chosen: str(draw_days("range", chosen, today)).count('aria-pressed="true"')
        for chosen in (
            "",
            "2026-11-28/2026-11-28",
            "2026-11-23/2026-11-29",
            "2026-10-31/2026-11-29",
            "2026-01-01/2026-01-01",
        )
    }

    assert list(pressed.values()) == [0, 1, 1, 1, 1]
