"""The filters that need no data: the action that policies decide about, and the window."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab_dashboards import widgets
from attestlab_dashboards.pages import Facts
from attestlab_dashboards.policy.state import CATEGORIES, WINDOWS, PolicyState
from attestlab_dashboards.safe import html, join

_WINDOW_WORDS: Final = {
    "all": "All of the history",
    "365d": "365 days",
    "90d": "90 days",
    "30d": "30 days",
    "7d": "7 days",
}
_CATEGORY_WORDS: Final = {"MINT": "Mint", "VERIFY": "Verify", "BUNDLE_EXPORT": "Bundle export"}


def draw_chips(state: PolicyState, _facts: Facts) -> Markup:
    """Draw the filters that need no data: the action and the window."""
    categories = [widgets.chip("All actions", ev="category", v="", pressed=not state.category)]
    categories += [
        widgets.chip(_CATEGORY_WORDS[each], ev="category", v=each, pressed=state.category == each)
        for each in CATEGORIES
    ]
    is_custom = bool(state.since or state.until)
    windows = [
        widgets.chip(_WINDOW_WORDS[each], ev="window", v=each, pressed=state.window == each and not is_custom)
        for each in WINDOWS
    ]
    return html(
        '{categories}<span class="sep"></span>{windows}<span class="sep"></span>{since}{until}',
        categories=join(categories),
        windows=join(windows),
        since=_draw_day("From", "since", state.since),
        until=_draw_day("to", "until", state.until),
    )


def _draw_day(label: str, name: str, value: str) -> Markup:
    return html(
        '<label class="po-day">{label}<input type="date" data-ev="{name}" data-key="{name}" value="{value}"></label>',
        label=label,
        name=name,
        value=value,
    )
