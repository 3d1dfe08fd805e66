"""What a click or a choice does to the state of the log inspector: pure functions of state and value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attestlab_dashboards.log.state import FILTERS, LogState
from attestlab_dashboards.reducers import Reducer, clear_filters, set_parameter, toggle_parameter

_SEARCHED: Final = {"flip": "", "file": "", "answer": ""}  # which belong to what was searched before


def look_again(state: LogState, _value: str) -> LogState:
    """Read the head of now again, and all that depends on it."""
    return state.replace(looked=state.looked + 1)


def close_drawer(state: LogState, _value: str) -> LogState:
    """Close the drawer."""
    return state.change(entry="")


def search_document(state: LogState, value: str) -> LogState:
    """Search a file by its SHA-256, and compare it: it is never taken for a leaf of the log."""
    if not _are_acceptable(state, file=value):
        return state
    return state.change(**{**_SEARCHED, "find": value, "file": value})


def inspect_entry(state: LogState, value: str) -> LogState:
    """Search an entry by its index, and close the drawer."""
    if not _are_acceptable(state, entry=value):
        return state
    return state.change(**_SEARCHED, find=value, entry="")


def inspect_twin(state: LogState, value: str) -> LogState:
    """Search another attestation of the same document, `index.hash`, and compare the file with it too."""
    index, _, digest = value.partition(".")
    if not _are_acceptable(state, entry=index, file=digest):
        return state
    return state.change(**{**_SEARCHED, "find": index, "file": digest})


def _are_acceptable(state: LogState, **texts: str) -> bool:
    return all(texts.values()) and state.change(**texts) is not state


def recall_head(state: LogState, text: str) -> LogState:
    """Take what the browser remembers of its last look."""
    return state.change(seen=text)


def show_all(state: LogState, _value: str) -> LogState:
    """Show all entries."""
    return state.change(**dict.fromkeys((*FILTERS, "page"), ""))


EVENTS: Final[Mapping[str, Reducer[LogState]]] = {
    "find": set_parameter("find", resets=_SEARCHED),
    "document": search_document,
    "file": set_parameter("file"),
    "keep": set_parameter("kept"),
    "look": look_again,
    "flip": toggle_parameter("flip"),
    "type": set_parameter("type", resets=["page"]),
    "issuer": set_parameter("issuer", resets=["page"]),
    "range": toggle_parameter("range", resets=["page"]),
    "page": set_parameter("page"),
    "open": set_parameter("entry"),
    "inspect": inspect_entry,
    "twin": inspect_twin,
    "close": close_drawer,
    "all": show_all,
    "clear": clear_filters(FILTERS, resets=["page"]),
    "pin": set_parameter("trust"),
    "bundle": set_parameter("bundle"),
}
