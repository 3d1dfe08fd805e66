"""Queries as trees: what DuckDB's parser makes of them; and a refusal of functions that wait and compute nothing.

Quotes, capitals, qualified names, chained calls and nesting make no difference to a tree. A function that waits would
hold a process of other tenants. One that runs text as a query must have that text as a literal, whose calls are looked
at too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import duckdb
import orjson

from attestlab.core.errors import ValidationFailed

Node = Any  # of parsed JSON


def parse_query(connection: duckdb.DuckDBPyConnection, query: str) -> Node:
    """Return the tree of a query; of text without one it has `error` and `error_type`.

    Raises:
        ValueError: it is nested too deeply.
    """
    (text,) = connection.execute("SELECT json_serialize_sql($1)", [query]).fetchall()[0]
    return orjson.loads(text)


def iterate_nodes(tree: Node) -> Iterator[dict[str, Node]]:
    """Yield every object of a tree, in no order."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            yield node
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node


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
