"""Encodes the rows of a table by columns: each line is, byte by byte, what `encode_body` makes of its row.

A column is a list of values, in which None is no value. A cell is a value's JSON; it is empty where there is no value,
and None where only the conversion of the whole row knows what the value is, or why the service would refuse it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from math import isfinite
from typing import NamedTuple
from zoneinfo import ZoneInfo

import orjson

from attestlab.client.json_values import ENCODER
from attestlab.core.encoding import format_time

Cell = str | None
_Encode = Callable[..., Cell]  # of a value of its type

TIME, DETAILS = "occurred_at", "details"
_MAX_INTEGER = 2**64
_MAX_HOURS = 20_000  # whose offset is remembered: two years
# What orjson and `json` write in two ways, or may: characters beyond ASCII, and numbers that are very large or small.
# A null alone is no value.
_NOT_CERTAIN = re.compile(rb"[^ -~]|\\u|[0-9][eE]|0\.0000|^null$")


class UtcTimes(list[object]):
    """The values of a column whose times are in UTC, and say so nowhere else: each would cost a microsecond."""


class EncodedRows(NamedTuple):
    """Rows as lines; those at the places `unusual`, in order, are to be converted as a whole instead."""

    lines: Sequence[bytes]
    unusual: Sequence[int]


def encode_rows(columns: Mapping[str, Sequence[object]], zone: tzinfo | None) -> EncodedRows:
    """Encode the rows of columns of equal length; times without an offset are those of a zone."""
    template, parts, unusual = "", list[Sequence[Cell]](), set[int]()
    for name, values in columns.items():
        cells, member = _encode_column(name, values, zone), f",{encode_basestring_ascii(name)}:"
        if None in cells:
            unusual |= {place for place, cell in enumerate(cells) if cell is None}
        if "" in cells:
            template += "%s"
            parts.append([member + cell if cell else cell for cell in cells])
        else:
            template += member + "%s"
            parts.append(cells)
    lines = [f"{{{(template % row)[1:]}}}".encode() for row in zip(*parts, strict=True)]
    return EncodedRows(lines, sorted(unusual))


def _encode_column(name: str, values: Sequence[object], zone: tzinfo | None) -> Sequence[Cell]:
    encoders = _choose_encoders(name, zone, is_utc=isinstance(values, UtcTimes))
    kinds = {*map(type, values)}
    if len(kinds) == 1:
        return [*map(encoders.get(kinds.pop(), _leave), values)]
    return [encoders.get(type(value), _leave)(value) for value in values]


def _choose_encoders(name: str, zone: tzinfo | None, *, is_utc: bool) -> dict[type, _Encode]:
    """Return how the values of a column are encoded, by their exact type; those of other types are left."""
    if is_utc:
        return _ENCODERS | {datetime: _write_utc}
    if name == DETAILS:
        return _ENCODERS | {str: _encode_json_text, dict: _encode_object}
    if name == TIME:
        times = _TimeEncoder(zone)
        return _ENCODERS | {str: times.encode_text, datetime: times.encode}
    return _ENCODERS


def _leave(_value: object) -> None:
    """Leave a value to the conversion of its row."""


def _encode_nothing(_value: None) -> str:
    return ""


def _encode_integer(value: int) -> Cell:
    return repr(value) if -_MAX_INTEGER < value < _MAX_INTEGER else None


def _encode_float(value: float) -> Cell:
    return repr(value) if isfinite(value) else None


def _encode_json_text(text: str) -> Cell:
    """Encode a JSON text as `json` would write its value again, where orjson certainly does the same."""
    try:
        found = orjson.dumps(orjson.loads(text))
    except (ValueError, TypeError, RecursionError):
        return None
    return None if _NOT_CERTAIN.search(found) else found.decode()


def _encode_object(value: dict[object, object]) -> Cell:
    try:
        return ENCODER.encode(value)
    except (ArithmeticError, TypeError, ValueError, RecursionError):
        return None


_ENCODERS: dict[type, _Encode] = {
    str: encode_basestring_ascii,
    int: _encode_integer,
    float: _encode_float,
    type(None): _encode_nothing,
}


class _TimeEncoder:
    """Encodes times; those without an offset are of a zone, if its clocks did not change in their hour."""

    def __init__(self, zone: tzinfo | None) -> None:
        self._zone = zone if isinstance(zone, ZoneInfo | timezone) else None  # another may tell time in its own way

    def encode_text(self, text: str) -> Cell:
        """Encode a text: one that is a time without an offset as its moment, and any other as it is."""
        try:
            time = datetime.fromisoformat(text.strip())
        except ValueError:
            return encode_basestring_ascii(text)
        return encode_basestring_ascii(text) if time.tzinfo is not None else self._encode_local(time)

    def encode(self, time: datetime) -> Cell:
        """Encode a time."""
        if time.tzinfo is None:
            return self._encode_local(time)
        try:
            return f'"{format_time(time)}"'
        except (ArithmeticError, ValueError):
            return None

    def _encode_local(self, time: datetime) -> Cell:
        if self._zone is None:
            return None
        offset = _find_offset(self._zone, time.year, time.month, time.day, time.hour)
        try:
            return None if offset is None else _write_utc(time - offset)
        except OverflowError:
            return None


def _write_utc(time: datetime) -> str:
    """Write a time of UTC that has no offset as `format_time` does."""
    return f'"{time.isoformat(timespec="milliseconds")}Z"'


@lru_cache(_MAX_HOURS)
def _find_offset(zone: tzinfo, year: int, month: int, day: int, hour: int) -> timedelta | None:
    """Return the UTC offset of an hour of a zone, or None if it is not the same in all of it."""
    begin = datetime(year, month, day, hour)
    ends = (begin, begin.replace(minute=59, second=59, microsecond=999_999))
    offsets = {zone.utcoffset(end.replace(fold=fold)) for end in ends for fold in (0, 1)}
    return offsets.pop() if len(offsets) == 1 else None
