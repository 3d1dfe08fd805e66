"""The kinds of parameters that states of pages declare: each reads its text of an address, writes it and checks it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeVar, cast
from uuid import UUID

import param

from attestlab.core.errors import ValidationFailed

MAX_PAGE: Final = 100_000
NO_ADDRESS: Final = -1.0  # the precedence of a parameter that no address carries

T = TypeVar("T")
AnyParameter = param.Parameter[Any]


class Value(param.Parameter[T], Generic[T]):
    """A parameter with its own notation. It accepts a value that it reads again from what it writes.

    `read` raises ValueError or ValidationFailed for a text that it does not accept.
    """

    __slots__ = ["read", "write"]

    def __init__(
        self, default: T, *, read: Callable[[str], T], write: Callable[[T], str] = str, doc: str, precedence: float = 0
    ) -> None:
        super().__init__(default=default, doc=doc, precedence=precedence)
        self.read = read
        self.write = write

    def parse(self, text: str) -> T:
        """Read a text.

        Raises:
            ValueError: it is not acceptable.
        """
        try:
            return self.read(text)
        except ValidationFailed as error:
            raise ValueError(error.message) from error

    def _validate_value(self, value: T, allow_None: bool) -> None:  # noqa: N803  # param's name
        if value != self.default and self.parse(self.write(value)) != value:
            raise ValueError(f"{value!r} is not acceptable here: {self.doc}")


def choice(default: T, *others: T, doc: str) -> param.Parameter[T]:
    """Declare a parameter that is one of these values."""
    return param.Selector(default=default, objects=list(dict.fromkeys((default, *others))), doc=doc)


def sort_order(default: str, columns: Sequence[str], *, doc: str) -> param.Parameter[str]:
    """Declare the column that sorts a table, as `doc` says; a `-` before it means descending."""
    return choice(default, *columns, *(f"-{column}" for column in columns), doc=f"{doc}; - means descending.")


def page_number(*, most: int = MAX_PAGE, doc: str) -> param.Integer[int]:
    """Declare the number of a page, from 1."""
    return param.Integer(default=1, bounds=(1, most), doc=doc)


def moment(*, doc: str) -> param.Parameter[datetime | None]:
    """Declare a time, in addresses a UTC time to the minute; None at first."""
    moment: Any = param.Date(default=None, allow_None=True, doc=doc)  # typed as if it had a `date`
    return cast("param.Parameter[datetime | None]", moment)


def matching(pattern: str) -> Callable[[str], str]:
    """Make the reader of a text that matches an ASCII pattern as a whole."""

    def read(text: str) -> str:
        if not re.fullmatch(pattern, text, re.ASCII):
            raise ValueError(f"{text!r} does not match {pattern}.")
        return text

    return read


def normalizing(parse: Callable[[str], object]) -> Callable[[str], str]:
    """Make the reader of a text that `parse` accepts; it returns the text of what was parsed.

    >>> normalizing(UUID)("0193B5A07F3C7ABC8DEF0123456789AB")
    '0193b5a0-7f3c-7abc-8def-0123456789ab'
    """
    return lambda text: str(parse(text))


def read_uuid(text: str) -> str:
    """Read the id of an object.

    Raises:
        ValueError: it is none.
    """
    return str(UUID(text))


def object_id(*, doc: str) -> Value[str]:
    """Declare the id of an object, empty at first."""
    return Value("", read=read_uuid, doc=doc)


def read_time(text: str) -> datetime:
    """Read a time to the minute, which is UTC unless it says otherwise.

    >>> read_time("2026-11-02T12:00:30").isoformat()
    '2026-11-02T12:00:00+00:00'

    Raises:
        ValueError: it is no time.
    """
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC).replace(second=0, microsecond=0)


def write_time(at: datetime) -> str:
    """Write a UTC time to the minute.

    >>> write_time(datetime(2026, 11, 2, 12, tzinfo=UTC))
    '2026-11-02T12:00Z'
    """
    return at.strftime("%Y-%m-%dT%H:%MZ").rjust(17, "0")


def read_value(parameter: AnyParameter, text: str) -> object:
    """Read the value of a parameter from its text in an address.

    Raises:
        ValueError: it is not acceptable.
    """
    match parameter:
        case Value():
            return parameter.parse(text)
        case param.Selector():
            return _find(parameter.objects, text)
        case param.Boolean():
            return _find([True], text)
        case param.Date():
            return read_time(text)
        case param.Integer():
            return int(matching(r"[0-9]{1,19}")(text))
        case param.Number():
            return float(matching(r"[0-9]{1,3}(\.[0-9]{1,2})?")(text))
        case _:
            return text


def _find(values: Iterable[object], text: str) -> object:
    found = [value for value in values if _write_plain(value) == text]
    if not found:
        raise ValueError(text)
    return found[0]


def write_value(parameter: AnyParameter, value: object) -> str:
    """Write a value of a parameter as its text in an address."""
    return parameter.write(value) if isinstance(parameter, Value) else _write_plain(value)


def _write_plain(value: object) -> str:
    if isinstance(value, datetime):
        return write_time(value)
    if isinstance(value, float):
        return f"{value:g}"
    return "1" if value is True else str(value)
