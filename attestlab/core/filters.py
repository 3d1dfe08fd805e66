"""Filters of lists: each field of a query names its column once, for SQLAlchemy and for DuckDB.

    class SignalFilters(Filters):
        source: Annotated[str | None, Where("source")] = None
        min_score: Annotated[int | None, Where("score", ">=")] = None
        limit: Annotated[int, NO_CONDITION] = 50

A field that declares neither raises when its class is made, so no filter is accepted and then forgotten. SQLAlchemy is
not imported, because clients load the queries, too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from attestlab.core.shapes import In

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo
    from sqlalchemy import Column, ColumnElement
    from sqlalchemy.sql.base import ReadOnlyColumnCollection

FilterOperator = Literal["=", "<", "<=", ">", ">="]
_COMPARE: Mapping[FilterOperator, Callable[..., ColumnElement[bool]]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Where:
    """Declares the condition of a field, `column comparison value`; the value None sets no condition."""

    column: str
    comparison: FilterOperator = "="


@dataclass(frozen=True)
class NoCondition:
    """Declares that a field compares no column: it pages or orders, or the store builds its condition itself."""


NO_CONDITION = NoCondition()


class DuckDBCondition(NamedTuple):
    """A condition of DuckDB's SQL, and the values of its parameters."""

    sql: str
    values: list[object]


class Filters(In):
    """The query of a list. A class with a field that declares neither `Where` nor `NO_CONDITION` raises TypeError."""

    wheres: ClassVar[Mapping[str, Where]] = {}

    @classmethod
    def __pydantic_init_subclass__(cls, **_: object) -> None:
        """Read the declarations of all fields, also of those that other bases add."""
        declared = {name: _get_declaration(cls, name, field) for name, field in cls.model_fields.items()}
        cls.wheres = {name: found for name, found in declared.items() if isinstance(found, Where)}


def _get_declaration(model: type[Filters], name: str, field: FieldInfo) -> Where | NoCondition:
    for mark in field.metadata:
        if isinstance(mark, Where | NoCondition):
            return mark
    message = 'declares no column. Annotate it with Where("column", ">="), or with NO_CONDITION.'
    raise TypeError(f"{model.__name__}.{name} {message}")


def build_conditions(
    filters: Filters, columns: ReadOnlyColumnCollection[str, Column[object]]
) -> list[ColumnElement[bool]]:
    """Build the conditions for SQLAlchemy, over the columns of a table."""
    return [_COMPARE[where.comparison](columns[where.column], value) for where, value in _iterate_given(filters)]


def build_duckdb_condition(filters: Filters) -> DuckDBCondition:
    """Build the condition for DuckDB; without filters it is TRUE."""
    given = list(_iterate_given(filters))
    sql = " AND ".join(f"{where.column} {where.comparison} ?" for where, _ in given)
    return DuckDBCondition(sql or "TRUE", [value for _, value in given])


def _iterate_given(filters: Filters) -> Iterator[tuple[Where, object]]:
    for name, where in filters.wheres.items():
        value = getattr(filters, name)
        if value is not None:
            yield where, value.value if isinstance(value, Enum) else value
