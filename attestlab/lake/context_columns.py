"""The context of a decision as columns: one per attribute, as `policy.sql.replay` reads them.

A part names a column by path and kind (`key.age_days|number`), which depend on the values alone: so an export does not
depend on the attributes registered on that day, and nothing is lost when an attribute changes its type. A view names
each column by its path and uses the attribute's present kind. Whole numbers are DOUBLEs too, exact up to 2^53 - 1, the
largest number of an attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from attestlab.policy.language.attributes import Attribute, AttributeType, Registry
from attestlab.policy.sql.compiler import quote_column

COLLISION_PREFIX = "@"  # no path begins with it
ARROW = {"text": pa.string(), "number": pa.float64(), "truth": pa.bool_()}
MEANING = "Its typed value in the context; null if it is missing. Format: named by the attribute's path."

_KIND_OF_VALUE = {str: "text", int: "number", float: "number", bool: "truth"}
_SQL = {"text": "VARCHAR", "number": "DOUBLE", "truth": "BOOLEAN"}
_KINDS = {
    AttributeType.ENUM: "text",
    AttributeType.TEXT: "text",
    AttributeType.NUMBER: "number",
    AttributeType.INTEGER: "number",
    AttributeType.BOOLEAN: "truth",
}


def to_columns(context: Mapping[str, object]) -> dict[str, object]:
    """Return the values of a stored context by column; numbers are floats."""
    return {
        f"{path}|{_KIND_OF_VALUE[type(value)]}": float(value) if type(value) is int else value
        for path, value in context.items()
    }


def column_types(names: Iterable[str]) -> dict[str, pa.DataType]:
    """Return the context columns among `names` with their types, in order."""
    return {name: ARROW[name.rpartition("|")[2]] for name in sorted(set(names)) if "|" in name}


def select_attributes(names: Iterable[str], registry: Registry, *, reserved: Iterable[str]) -> list[str]:
    """Return SQL that selects each attribute by path: the registered ones, and those that only decisions still have.

    A value of another kind than the attribute's present one is missing, as it is to a policy. `names` are the existing
    columns; an attribute named like one of `reserved` has the prefix `@`.
    """
    columns, reserved_names = set(names), set(reserved)
    kinds = {name.rpartition("|")[0]: name.rpartition("|")[2] for name in sorted(columns)}
    kinds |= {path: _KINDS[attribute.type] for path, attribute in registry.items()}
    return [
        f"{_source_sql(path, kind, columns)} AS {_column_name(path, is_prefixed=path in reserved_names)}"
        for path, kind in sorted(kinds.items())
    ]


def select_recorded(attribute: Attribute, names: Iterable[str]) -> tuple[str, list[str]]:
    """Return SQL for an attribute's values of its present kind, and the columns with values of other kinds."""
    columns, kind = set(names), _KINDS[attribute.type]
    others = [other for other in ARROW if other != kind and f"{attribute.path}|{other}" in columns]
    return _source_sql(attribute.path, kind, columns), [
        quote_column(attribute.path, suffix=f"|{other}") for other in others
    ]


def _source_sql(path: str, kind: str, columns: set[str]) -> str:
    return quote_column(path, suffix=f"|{kind}") if f"{path}|{kind}" in columns else f"NULL::{_SQL[kind]}"


def _column_name(path: str, *, is_prefixed: bool) -> str:
    return quote_column(path, prefix=COLLISION_PREFIX if is_prefixed else "")
