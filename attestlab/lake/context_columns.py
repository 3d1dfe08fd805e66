"""The context of a decision as columns: one for each attribute, as `policy.sql.replay` reads them.

In a part a column is named by path and kind (`key.age_days|number`), which follow from the values alone: so an export
does not depend on what is registered on its day, and nothing is lost where an attribute changes its type. A look names
each by its path and takes the kind that the attribute has today. A whole number is a DOUBLE too, exact up to
2^53 - 1, which is the largest that an attribute takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from attestlab.policy.language.attributes import Attribute, AttributeType, Registry
from attestlab.policy.sql.compiler import quote_column

COLLISION_PREFIX = "@"  # no path begins with it
ARROW = {"text": pa.string(), "number": pa.float64(), "truth": pa.bool_()}

_KIND_OF_VALUE = {str: "text", int: "number", float: "number", bool: "truth"}
_SQL = {"text": "VARCHAR", "number": "DOUBLE", "truth": "BOOLEAN"}
_KINDS = {
    AttributeType.ENUM: "text",
    AttributeType.TEXT: "text",
    AttributeType.NUMBER: "number",
    AttributeType.INTEGER: "number",
    AttributeType.BOOLEAN: "truth",
}


def to_columns(context: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a stored context by their columns; numbers are floats."""
    return {
        f"{path}|{_KIND_OF_VALUE[type(value)]}": float(value) if type(value) is int else value
        for path, value in context.items()
    }


def column_types(names: Iterable[str]) -> dict[str, Any]:
    """Those of the names that are columns of contexts, with their types, in order."""
    return {name: ARROW[name.rpartition("|")[2]] for name in sorted(set(names)) if "|" in name}


def select_attributes(names: Iterable[str], registry: Registry, *, reserved: Iterable[str]) -> list[str]:
    """SQL that gives each attribute by its path: of those registered today, and of those that decisions still have.

    A value of a kind that the attribute has no more is missing, as it is to a policy. `names` are the columns there
    are; an attribute called like one of `beside` has `@` before its name.
    """
    columns, reserved_names = set(names), set(reserved)
    kinds = {name.rpartition("|")[0]: name.rpartition("|")[2] for name in sorted(columns)}
    kinds |= {path: _KINDS[attribute.type] for path, attribute in registry.items()}
    return [
        f"{_source_sql(path, kind, columns)} AS {_column_name(path, is_prefixed=path in reserved_names)}"
        for path, kind in sorted(kinds.items())
    ]


def select_recorded(attribute: Attribute, names: Iterable[str]) -> tuple[str, list[str]]:
    """SQL that gives an attribute's values of the kind it has today, and the columns with those of other kinds."""
    columns, kind = set(names), _KINDS[attribute.type]
    others = [other for other in ARROW if other != kind and f"{attribute.path}|{other}" in columns]
    return _source_sql(attribute.path, kind, columns), [
        _quote_with_suffix(attribute.path, f"|{other}") for other in others
    ]


def _source_sql(path: str, kind: str, columns: set[str]) -> str:
    return _quote_with_suffix(path, f"|{kind}") if f"{path}|{kind}" in columns else f"NULL::{_SQL[kind]}"


def _column_name(path: str, *, is_prefixed: bool) -> str:
    return f'"{COLLISION_PREFIX}' + quote_column(path)[1:] if is_prefixed else quote_column(path)


def _quote_with_suffix(path: str, suffix: str) -> str:
    """The identifier of a path, which `quote_column` has checked to be one, with a suffix of ours."""
    return quote_column(path)[:-1] + f'{suffix}"'
