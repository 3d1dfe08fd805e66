"""What a click or a choice does to the state of issuer governance: pure functions of state and value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from attestlab_dashboards.issuers.state import ADD, FILTERS, IssuerState

Reducer = Callable[[IssuerState, str], IssuerState]
_FIRST_PAGES: Final = {"page": "", "drift_page": "", "keys_page": ""}


def show_changed(state: IssuerState, _value: str) -> IssuerState:
    """Show the issuers alone whose standing changed since their first mint, or all again."""
    return state.change(changed="" if state.changed else "1", **_FIRST_PAGES)


def clear_filter(state: IssuerState, value: str) -> IssuerState:
    """Drop one filter, or with `all` every one."""
    names = FILTERS if value == "all" else tuple(name for name in FILTERS if name == value)
    return state.change(**dict.fromkeys(names, ""), **_FIRST_PAGES) if names else state


def choose_key(state: IssuerState, value: str) -> IssuerState:
    """Count the loss of a key, from the moment that fits it."""
    return state.change(key=value, since="") if value else state


def open_issuer(state: IssuerState, value: str) -> IssuerState:
    """Open the drawer of an issuer."""
    return state.change(issuer=value) if value else state


def open_question(state: IssuerState, value: str) -> IssuerState:
    """Open the dialog of a change: `word:object`, and for the loss of a key `lose:key@since`."""
    ask, _, about = value.partition(":")
    if not ask or not about:
        return state
    if ask == "lose":
        key, _, since = about.partition("@")
        return state.change(ask=ask, about=key, key=key, since=since)
    return state.change(ask=ask, about=about)


def open_registration(state: IssuerState, _value: str) -> IssuerState:
    """Open the dialog that registers an issuer."""
    return state.change(ask=ADD, about="")


def close(state: IssuerState, _value: str) -> IssuerState:
    """Close the dialog, or else the drawer."""
    return close_question(state) if state.ask else state.change(issuer="")


def close_question(state: IssuerState) -> IssuerState:
    """Close the dialog."""
    return state.change(ask="", about="")


def _set(name: str) -> Reducer:
    """Make the reducer of a field that has no other effect; without a value it has its default again."""

    def reduce(state: IssuerState, value: str) -> IssuerState:
        return state.change(**{name: value})

    return reduce


def _filter(name: str) -> Reducer:
    """Make the reducer of a filter, which shows the first pages again."""

    def reduce(state: IssuerState, value: str) -> IssuerState:
        return state.change(**{name: value.strip()}, **_FIRST_PAGES)

    return reduce


def _sort(state: IssuerState, value: str) -> IssuerState:
    return state.change(sort=value, page="")


def show_actor(state: IssuerState, value: str) -> IssuerState:
    """Show all that one actor did, of whatever it is; without a value all lines about issuers again."""
    return state.change(actor=value, trail_page="")


def _choose_age_limit(state: IssuerState, value: str) -> IssuerState:
    return state.change(age_limit=value, keys_page="")


EVENTS: Final[Mapping[str, Reducer]] = {
    **{name: _filter(name) for name in ("status", "tier", "risk", "jurisdiction")},
    **{name: _set(name) for name in ("page", "drift_page", "keys_page", "trail_page", "since", "endpoint")},
    "changed": show_changed,
    "clear": clear_filter,
    "sort": _sort,
    "actor": show_actor,
    "age_limit": _choose_age_limit,
    "key": choose_key,
    "issuer": open_issuer,
    "ask": open_question,
    "add": open_registration,
    "close": close,
}
