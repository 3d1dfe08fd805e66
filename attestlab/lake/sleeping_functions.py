"""Refuses queries that call a function which waits and computes nothing: it would hold a process of other tenants.

DuckDB parses the query, so quotes, capitals, qualified names and chained calls make no difference. A function that
runs text as a query must have that text as a literal, whose calls are looked at too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import duckdb

from attestlab.core.errors import ValidationFailed
from attestlab.lake.query_trees import Node, iterate_nodes, parse_query

SLEEPING: Final = frozenset({"sleep_ms", "pg_sleep"})
"""The functions of the pinned DuckDB that sleep."""

_RUNNING_TEXT: Final = "query"
_REFUSED: Final = SLEEPING | {"json_execute_serialized_sql"}
_WORDS: Final = re.compile("|".join(rf"\b{name}\b" for name in sorted(_REFUSED | {_RUNNING_TEXT})), re.IGNORECASE)


def refuse_sleeping_functions(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    """Refuse a query that calls a function which sleeps, or one that could hide such a call.

    Raises:
        ValidationFailed: it does; the message names the function.
    """
    texts = [query]
    while texts:
        text = texts.pop()
        if not _WORDS.search(text):
            continue
        for name, call in _list_calls(_parse(connection, text)):
            if name in _REFUSED:
                raise _refuse(name)
            if name == _RUNNING_TEXT:
                texts += map(_read_literal, call["arguments"])


def _parse(connection: duckdb.DuckDBPyConnection, query: str) -> Node:
    """Return the tree of a query; that of text which is not SQL calls nothing.

    Raises:
        ValidationFailed: DuckDB gives no tree, as for a PIVOT, so its calls are unknown.
    """
    try:
        tree = parse_query(connection, query)
    except ValueError:  # it is nested too deeply
        raise _refuse(_WORDS.findall(query)[0]) from None
    if tree["error"] and tree["error_type"] != "parser":
        raise _refuse(_WORDS.findall(query)[0])
    return tree


def _list_calls(tree: Node) -> Iterator[tuple[str, Node]]:
    for node in iterate_nodes(tree):
        if "function_name" in node:
            yield str(node["function_name"]).lower(), node


def _read_literal(argument: Node) -> str:
    literal = argument["expression"].get("literal") or {}
    if literal.get("kind") != "STRING":
        raise ValidationFailed.of("/sql", "query", "`query` takes one text literal here. Write the query itself.")
    return str(literal["text"])


def _refuse(name: str) -> ValidationFailed:
    message = (
        f"The query uses {name.lower()}, which the lake refuses, because it may wait without computing. Remove it."
    )
    return ValidationFailed.of("/sql", "query", message)
