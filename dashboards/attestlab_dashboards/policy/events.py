"""What the browser may send to the policy simulator, as pure changes of its state; hostile values change nothing."""

from __future__ import annotations

from contextlib import suppress
from typing import Final
from urllib.parse import urlencode

from attestlab_dashboards.policy.notation import MAX_CONTEXT_VALUES, MAX_DRAFT_CHARS, MAX_SEGMENTS, read_path
from attestlab_dashboards.policy.state import CATEGORIES, WINDOWS, PolicyState
from attestlab_dashboards.ranges import DayRange
from attestlab_dashboards.reducers import Reducer, set_parameter

_TIME: Final = ("window", "since", "until")
CONTEXT_EVENT: Final = "at:"  # with the path of an attribute, the name of the event that sets its value


class EventTable(dict[str, Reducer[PolicyState]]):
    """Events by name; each attribute of the form of one decision has its event, such as `at:key.age_days`."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and _read_attribute(name) is not None)

    def __missing__(self, name: str) -> Reducer[PolicyState]:
        path = _read_attribute(name)
        if path is None:
            raise KeyError(name)
        return lambda state, value: set_context(state, path, value)


def set_context(state: PolicyState, path: str, value: str) -> PolicyState:
    """Set a value of the form of one decision; "" makes it missing."""
    return state.change(context=urlencode({**dict(state.context), path: value.strip()}))


def _choose_policy(state: PolicyState, value: str) -> PolicyState:
    chosen = PolicyState(window=state.window, since=state.since, until=state.until, by=state.by).change(policy=value)
    return chosen if chosen.policy else state


def _choose_version(state: PolicyState, value: str) -> PolicyState:
    return state.change(version="" if value == "newest" else value, draft="", sweep="", second="", page="")


def _choose_category(state: PolicyState, value: str) -> PolicyState:
    return PolicyState(category=value, window=state.window) if value in (*CATEGORIES, "") else state


def _write_draft(state: PolicyState, value: str) -> PolicyState:
    text = value.replace("\r\n", "\n").strip("\n")
    if len(text) > MAX_DRAFT_CHARS or "\0" in text:
        return state
    return state.replay(draft=f"{text}\n" if text else "", page=1, changes_page=1)


def _choose_window(state: PolicyState, value: str) -> PolicyState:
    return state.change(window=value, since="", until="", page="") if value in WINDOWS else state


def _choose_range(state: PolicyState, value: str) -> PolicyState:
    try:
        days = DayRange.parse(value)
    except ValueError:
        return state
    return state.change(since=days.first.isoformat(), until=days.last.isoformat(), window="", page="")


def _clear_filter(state: PolicyState, value: str) -> PolicyState:
    """Replay all of the history again, or with `all` choose from the policies of every action too."""
    if value not in ("time", "category", "all"):
        return state
    names = {"time": _TIME, "category": ("category",), "all": (*_TIME, "category")}[value]
    return state.change(**dict.fromkeys((*names, "page"), ""))


def _toggle_segment(state: PolicyState, value: str) -> PolicyState:
    chosen = [path for path in state.by if path != value]
    if value not in state.by:
        chosen = [*chosen, value][-MAX_SEGMENTS:]
    return state.change(by=",".join(chosen) or "-", page="", rule=state.rule)


def _load_decision(state: PolicyState, value: str) -> PolicyState:
    return state.change(decision=value, context="")


def _try_change(state: PolicyState, value: str) -> PolicyState:
    """Set several values, each as `path=value` on its line."""
    for line in value.split("\n")[:MAX_CONTEXT_VALUES]:
        path, separator, text = line.partition("=")
        if separator:
            state = set_context(state, path, text)
    return state


def _close(state: PolicyState, _value: str) -> PolicyState:
    return state.change()


def _choose_changed(state: PolicyState, value: str) -> PolicyState:
    """List other changed decisions; the dialog that shows them stays open."""
    return state.change(changed=value, changes_page="", dialog=state.dialog)


def _choose_issuer(state: PolicyState, value: str) -> PolicyState:
    """List the changed decisions about one issuer alone, or of all; the dialog that shows them stays open."""
    return state.change(changed_for=value, changes_page="", dialog=state.dialog)


def _turn_changes(state: PolicyState, value: str) -> PolicyState:
    return state.change(changes_page=value, dialog=state.dialog)


def _replay(state: PolicyState, _value: str) -> PolicyState:
    return state.replay()


def _read_attribute(name: str) -> str | None:
    with suppress(ValueError):
        return read_path(name.removeprefix(CONTEXT_EVENT)) if name.startswith(CONTEXT_EVENT) else None
    return None


EVENTS: Final = EventTable(
    {
        **{name: set_parameter(name) for name in ("sweep", "second", "page", "example", "rule", "dialog")},
        "policy": _choose_policy,
        "version": _choose_version,
        "category": _choose_category,
        "draft": _write_draft,
        "window": _choose_window,
        "range": _choose_range,
        "clear": _clear_filter,
        "segment": _toggle_segment,
        "load": _load_decision,
        "try": _try_change,
        "changed": _choose_changed,
        "changed_for": _choose_issuer,
        "changes_page": _turn_changes,
        "close": _close,
        "replay": _replay,
    }
)
