"""What a click, a choice or a brush of the risk explorer does to its state: pure functions of state and value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from attestlab_dashboards.reducers import Reducer, set_parameter, toggle_parameter
from attestlab_dashboards.risk.state import RiskState
from attestlab_dashboards.risk.windows import write_bounds

_CLEARED: Final[Mapping[str, Mapping[str, str]]] = {
    "source": {"source": ""},
    "type": {"type": ""},
    "kind": {"kind": ""},
    "about": {"about": ""},
    "score": {"min_score": "", "max_score": ""},
    "time": {"since": "", "until": ""},
    "compare": {"compare": ""},
    "window": {"window": "", "since": "", "until": ""},
}
_FIRST_PAGE: Final = {"page": ""}
_PLAIN: Final = ("by", "page", "signal", "graph", "depth", "cases_page", "rule_score", "rule_source", "rule_burst")


def change_window(state: RiskState, value: str) -> RiskState:
    """Show another window of time, all of it."""
    return state.change(window=value, **_CLEARED["time"], **_FIRST_PAGE) if value else state


def choose_scores(state: RiskState, value: str) -> RiskState:
    """Show the signals with a score from `low-high`; of the same scores again, or without a value, those of all."""
    if value and not re.fullmatch(r"[0-9]{1,3}-[0-9]{1,3}", value, re.ASCII):
        return state
    low, _, high = value.partition("-")
    if value == f"{state.min_score}-{state.max_score}":
        low = high = ""
    return state.change(min_score=low, max_score=high, **_FIRST_PAGE)


def choose_span(state: RiskState, value: str) -> RiskState:
    """Show a part of the window, `from/to`; without a value all of it."""
    since, _, until = value.partition("/")
    return state.change(since=since, until=until, **_FIRST_PAGE)


def extend_span(state: RiskState, value: str) -> RiskState:
    """Extend the selected time to a part of the window, `from/to`; without a selection, select that part."""
    added = choose_span(state, value)
    if state.since is None or state.until is None or added.since is None or added.until is None:
        return added
    return choose_span(state, write_bounds(min(state.since, added.since), max(state.until, added.until)))


def brush_time(state: RiskState, value: str) -> RiskState:
    """Show the part of the window that was brushed; see `brush`."""
    return _brush(state, value, has_scores=False)


def brush(state: RiskState, value: str) -> RiskState:
    """Show the times and scores that were brushed.

    The value has six parts: the selection as fractions of the plot (x0, x1, y0, y1), and the times at its two ends.
    """
    return _brush(state, value, has_scores=True)


def clear_filter(state: RiskState, value: str) -> RiskState:
    """Drop one filter, or with `all` every one."""
    wanted = _CLEARED if value == "all" else {value: _CLEARED.get(value, {})}
    changes = {name: text for cleared in wanted.values() for name, text in cleared.items()}
    return state.change(**changes, **_FIRST_PAGE) if changes else state


def show_all_about(state: RiskState, value: str) -> RiskState:
    """Narrow everything to one entity, and close the drawer that it was chosen in."""
    return state.change(about=value, entity="", signal="", **_FIRST_PAGE) if value else state


def close_drawer(state: RiskState, _value: str) -> RiskState:
    """Close the drawer."""
    return state.change(entity="", signal="")


def reset_rule(state: RiskState, _value: str) -> RiskState:
    """Compare the live rule with itself again."""
    return state.change(rule_score="", rule_source="", rule_burst="")


def _brush(state: RiskState, value: str, *, has_scores: bool) -> RiskState:
    if not value:
        cleared = {**_CLEARED["time"], **(_CLEARED["score"] if has_scores else {})}
        return state.change(**cleared, **_FIRST_PAGE)
    try:
        changes = _read_brush(value, has_scores=has_scores)
    except (ValueError, OverflowError):
        return state
    return state.change(**changes, **_FIRST_PAGE)


def _read_brush(value: str, *, has_scores: bool) -> dict[str, str]:
    """Read a selection; times are rounded to the minute and scores to whole points, outwards.

    Raises:
        ValueError: it is none.
        OverflowError: its times are beyond what a calendar has.
    """
    *numbers, first, last = value.split(",")
    x0, x1, y0, y1 = (min(1.0, max(0.0, float(number))) for number in numbers)
    start, end = (datetime.fromisoformat(text) for text in (first, last))
    if start.tzinfo is None or end.tzinfo is None or not end > start or any(each != each for each in (x0, x1, y0, y1)):
        raise ValueError(value)
    since = start + x0 * (end - start)
    until = max(start + x1 * (end - start), since + timedelta(minutes=1))
    changes = {"since": f"{since:%Y-%m-%dT%H:%M%z}", "until": f"{until:%Y-%m-%dT%H:%M%z}"}
    if has_scores:
        low, high = int(100 * y0), ceil(100 * y1)
        changes |= {"min_score": str(low), "max_score": str(min(100, high))}
    return changes


EVENTS: Final[Mapping[str, Reducer[RiskState]]] = {
    **{name: set_parameter(name) for name in _PLAIN},
    "window": change_window,
    "compare": toggle_parameter("compare"),
    "source": toggle_parameter("source", resets=["page"]),
    "type": toggle_parameter("type", resets=["page"]),
    "facet_kind": toggle_parameter("kind", resets=["page"]),
    "kind": set_parameter("kind", resets=["page"]),
    "score": choose_scores,
    "span": choose_span,
    "extend": extend_span,
    "brush": brush,
    "brush_time": brush_time,
    "clear": clear_filter,
    "about": show_all_about,
    "sort": set_parameter("sort", resets=["page"]),
    "entity": set_parameter("entity", resets=["signal"]),
    "close": close_drawer,
    "queue": set_parameter("queue", resets=["group"]),
    "group": set_parameter("group"),
    "cases": set_parameter("cases", resets=["cases_page"]),
    "rule_reset": reset_rule,
}
