"""What a click or a choice does to the state of the page about access: pure functions of state and value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attestlab_dashboards.access.state import FILTERS, AccessState
from attestlab_dashboards.state import Reducer, clear_filters, set_parameter, toggle_parameter

_PAGES: Final = ("page", "keys_page", "sessions_page")  # of what the filters narrow
_OF_DRAWER: Final = ("deed", "acts_page")


def open_question(state: AccessState, value: str) -> AccessState:
    """Open the dialog of a change: `word:id`."""
    ask, _, about = value.partition(":")
    return state.change(ask=ask, about=about) if ask and about else state


def close(state: AccessState, _value: str) -> AccessState:
    """Close the dialog, or else the drawer."""
    return close_question(state) if state.ask else state.change(who="", deed="", acts_page="")


def close_question(state: AccessState) -> AccessState:
    """Close the dialog."""
    return state.change(ask="", about="")


EVENTS: Final[Mapping[str, Reducer[AccessState]]] = {
    **{name: set_parameter(name, resets=_PAGES) for name in ("role", "state")},
    "use": toggle_parameter("use", resets=_PAGES),
    **{name: set_parameter(name) for name in (*_PAGES, "trail_page", "acts_page")},
    "sort": set_parameter("sort", resets=["page"]),
    "keys_sort": set_parameter("keys_sort", resets=["keys_page"]),
    "whole": toggle_parameter("whole", resets=["trail_page", "acts_page"]),
    "who": set_parameter("who", resets=_OF_DRAWER),
    "deed": toggle_parameter("deed", resets=["acts_page"]),
    "clear": clear_filters(FILTERS, resets=_PAGES),
    "ask": open_question,
    "close": close,
}
