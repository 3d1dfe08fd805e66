"""Help of the verbs that a noun inherits: `help(lab.people.list)` has an example with `lab.people`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import update_wrapper
from types import FunctionType
from typing import Final, TypeVar

Noun = TypeVar("Noun", bound=type)

EXAMPLE: Final = "lab.issuers."  # what examples of shared verbs begin with; they hold for every noun

_NAMES: Final[dict[type, str]] = {}  # of the classes of nouns, as a lab calls them


def name_in_examples(noun: str) -> Callable[[Noun], Noun]:
    """Give a class its own copies of the verbs that it inherits, with the noun in their examples.

    Args:
        noun: its name in a lab, such as `people`.
    """

    def copy_verbs(kind: Noun) -> Noun:
        for name, verb in inspect.getmembers(kind, inspect.isfunction):
            if name not in vars(kind) and EXAMPLE in (verb.__doc__ or ""):
                setattr(kind, name, _copy(verb, f"lab.{noun}."))
        _NAMES[kind] = noun
        return kind

    return copy_verbs


def name_of_noun(kind: type) -> str:
    """Return the name of a noun in a lab, such as `people`."""
    return _NAMES.get(kind) or kind.__name__.removesuffix("Collection").lower()


def is_copied(verb: object) -> bool:
    """Whether a class has a verb only for its example."""
    return inspect.isfunction(verb) and inspect.unwrap(verb) is not verb


def _copy(verb: FunctionType, example: str) -> FunctionType:
    copied = FunctionType(verb.__code__, verb.__globals__, verb.__name__, verb.__defaults__, verb.__closure__)
    update_wrapper(copied, verb)
    copied.__kwdefaults__ = verb.__kwdefaults__
    copied.__doc__ = (verb.__doc__ or "").replace(EXAMPLE, example)
    return copied
