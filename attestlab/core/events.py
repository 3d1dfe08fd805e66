"""Domain events: facts in the past tense that a capability publishes.

A capability declares each event as a frozen dataclass; the class is its catalogue entry:

>>> from typing import Annotated
>>> @dataclass(frozen=True)
... class KettleBoiled(Event, type="kettle.boiled"):
...     "The water is hot."
...     cups: Annotated[int, EventField("The cups that the kettle holds.", 6)]
>>> KettleBoiled.type, KettleBoiled(cups=4).data()
('kettle.boiled', {'cups': 4})
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import ClassVar, NamedTuple, TypeAlias, get_type_hints
from uuid import UUID

from attestlab.core.encoding import format_time

_AS_THEY_ARE = frozenset({str, int, bool, UUID})

EventClass: TypeAlias = "type[Event]"


class EventField(NamedTuple):
    """The meaning of a member of `data`, an example, and for a text its greatest length in characters."""

    meaning: str
    example: str | int
    max_length: int | None = None


@dataclass(frozen=True)
class Event:
    """Base of all events; `data` holds ids and key facts, never claims or secrets."""

    type: ClassVar[str]
    catalogue: ClassVar[dict[str, EventClass]] = {}

    def __init_subclass__(cls, *, type: str, **rest: object) -> None:
        super().__init_subclass__(**rest)
        cls.type = type
        Event.catalogue[type] = cls

    @classmethod
    def declared_fields(cls) -> dict[str, EventField]:
        """Return the fields that the class itself explains, as in `Annotated[int, EventField(...)]`."""
        hints = get_type_hints(cls, include_extras=True)
        notes = {name: getattr(hint, "__metadata__", ()) for name, hint in hints.items()}
        return {name: note for name, each in notes.items() for note in each if isinstance(note, EventField)}

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
