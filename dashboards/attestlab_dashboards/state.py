"""`PageState`: what a page shows. A parameter is declared once, is a part of the address, and can be watched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import ClassVar, Final, Self

import param

from attestlab.core.errors import ValidationFailed
from attestlab_dashboards.parameters import NO_ADDRESS, AnyParameter, object_id, read_value, write_value

MAX_TEXT_CHARS: Final = 8_000  # of one parameter in an address

Picked = tuple[tuple[str, object], ...]
"""Values with their names."""


class PageState(param.Parameterized):
    """The state of a page, equal to another one with the same values.

    Events leave it as it is and return a copy: `change` takes texts as in an address, `replace` takes values.
    """

    NAMES_IN_ADDRESS: ClassVar[Mapping[str, str]] = {}  # of the parameters that an address names otherwise
    filters: ClassVar[tuple[str, ...]] = ()  # the parameters that narrow what is listed
    together: ClassVar[tuple[str, ...]] = ()  # the parameters that are set together or not at all

    view = object_id(doc="The saved view that was opened.")

    _is_frozen = False

    def __init__(self, **values: object) -> None:
        super().__init__(**values)

    __hash__ = None  # type: ignore[assignment]  # its values can be assigned; `pick` makes a key of some

    def __setattr__(self, name: str, value: object) -> None:
        if self._is_frozen and name in _parameters(type(self)):
            raise ValidationFailed(f"The state of a view is frozen, also its {name}. Move it: view.set({name}=...).")
        super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PageState) and type(self) is type(other) and self._all == other._all

    def __repr__(self) -> str:
        changed = self.pick(*self.list_changed(_addressed_parameters(type(self))))
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed)})"

    def __str__(self) -> str:
        return repr(self)

    @classmethod
    def list_addressed(cls) -> dict[str, AnyParameter]:
        """List the parameters that an address carries, by their names there."""
        return {cls._name_in_address(name): each for name, each in _addressed_parameters(cls).items()}

    @classmethod
    def list_addressed_names(cls) -> tuple[str, ...]:
        """List the names of these parameters in Python."""
        return tuple(_addressed_parameters(cls))

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
        return {
            self._name_in_address(name): self.write(name)
            for name in self.list_changed(_addressed_parameters(type(self)))
        }

    def write(self, name: str) -> str:
        """Write the value of a parameter as in an address."""
        return write_value(_parameters(type(self))[name], getattr(self, name))

    def freeze(self) -> None:
        """Refuse what is assigned from now on, because a person sees the state as that of a view."""
        self._is_frozen = True

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
        changed = self.list_changed(self.together) if self.together else ()
        return [*changed] if len(changed) < len(self.together) else []

    def pick(self, *names: str) -> Picked:
        """Return these values with their names, such as the key of what was loaded for them."""
        return tuple((name, getattr(self, name)) for name in names)

    def list_changed(self, names: Iterable[str] = ()) -> tuple[str, ...]:
        """List those of the names, of all by default, whose value is not the default."""
        parameters = _parameters(type(self))
        return tuple(name for name in names or parameters if getattr(self, name) != parameters[name].default)

    @property
    def active_filters(self) -> tuple[str, ...]:
        """The names of the filters that are set."""
        return self.list_changed(self.filters) if self.filters else ()

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
            setattr(self, name, read_value(parameter, text) if text else parameter.default)
        except (ValueError, OverflowError):
            return False
        return True


@cache
def _parameters(state: type[PageState]) -> Mapping[str, AnyParameter]:
    """Return the parameters of a state, in the order of their declaration."""
    return {name: each for name, each in state.param.objects(instance=False).items() if name != "name"}


@cache
def _addressed_parameters(state: type[PageState]) -> Mapping[str, AnyParameter]:
    return {name: each for name, each in _parameters(state).items() if each.precedence != NO_ADDRESS}
