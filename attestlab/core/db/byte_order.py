"""Comparisons of texts by their bytes, with which an index finds the texts that begin with a prefix.

SQLite compares so by itself. PostgreSQL compares by the language of its database, so its indexes of these columns have
the operator class `text_pattern_ops`, which also serves `=`. A model declares it: `Index(..., info=by_bytes("name"))`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from sqlalchemy import Index, String
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import NULLTYPE, TypeEngine

_INFO: Final = "by_bytes"


def by_bytes(*columns: str) -> dict[str, object]:
    """Return the `info` of an index that orders these columns by their bytes, on both engines."""
    return {_INFO: columns}


def list_operator_classes(index: Index) -> Mapping[str, str]:
    """Return the operator classes of PostgreSQL that an index declares, by column."""
    columns: tuple[str, ...] = index.info.get(_INFO, ())
    return dict.fromkeys(columns, "text_pattern_ops")


class ByteComparison(FunctionElement[bool]):
    """A comparison of two texts by their bytes."""

    inherit_cache = True
    type = cast(
        "TypeEngine[bool]", NULLTYPE
    )  # of a Boolean, SQLAlchemy writes `... = 1` for SQLite, which uses no index then
    operator: str


class AtLeast(ByteComparison):
    """SQL: the first text is the second one, or comes after it."""

    inherit_cache = True
    operator = ">="


class After(ByteComparison):
    """SQL: the first text comes after the second one."""

    inherit_cache = True
    operator = ">"


class Before(ByteComparison):
    """SQL: the first text comes before the second one."""

    inherit_cache = True
    operator = "<"


@compiles(ByteComparison)
def _compile_comparison(element: ByteComparison, compiler: SQLCompiler, **more: object) -> str:
    text, other = (compiler.process(clause, **more) for clause in element.clauses)
    return f"{text} {element.operator} {other}"


@compiles(ByteComparison, "postgresql")
def _compile_pattern_comparison(element: ByteComparison, compiler: SQLCompiler, **more: object) -> str:
    text, other = (compiler.process(clause, **more) for clause in element.clauses)
    return f"{text} ~{element.operator}~ {other}"


class ByteOrder(FunctionElement[str]):
    """SQL: a text as what rows are ordered by, the order of its bytes."""

    inherit_cache = True
    type = String()


@compiles(ByteOrder)
def _compile_order(element: ByteOrder, compiler: SQLCompiler, **more: object) -> str:
    return compiler.process(element.clauses, **more)


@compiles(ByteOrder, "postgresql")
def _compile_pattern_order(element: ByteOrder, compiler: SQLCompiler, **more: object) -> str:
    return f"{compiler.process(element.clauses, **more)} USING ~<~"
