"""What a click or a choice does to the state of the page about access: pure functions of state and value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attestlab_dashboards.access.state import FILTERS, AccessState
from attestlab_dashboards.reducers import (
    Reducer,
    clear_filters,
    close_dialog_or_drawer,
    open_question,
    set_parameter,
    toggle_parameter,
)

_PAGES: Final = ("page", "keys_page", "sessions_page")  # of what the filters narrow
_OF_DRAWER: Final = ("deed", "acts_page")

EVENTS: Final[Mapping[str, Reducer[AccessState]]] = {
    **{name: set_parameter(name, resets=_PAGES) for name in ("role", "state")},
    "use": toggle_parameter("use", resets=_PAGES),
    **{name: set_parameter(name) for name in (*_PAGES, "trail_page", "acts_page")},
    "sort": set_parameter("sort", resets=["page"]),
    "keys_sort": set_parameter("keys_sort", resets=["keys_page"]),
    "whole": toggle_parameter("whole", resets=["trail_page", "acts_page"]),
    "range": toggle_parameter("range", resets=["trail_page"]),
    "who": set_parameter("who", resets=_OF_DRAWER),
    "deed": toggle_parameter("deed", resets=["acts_page"]),
    "clear": clear_filters(FILTERS, resets=_PAGES),
    "ask": open_question,
    "close": close_dialog_or_drawer("who", *_OF_DRAWER),
}
