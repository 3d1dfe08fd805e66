"""Ranges that hold nothing because they end before they begin: one fault for requests and for calls in Python."""

from __future__ import annotations

from datetime import datetime
from typing import TypeVar

from attestlab.core.encoding import format_time
from attestlab.core.errors import FieldError

Bound = TypeVar("Bound", datetime, float)


def find_reversed_bounds(low: str, first: Bound | None, high: str, last: Bound | None) -> FieldError | None:
    """Return the fault of a range that ends before it begins; None is no bound. A time is after, a number above.

    >>> find_reversed_bounds("min_score", 80, "max_score", 20).message
    'min_score=80 is above max_score=20. Exchange them, or leave one out.'
    """
    if first is None or last is None or first <= last:
        return None
    message = f"{low}={_show(first)} is {_compare(first)} {high}={_show(last)}. Exchange them, or leave one out."
    return FieldError(f"/{low}", "bounds", message)


def _compare(bound: object) -> str:
    return "after" if isinstance(bound, datetime) else "above"


def _show(bound: object) -> object:
    return format_time(bound) if isinstance(bound, datetime) else bound
