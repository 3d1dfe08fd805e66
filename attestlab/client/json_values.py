"""The JSON form of the values that a caller passes: one conversion for every verb.

Frames and databases return numbers of their own classes (NumPy, pandas, `Decimal`). A number becomes JSON if JSON
can write its exact value; otherwise the caller gets an error, so that no verb counts such a value as missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import TYPE_CHECKING

from attestlab.client.arguments import read_mapping, show
from attestlab.core.encoding import format_time
from attestlab.core.errors import ValidationFailed
from attestlab.core.strict_json import MAX_DEPTH, parse_json

if TYPE_CHECKING:
    from datetime import datetime

_TIMES = "mM"  # NumPy's kinds of durations and times: whole numbers of a unit that JSON does not show


def encode_body(body: object) -> bytes:
    """Encode a JSON body; UUIDs, times, paths and enums become text, numbers of any class JSON numbers.

    Raises:
        ValidationFailed: a value has no JSON form; the error names the member.
    """
    try:
        return ENCODER.encode(body).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise _describe_failure(body, error) from None


def encode_parameter(name: str, value: object) -> str:
    """Encode a query parameter.

    Raises:
        ValidationFailed: it is no text, number, time or id.
    """
    try:
        found = value if isinstance(value, str | bool | int | float) else _encode_value(value)
        return str(found).lower() if isinstance(found, bool) else str(found)
    except (TypeError, ValueError) as error:
        raise ValidationFailed(f"{name} cannot be sent: {error}. Pass a text, a number, a time or an id.") from None


def read_facts(facts: object, *, name: str) -> dict[str, object]:
    """Return facts as the service would read them: in JSON's types alone.

    Raises:
        ValidationFailed: they are no mapping, or a value has no JSON form.

    >>> from decimal import Decimal
    >>> read_facts({"order.qty": Decimal(9)}, name="context")
    {'order.qty': 9}
    """
    return read_mapping(parse_json(encode_body(read_mapping(facts, name=name))), name=name)


def _encode_value(value: object) -> object:
    from datetime import date, datetime
    from pathlib import PurePath
    from uuid import UUID

    if isinstance(value, datetime):
        return _encode_time(value)
    if isinstance(value, date | UUID | PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return read_mapping(value, name="An object")
    return _convert_number(value)


def _encode_time(value: datetime) -> str:
    if value != value:  # pandas' NaT, which is a datetime
        raise ValueError(f"{value!r} is no time")
    try:
        return format_time(value)
    except OverflowError:  # the first or last hours of the calendar, in UTC
        raise ValueError(f"{value.isoformat()} is out of range in UTC") from None


def _convert_number(value: object) -> int | float:
    """Return a number of another class as one of Python's, with the same value."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if getattr(value, "shape", ()) != () or (kind is not None and kind in _TIMES):
        raise TypeError(f"{type(value).__name__} has no JSON form")
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Decimal | Real):
        return _convert_real(value)
    item = getattr(value, "item", None)
    scalar = item() if callable(item) else None
    if not isinstance(scalar, int | float):
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return scalar


def _convert_real(value: Decimal | Real) -> int | float:
    """Convert a decimal, a fraction or a float of another width, if a double has the same value or the same digits."""
    try:
        if isinstance(value, Decimal | Fraction) and value == int(value):
            return int(value)
        found = float(value)
        is_exact = Decimal(repr(found)) == value if isinstance(value, Decimal) else found == value
    except (ArithmeticError, ValueError):  # infinite, or no number
        is_exact = False
    if not is_exact:
        raise ValueError(f"{show(value)} has no exact value as a JSON number")
    return found


ENCODER = json.JSONEncoder(default=_encode_value, allow_nan=False, separators=(",", ":"))
"""Encodes the values of a body; it raises `TypeError`, `ValueError` or `RecursionError` for those without a form."""


def _describe_failure(body: object, error: Exception) -> ValidationFailed:
    """Name the member whose value has no JSON form; the whole body if its members have one each."""
    for path, value in _iterate_leaves(body, ""):
        try:
            json.dumps(value, default=_encode_value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as cause:
            return ValidationFailed(f"{path}={show(value)} cannot be sent as JSON: {_explain(value, cause)}")
    return ValidationFailed(f"A value cannot be sent as JSON: {error}.")


def _explain(value: object, cause: Exception) -> str:
    """Return the cause with one remedy; a cause that is a sentence has its own."""
    if isinstance(value, float):
        return "JSON has no such number. Pass a finite one, or None."
    return str(cause) if str(cause).endswith(".") else f"{cause}. Pass a number, text, true, false or None."


def _iterate_leaves(body: object, path: str, depth: int = 0) -> Iterator[tuple[str, object]]:
    """Yield each member that holds no others, with its path; deeper than JSON may be, nothing."""
    if depth > MAX_DEPTH:
        return
    if isinstance(body, Mapping):
        for name, value in body.items():
            yield from _iterate_leaves(value, f"{path}.{name}".removeprefix("."), depth + 1)
    elif isinstance(body, list | tuple):
        for number, value in enumerate(body):
            yield from _iterate_leaves(value, f"{path}[{number}]", depth + 1)
    elif path:
        yield path, body
