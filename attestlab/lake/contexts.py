"""The context of a decision as columns, one for each attribute, named by its path as `policy.replay` reads them.

Which type a column has follows from the values alone, so an export does not depend on what is registered on its
day. A value is a text, a number or a truth value; a whole number is a DOUBLE too, exact up to 2^53 - 1, which is
the largest that an attribute takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from attestlab.policy.attributes import AttributeType, Registry

APART = "@"  # no path begins with it

_ARROW = {
    AttributeType.ENUM: pa.string(),
    AttributeType.TEXT: pa.string(),
    AttributeType.NUMBER: pa.float64(),
    AttributeType.INTEGER: pa.float64(),
    AttributeType.BOOLEAN: pa.bool_(),
}
_PYTHON = {str: pa.string(), float: pa.float64(), bool: pa.bool_()}


def named(context: Mapping[str, Any], *, beside: Iterable[str]) -> dict[str, Any]:
    """The values of a stored context by their columns; numbers are floats."""
    taken = set(beside)
    return {_name(path, taken): float(value) if type(value) is int else value for path, value in context.items()}


def registered(registry: Registry, *, beside: Iterable[str]) -> dict[str, Any]:
    """The columns of every attribute that a tenant has now."""
    taken = set(beside)
    return {_name(path, taken): _ARROW[attribute.type] for path, attribute in sorted(registry.items())}


def columns_of(facts: Iterable[Mapping[str, Any]], *, beside: Iterable[str]) -> dict[str, Any]:
    """The columns that facts have values for; where a path changed its type the last value says which it has."""
    taken = set(beside)
    values = ((name, value) for fact in facts for name, value in fact.items() if name not in taken)
    return dict(sorted({name: _PYTHON[type(value)] for name, value in values}.items()))


def fitting(kind: Any, values: Iterable[Any]) -> list[Any]:
    """Values of one column; one that its attribute would not take today is missing, as it is to a policy."""
    if kind == pa.float64():
        return [value if type(value) is float else None for value in values]
    if kind == pa.bool_():
        return [value if type(value) is bool else None for value in values]
    if kind == pa.string():
        return [value if type(value) is str else None for value in values]
    return list(values)


def _name(path: str, taken: set[str]) -> str:
    return APART + path if path in taken else path
