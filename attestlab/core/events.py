"""Domain events: facts in the past tense that a capability publishes.

A capability declares each event as a frozen dataclass; the class is its catalogue entry:

>>> @dataclass(frozen=True)
... class KettleBoiled(Event, type="kettle.boiled"):
...     "The water is hot."
...     litres: float
>>> KettleBoiled.type, KettleBoiled(litres=1.5).data()
('kettle.boiled', {'litres': 1.5})
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import ClassVar, TypeAlias
from uuid import UUID

from attestlab.core.encoding import format_time

_AS_THEY_ARE = frozenset({str, int, bool, UUID})

EventClass: TypeAlias = "type[Event]"


@dataclass(frozen=True)
class Event:
    """Base of all events; `data` holds ids and key facts, never claims or secrets."""

    type: ClassVar[str]
    catalogue: ClassVar[dict[str, EventClass]] = {}

    def __init_subclass__(cls, *, type: str, **rest: object) -> None:
        super().__init_subclass__(**rest)
        cls.type = type
        Event.catalogue[type] = cls

    def data(self) -> dict[str, object]:
        """Return the event's facts as `canonical_trusted` accepts them; unknown facts are omitted."""
        return {
            name: value if type(value) in _AS_THEY_ARE else json_value(value)
            for name, value in vars(self).items()
            if value is not None
        }


def json_value(value: object) -> object:
    """Convert a fact to its JSON value: ids as text, times in UTC with Z."""
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, Enum):
        return value.value
    return value


def is_same_fact(recorded: object, value: object) -> bool:
    """Whether a column's value equals the recorded JSON value, including all digits of a time."""
    if type(value) is str:
        return recorded == value
    return recorded == json_value(value) and (not isinstance(value, datetime) or value.microsecond % 1000 == 0)
