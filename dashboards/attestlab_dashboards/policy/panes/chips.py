"""The filters: the action that policies decide about, and the window of the decisions that are replayed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab_dashboards import widgets
from attestlab_dashboards.pages import Facts, Pane
from attestlab_dashboards.policy.queries import find_window, load_newest_decision
from attestlab_dashboards.policy.state import CATEGORIES, WINDOWS, YESTERDAY, PolicyState
from attestlab_dashboards.ranges import draw_own_range, write_days
from attestlab_dashboards.safe import html, join

_WINDOW_WORDS: Final = {
    "all": "All of the history",
    "365d": "365 days",
    "90d": "90 days",
    "30d": "30 days",
    "7d": "7 days",
    YESTERDAY: "Yesterday",
}
_CATEGORY_WORDS: Final = {"MINT": "Mint", "VERIFY": "Verify", "BUNDLE_EXPORT": "Bundle export"}


def load_days(lab: Lab, state: PolicyState) -> str:
    """Return the days of the window in words; empty for all of the history."""
    since, until = find_window(lab, state)
    last = load_newest_decision(lab) if until is None else until - timedelta(days=1)
    return "" if since is None or last is None else write_days(since, last)


def draw_chips(state: PolicyState, _facts: Facts) -> Markup:
    """Draw the filters before anything is loaded, without dates."""
    return draw_dated_chips("", state)


def draw_dated_chips(days: str, state: PolicyState) -> Markup:
    """Draw the actions, the windows, and a chip with a cross for what is set."""
    categories = [widgets.chip("All actions", ev="category", v="", pressed=not state.category)]
    categories += [
        widgets.chip(_CATEGORY_WORDS[each], ev="category", v=each, pressed=state.category == each)
        for each in CATEGORIES
    ]
    return html(
        '{categories}<span class="sep"></span>{windows}{own}{removable}',
        categories=join(categories),
        windows=join(_draw_window(each, days, state) for each in WINDOWS),
        own=draw_own_range("range", state.own_range),
        removable=widgets.set_filters(_list_removable(days, state)),
    )


def _draw_window(name: str, days: str, state: PolicyState) -> Markup:
    """Draw a window to choose; the chosen one has its dates."""
    is_chosen = state.window == name and not (state.since or state.until)
    words = f"{_WINDOW_WORDS[name]}: {days}" if is_chosen and days else _WINDOW_WORDS[name]
    return widgets.chip(words, ev="window", v=name, pressed=is_chosen)


def _list_removable(days: str, state: PolicyState) -> Iterator[tuple[str, str]]:
    if state.category:
        yield "category", f"Action: {_CATEGORY_WORDS[state.category]}"
    if state.own_range:
        yield "time", state.own_range.words
    elif state.since or state.until:
        yield "time", f"From {state.since}" if state.since else f"To {state.until}"
    elif state.window != WINDOWS[0]:
        yield "time", days or _WINDOW_WORDS[state.window]


PANE: Final = Pane(
    key="chips", load=load_days, draw=draw_dated_chips, reads=("window", "since", "until"), is_optional=True
)
