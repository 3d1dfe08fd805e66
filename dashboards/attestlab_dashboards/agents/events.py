"""What a click or a choice does to the state of the page about agents: pure functions of state and value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attestlab_dashboards.agents.state import FILTERS, AgentsState
from attestlab_dashboards.state import Reducer, clear_filters, set_parameter, toggle_parameter

_PAGES: Final = ("page", "review_page", "sessions_page", "acts_page")  # of what the filters narrow


def open_question(state: AgentsState, value: str) -> AgentsState:
    """Open the dialog of a change: `word:agent`."""
    ask, _, about = value.partition(":")
    return state.change(ask=ask, about=about) if ask and about else state


def close(state: AgentsState, _value: str) -> AgentsState:
    """Close the dialog, or else the drawer."""
    return close_question(state) if state.ask else state.change(agent="", part="", run="")


def close_question(state: AgentsState) -> AgentsState:
    """Close the dialog."""
    return state.change(ask="", about="")


EVENTS: Final[Mapping[str, Reducer[AgentsState]]] = {
    **{name: set_parameter(name, resets=_PAGES) for name in ("status", "kind")},
    **{name: toggle_parameter(name, resets=_PAGES) for name in ("finding", "tree")},
    **{name: set_parameter(name) for name in (*_PAGES, "run")},
    "agent": set_parameter("agent", resets=["part", "run"]),
    "part": set_parameter("part", resets=["run"]),
    "sort": set_parameter("sort", resets=["page"]),
    "clear": clear_filters(FILTERS, resets=_PAGES),
    "ask": open_question,
    "close": close,
}
