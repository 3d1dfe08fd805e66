"""What the browser may send to the policy simulator, as pure changes of its state; hostile values change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attestlab_dashboards.policy.state import (
    CATEGORIES,
    DIALOGS,
    MAX_CONTEXT_VALUES,
    MAX_DRAFT_CHARS,
    MAX_SEGMENTS,
    WINDOWS,
    PolicyState,
    read_day,
    read_decision,
    read_number,
    read_path,
    read_policy,
    read_threshold,
)

Reducer = Callable[[PolicyState, str], PolicyState]
CONTEXT_EVENT: Final = "at:"  # with the path of an attribute, the name of the event that sets its value
_MAX_VALUE_CHARS: Final = 200


class EventTable(dict[str, Reducer]):
    """Events by name; each attribute of the form of one decision has an event of its own, `at:key.age_days`."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and _read_attribute(name) is not None)

    def __missing__(self, name: str) -> Reducer:
        path = _read_attribute(name)
        if path is None:
            raise KeyError(name)
        return lambda state, value: set_context(state, path, value)


def set_context(state: PolicyState, path: str, value: str) -> PolicyState:
    """Set a value of the form of one decision; "" makes it missing."""
    values = dict(state.context) | {path: value.strip()}
    if len(value) > _MAX_VALUE_CHARS or len(values) > MAX_CONTEXT_VALUES:
        return state
    return state.change(context=tuple(sorted(values.items())))


def _choose_policy(state: PolicyState, value: str) -> PolicyState:
    policy = read_policy(value)
    if policy is None:
        return state
    return PolicyState(policy=policy, window=state.window, since=state.since, until=state.until, by=state.by)


def _choose_version(state: PolicyState, value: str) -> PolicyState:
    version = 0 if value == "newest" else read_number(value)
    return state if version is None else state.change(version=version, draft="", sweep="", second="", page=1)


def _choose_category(state: PolicyState, value: str) -> PolicyState:
    return PolicyState(category=value, window=state.window) if value in (*CATEGORIES, "") else state


def _write_draft(state: PolicyState, value: str) -> PolicyState:
    text = value.replace("\r\n", "\n").strip("\n")
    if len(text) > MAX_DRAFT_CHARS or "\0" in text:
        return state
    return state.change(draft=f"{text}\n" if text else "", page=1, run=state.run + 1)


def _choose_window(state: PolicyState, value: str) -> PolicyState:
    return state.change(window=value, since="", until="", page=1) if value in WINDOWS else state


def _since(state: PolicyState, value: str) -> PolicyState:
    day = read_day(value) if value else ""
    return state if day is None else state.change(since=day, window="all", page=1)


def _until(state: PolicyState, value: str) -> PolicyState:
    day = read_day(value) if value else ""
    return state if day is None else state.change(until=day, window="all", page=1)


def _toggle_segment(state: PolicyState, value: str) -> PolicyState:
    if read_path(value) is None:
        return state
    others = tuple(path for path in state.by if path != value)
    chosen = others if value in state.by else (*others, value)[-MAX_SEGMENTS:]
    return state.change(by=chosen, page=1)


def _sweep(state: PolicyState, value: str) -> PolicyState:
    return state if value and read_threshold(value) is None else state.change(sweep=value)


def _second(state: PolicyState, value: str) -> PolicyState:
    return state if value and read_threshold(value) is None else state.change(second=value)


def _load_decision(state: PolicyState, value: str) -> PolicyState:
    decision = read_decision(value) if value else ""
    return state if decision is None else state.change(decision=decision, context=())


def _try_change(state: PolicyState, value: str) -> PolicyState:
    """Set several values, each as `path=value` on a line of its own."""
    for line in value.split("\n")[:MAX_CONTEXT_VALUES]:
        path, separator, text = line.partition("=")
        if separator and read_path(path) is not None:
            state = set_context(state, path, text)
    return state


def _turn_page(state: PolicyState, value: str) -> PolicyState:
    page = read_number(value)
    return state if page is None else state.change(page=page)


def _open_example(state: PolicyState, value: str) -> PolicyState:
    number = read_number(value)
    return state if number is None else state.change(example=number)


def _open_dialog(state: PolicyState, value: str) -> PolicyState:
    return state.change(dialog=value) if value in DIALOGS else state


def _close(state: PolicyState, _value: str) -> PolicyState:
    return state.change()


def _replay(state: PolicyState, _value: str) -> PolicyState:
    return state.change(run=state.run + 1)


EVENTS: Final = EventTable(
    {
        "policy": _choose_policy,
        "version": _choose_version,
        "category": _choose_category,
        "draft": _write_draft,
        "window": _choose_window,
        "since": _since,
        "until": _until,
        "segment": _toggle_segment,
        "sweep": _sweep,
        "second": _second,
        "load": _load_decision,
        "try": _try_change,
        "page": _turn_page,
        "example": _open_example,
        "dialog": _open_dialog,
        "close": _close,
        "replay": _replay,
    }
)


def _read_attribute(name: str) -> str | None:
    return read_path(name.removeprefix(CONTEXT_EVENT)) if name.startswith(CONTEXT_EVENT) else None
