"""`PageState`: what a page shows. A parameter is declared once, is a part of the address, and can be watched.

Each parameter reads its text of an address and writes it, checks what is assigned, and has its documentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, ClassVar, Final, Generic, Self, TypeVar, cast
from uuid import UUID

import param

from attestlab.core.errors import ValidationFailed

MAX_TEXT_CHARS: Final = 8_000  # of one parameter in an address
MAX_PAGE: Final = 100_000
NO_ADDRESS: Final = -1.0  # the precedence of a parameter that no address carries

T = TypeVar("T")
S = TypeVar("S", bound="PageState")
AnyParameter = param.Parameter[Any]
Picked = tuple[tuple[str, object], ...]
"""Values with their names."""


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


def page_number(*, most: int = MAX_PAGE, doc: str) -> param.Integer[int]:
    """Declare the number of a page, from 1."""
    return param.Integer(default=1, bounds=(1, most), doc=doc)


def moment(*, doc: str) -> param.Parameter[datetime | None]:
    """Declare a time, in addresses a UTC time to the minute; None at first."""
    moment: Any = param.Date(default=None, allow_None=True, doc=doc)  # typed as if it had a `date`
    return cast("param.Parameter[datetime | None]", moment)


class PageState(param.Parameterized):
    """The state of a page, equal to another one with the same values.

    Events leave it as it is and return a copy: `change` takes texts as in an address, `replace` takes values.
    """

    NAMES_IN_ADDRESS: ClassVar[Mapping[str, str]] = {}  # of the parameters that an address names otherwise

    def __init__(self, **values: object) -> None:
        super().__init__(**values)

    __hash__ = None  # type: ignore[assignment]  # its values can be assigned; `pick` makes a key of some

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PageState) and type(self) is type(other) and self._all == other._all

    def __repr__(self) -> str:
        changed = self.pick(*self.list_changed(_addressed_parameters(type(self))))
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed)})"

    @classmethod
    def list_addressed(cls) -> dict[str, AnyParameter]:
        """List the parameters that an address carries, by their names there."""
        return {cls._name_in_address(name): each for name, each in _addressed_parameters(cls).items()}

    @classmethod
    def from_query(cls, query: Mapping[str, str], /) -> tuple[Self, tuple[str, ...]]:
        """Read the query of an address; returns the state, and the names that were ignored. It never raises.

        A value that is not acceptable is ignored, and so are values that contradict each other.
        """
        names = {cls._name_in_address(name): name for name in _addressed_parameters(cls)}
        state = cls()
        ignored = [
            name
            for name, text in query.items()
            if not (name in names and 0 < len(text) <= MAX_TEXT_CHARS and state._accept(names[name], text))
        ]
        for name in state.find_conflicts():
            state._accept(name, "")
            ignored.append(cls._name_in_address(name))
        return state, tuple(ignored)

    def to_query(self) -> dict[str, str]:
        """Write the state as the query of an address, without what is the default."""
        addressed = _addressed_parameters(type(self))
        return {
            self._name_in_address(name): _write(addressed[name], getattr(self, name))
            for name in self.list_changed(addressed)
        }

    def replace(self, **values: object) -> Self:
        """Return a copy with other values.

        Raises:
            ValueError: one of them is not acceptable.
        """
        return type(self)(**{**dict(self.pick(*self.list_changed())), **values})

    def change(self, **texts: str) -> Self:
        """Return a copy with other values, given as in an address; this state if one is not acceptable.

        An empty text resets a value.
        """
        copy = self.replace()
        is_acceptable = all(copy._accept(name, text) for name, text in texts.items())
        return copy if is_acceptable and not copy.find_conflicts() else self

    def find_conflicts(self) -> list[str]:
        """Find the parameters whose values contradict each other."""
        return []

    def pick(self, *names: str) -> Picked:
        """Return these values with their names, such as the key of what was loaded for them."""
        return tuple((name, getattr(self, name)) for name in names)

    def list_changed(self, names: Iterable[str] = ()) -> tuple[str, ...]:
        """List those of the names, of all by default, whose value is not the default."""
        parameters = _parameters(type(self))
        return tuple(name for name in names or parameters if getattr(self, name) != parameters[name].default)

    @property
    def _all(self) -> Picked:
        return self.pick(*_parameters(type(self)))

    @classmethod
    def _name_in_address(cls, name: str) -> str:
        return cls.NAMES_IN_ADDRESS.get(name, name)

    def _accept(self, name: str, text: str) -> bool:
        """Assign the value of a text; returns whether it is acceptable."""
        parameter = _parameters(type(self))[name]
        try:
            setattr(self, name, _read(parameter, text) if text else parameter.default)
        except (ValueError, OverflowError):
            return False
        return True


Reducer = Callable[[S, str], S]


def set_parameter(name: str, *, resets: Iterable[str] = ()) -> Reducer[S]:
    """Make the reducer that sets a parameter, or without a value resets it, and resets these others."""
    return lambda state, value: state.change(**{name: value.strip(), **dict.fromkeys(resets, "")})


def toggle_parameter(name: str, *, resets: Iterable[str] = ()) -> Reducer[S]:
    """Make the reducer that sets a parameter, or resets it if it has this value, and resets these others."""

    def toggle(state: S, value: str) -> S:
        is_set = value == _write(_parameters(type(state))[name], getattr(state, name))
        return state.change(**{name: "" if is_set else value, **dict.fromkeys(resets, "")})

    return toggle


def clear_filters(filters: Iterable[str], *, resets: Iterable[str] = ()) -> Reducer[S]:
    """Make the reducer that drops the filter of a name, or with `all` each, and resets these others."""
    known = tuple(filters)

    def clear(state: S, value: str) -> S:
        names = known if value == "all" else tuple(name for name in known if name == value)
        return state.change(**dict.fromkeys((*names, *resets), "")) if names else state

    return clear


def matching(pattern: str) -> Callable[[str], str]:
    """Make the reader of a text that matches an ASCII pattern as a whole."""

    def read(text: str) -> str:
        if not re.fullmatch(pattern, text, re.ASCII):
            raise ValueError(f"{text!r} does not match {pattern}.")
        return text

    return read


def read_uuid(text: str) -> str:
    """Read the id of an object.

    Raises:
        ValueError: it is none.
    """
    return str(UUID(text))


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


@cache
def _parameters(state: type[PageState]) -> Mapping[str, AnyParameter]:
    """Return the parameters of a state, in the order of their declaration."""
    return {name: each for name, each in state.param.objects(instance=False).items() if name != "name"}


@cache
def _addressed_parameters(state: type[PageState]) -> Mapping[str, AnyParameter]:
    return {name: each for name, each in _parameters(state).items() if each.precedence != NO_ADDRESS}


def _read(parameter: AnyParameter, text: str) -> object:
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


def _write(parameter: AnyParameter, value: object) -> str:
    return parameter.write(value) if isinstance(parameter, Value) else _write_plain(value)


def _write_plain(value: object) -> str:
    if isinstance(value, datetime):
        return write_time(value)
    if isinstance(value, float):
        return f"{value:g}"
    return "1" if value is True else str(value)
