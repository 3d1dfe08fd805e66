"""Queries as trees: what DuckDB's parser makes of them, so that quotes, capitals and nesting make no difference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import orjson

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
