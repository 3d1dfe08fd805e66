"""Reducers: what a click or a choice does to the state of any page, as pure functions of state and value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from attestlab_dashboards.state import PageState

S = TypeVar("S", bound=PageState)
Reducer = Callable[[S, str], S]


def set_parameter(name: str, *, resets: Iterable[str] = ()) -> Reducer[S]:
    """Make the reducer that sets a parameter, or without a value resets it, and resets these others."""
    return lambda state, value: state.change(**{name: value.strip(), **dict.fromkeys(resets, "")})


def toggle_parameter(name: str, *, resets: Iterable[str] = ()) -> Reducer[S]:
    """Make the reducer that sets a parameter, or resets it if it has this value, and resets these others."""

    def toggle(state: S, value: str) -> S:
        is_set = value == state.write(name)
        return state.change(**{name: "" if is_set else value, **dict.fromkeys(resets, "")})

    return toggle


def clear_filters(filters: Iterable[str], *, resets: Iterable[str] = ()) -> Reducer[S]:
    """Make the reducer that drops the filter of a name, or with `all` each, and resets these others."""
    known = tuple(filters)

    def clear(state: S, value: str) -> S:
        names = known if value == "all" else tuple(name for name in known if name == value)
        return state.change(**dict.fromkeys((*names, *resets), "")) if names else state

    return clear


def open_question(state: S, value: str) -> S:
    """Open the dialog of a question about an object: `word:object`."""
    ask, _, about = value.partition(":")
    return state.change(ask=ask, about=about) if ask and about else state


def close_question(state: S) -> S:
    """Close the dialog."""
    return state.change(ask="", about="")


def close_dialog_or_drawer(*drawer: str) -> Reducer[S]:
    """Make the reducer that closes the dialog, or else the drawer, which these parameters describe."""
    return lambda state, _value: state.change(**dict.fromkeys(("ask", "about") if state.write("ask") else drawer, ""))
