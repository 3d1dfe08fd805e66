"""What a click or a choice does to the state of the page about agents: pure functions of state and value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attestlab_dashboards.agents.state import FILTERS, AgentsState
from attestlab_dashboards.reducers import (
    Reducer,
    clear_filters,
    close_dialog_or_drawer,
    open_question,
    set_parameter,
    toggle_parameter,
)

_PAGES: Final = ("page", "review_page", "sessions_page", "acts_page")  # of what the filters narrow

EVENTS: Final[Mapping[str, Reducer[AgentsState]]] = {
    **{name: set_parameter(name, resets=_PAGES) for name in ("status", "kind")},
    **{name: toggle_parameter(name, resets=_PAGES) for name in ("finding", "tree")},
    **{name: set_parameter(name) for name in (*_PAGES, "run")},
    "range": toggle_parameter("range", resets=["acts_page"]),
    "agent": set_parameter("agent", resets=["part", "run"]),
    "part": set_parameter("part", resets=["run"]),
    "sort": set_parameter("sort", resets=["page"]),
    "clear": clear_filters(FILTERS, resets=_PAGES),
    "ask": open_question,
    "close": close_dialog_or_drawer("agent", "part", "run"),
}
