"""Reads what a person sets of a page from Python, such as `days=7`, and says what is acceptable otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import param

from attestlab.core.encoding import quote
from attestlab.core.errors import ValidationFailed
from attestlab.core.suggestions import find_nearest
from attestlab_dashboards.pages import AnyPage
from attestlab_dashboards.parameters import NO_ADDRESS, AnyParameter, Value, read_value
from attestlab_dashboards.state import PageState

DAYS: Final = "days"  # of the window of a page, whatever the page calls it
_WINDOWS: Final = ("window", "range")  # what pages call it
_ONE_DAY: Final = ("24h",)
_DAYS: Final = (1, 7, 30, 90, 365)
_MAX_SHOWN: Final = 12


def apply_settings(page: AnyPage, state: PageState, given: Mapping[str, object]) -> PageState:
    """Return a state with other values, given as values of Python or as texts of an address.

    None and an empty text reset a value. Changing what is listed shows its first page again.

    Raises:
        ValidationFailed: there is no such parameter, or a value is not acceptable; the message names those that are.
    """
    values = dict(_read(page, state, name, value) for name, value in given.items())
    changed = state.replace(**values)
    conflicts = changed.find_conflicts()
    if conflicts:
        raise ValidationFailed(
            f"{_join([f'{name}={show(getattr(changed, name))}' for name in conflicts])}: a part is missing, or they "
            f"contradict each other. {' '.join(_describe(_list_parameters(type(state))[name]) for name in conflicts)} "
            "Set what belongs together in one call."
        )
    return changed


def _read(page: AnyPage, state: PageState, name: str, value: object) -> tuple[str, Any]:
    """Read one value; returns the name of the parameter in the state, and its value."""
    known = _list_parameters(type(state))
    if name == DAYS and DAYS not in known:
        return _read_days(page, known, value)
    parameter = known.get(name)
    if parameter is None:
        nearest = find_nearest(name, known)
        hint = f" Did you mean {nearest}?" if nearest else ""
        raise ValidationFailed(f"The page {page.name} has no {quote(name)}.{hint} It has {', '.join(_offer(known))}.")
    return name, _read_value(name, parameter, _unwrap(value))


def _read_days(page: AnyPage, known: Mapping[str, AnyParameter], value: object) -> tuple[str, Any]:
    name = next((each for each in _WINDOWS if each in known and find_windows(known[each])), None)
    if name is None:
        raise ValidationFailed(f"The page {page.name} has no window of days. It has {', '.join(_offer(known))}.")
    windows = find_windows(known[name])
    if not isinstance(value, int) or isinstance(value, bool) or value not in windows:
        listed = _join([str(days) for days in windows], "or")
        raise ValidationFailed(
            f"days={show(value)} is no window of the page {page.name}. Pass days={listed}, or a {name} from/to."
        )
    return name, windows[value]


def find_windows(parameter: AnyParameter) -> dict[int, str]:
    """Find the windows of a page by their days, as texts of its address."""
    texts = {days: (*(_ONE_DAY if days == 1 else ()), f"{days}d") for days in _DAYS}
    found = {days: next((each for each in choices if _accepts(parameter, each)), "") for days, choices in texts.items()}
    return {days: text for days, text in found.items() if text}


def _accepts(parameter: AnyParameter, text: str) -> bool:
    try:
        read_value(parameter, text)
    except (ValueError, OverflowError):
        return False
    return True


def _read_value(name: str, parameter: AnyParameter, value: object) -> Any:
    if value is None or value == "":
        return parameter.default
    try:
        if isinstance(value, str) and not _is_choice(parameter, value):
            return read_value(parameter, value)
        return _check(parameter, value)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        raise ValidationFailed(f"{name}={show(value)} is not acceptable. {_describe(parameter)}") from None


def _is_choice(parameter: AnyParameter, value: object) -> bool:
    return isinstance(parameter, param.Selector) and value in parameter.objects


def _check(parameter: AnyParameter, value: object) -> object:
    """Return a value of Python that the parameter accepts; a number or a time may stand for its text.

    Raises:
        ValueError: it does not accept it.
    """
    if isinstance(parameter, param.Selector) and not _is_choice(parameter, value):
        return read_value(parameter, str(value))
    if isinstance(value, datetime):
        return read_value(parameter, value.isoformat())
    if isinstance(parameter, param.Number) and isinstance(value, bool):
        raise ValueError(value)
    if isinstance(parameter, Value):
        return parameter.parse(parameter.write(value))
    parameter._validate(value)
    return value


def _unwrap(value: object) -> object:
    """Return the id of an object of the lab, and other values as they are."""
    found = getattr(value, "id", None) or getattr(value, "policy_id", None)
    return value if found is None or isinstance(value, str | int | float | datetime) else str(found)


def _list_parameters(state: type[PageState]) -> dict[str, AnyParameter]:
    """List the parameters of a state that a person may set: those that an address carries."""
    objects = state.param.objects(instance=False)
    return {name: each for name, each in objects.items() if name != "name" and each.precedence != NO_ADDRESS}


def _offer(known: Mapping[str, AnyParameter]) -> list[str]:
    has_windows = any(each in known and find_windows(known[each]) for each in _WINDOWS)
    days = [DAYS] if DAYS not in known and has_windows else []
    return [*days, *(name for name in known if name != "view")]


def _describe(parameter: AnyParameter) -> str:
    """Describe what a parameter is and which values it accepts."""
    doc = " ".join((parameter.doc or "").split())
    if isinstance(parameter, param.Selector):
        shown = [show(each) for each in parameter.objects if each != ""]
        more = ", ..." if len(shown) > _MAX_SHOWN else ""
        return f"{doc} Pass {_join(shown[:_MAX_SHOWN], 'or')}{more}."
    if isinstance(parameter, param.Number) and parameter.bounds:
        low, high = parameter.bounds
        return f"{doc} Pass a number from {low} to {high:,}."
    if isinstance(parameter, param.Date):
        return f"{doc} Pass a time such as '2026-11-02T12:00Z'."
    windows = [repr(text) for text in find_windows(parameter).values()] if isinstance(parameter, Value) else []
    return f"{doc} Pass {_join(windows, 'or')}, or days from/to." if len(windows) > 1 else doc


def _join(words: list[str], last: str = "and") -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def show(value: object) -> str:
    """Show a value of a caller in a message, whatever it is."""
    try:
        shown = repr(str(value)) if not isinstance(value, bool | int | float) else repr(value)
    except (RecursionError, ValueError):  # a list in itself, or a number of too many digits
        shown = f"a {type(value).__name__}"
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
