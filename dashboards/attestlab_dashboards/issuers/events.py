"""What a click or a choice does to the state of issuer governance: pure functions of state and value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attestlab_dashboards.issuers.state import ADD, FILTERS, IssuerState
from attestlab_dashboards.reducers import Reducer, clear_filters, close_dialog_or_drawer, open_question, set_parameter

_PAGES: Final = ("page", "drift_page", "keys_page")  # of what the filters narrow
_FIRST_PAGES: Final = dict.fromkeys(_PAGES, "")


def show_changed(state: IssuerState, _value: str) -> IssuerState:
    """Show the issuers alone whose standing changed since their first mint, or all again."""
    return state.change(changed="" if state.changed else "1", **_FIRST_PAGES)


def open_change(state: IssuerState, value: str) -> IssuerState:
    """Open the dialog of a change: `word:object`, and for the loss of a key `lose:key@since`."""
    ask, _, about = value.partition(":")
    if ask == "lose" and about:
        key, _, since = about.partition("@")
        return state.change(ask=ask, about=key, key=key, since=since)
    return open_question(state, value)


def open_registration(state: IssuerState, _value: str) -> IssuerState:
    """Open the dialog that registers an issuer."""
    return state.change(ask=ADD, about="")


EVENTS: Final[Mapping[str, Reducer[IssuerState]]] = {
    **{name: set_parameter(name, resets=_PAGES) for name in ("status", "tier", "risk", "jurisdiction")},
    **{name: set_parameter(name) for name in (*_PAGES, "trail_page", "since", "listed", "issuer")},
    "endpoint": set_parameter("endpoint", resets=["listed"]),
    "range": set_parameter("range", resets=["page"]),
    "changed": show_changed,
    "clear": clear_filters((*FILTERS, "range"), resets=_PAGES),
    "sort": set_parameter("sort", resets=["page"]),
    "actor": set_parameter("actor", resets=["trail_page"]),
    "age_limit": set_parameter("age_limit", resets=["keys_page"]),
    "key": set_parameter("key", resets=["since"]),  # the moment of loss that fits the key
    "ask": open_change,
    "add": open_registration,
    "close": close_dialog_or_drawer("issuer"),
}
