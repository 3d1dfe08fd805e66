"""How an engine would answer the queries of a store: which indexes it reads, and whether it sorts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, event

from attestlab.core.db.storage import Storage


def explain_queries(storage: Storage, ask: Callable[[Connection], object], *, with_bitmaps: bool = False) -> str:
    """Return the plans of all statements that `ask` sends, as text.

    PostgreSQL is kept from scanning the few rows that there are, and unless `with_bitmaps` from reading an index out
    of its order.
    """
    statements: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        statements.append((statement, parameters))

    with storage.engine.connect() as connection:
        event.listen(connection.engine, "before_cursor_execute", note)
        try:
            ask(connection)
        finally:
            event.remove(connection.engine, "before_cursor_execute", note)
        plans = [_explain(connection, *each, storage=storage, with_bitmaps=with_bitmaps) for each in statements]
        connection.rollback()
    return "\n".join(plans)


def _explain(connection: Connection, statement: str, parameters: Any, *, storage: Storage, with_bitmaps: bool) -> str:
    if storage.is_sqlite:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
    else:
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        connection.exec_driver_sql(f"SET LOCAL enable_bitmapscan = {'on' if with_bitmaps else 'off'}")
        rows = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)
    return "\n".join(str(row[-1]) for row in rows)


def is_scanned(plan: str, table: str) -> bool:
    """Whether a plan reads a whole table, other than in the order of an index."""
    lines = [line.strip().removeprefix("->").strip() for line in plan.splitlines()]
    starts = (f"SCAN {table}", f"Seq Scan on {table}")
    return any(f"{line} ".startswith(f"{start} ") and "USING" not in line for line in lines for start in starts)


def is_sorted(plan: str) -> bool:
    """Whether a plan sorts rows, because no index has them in the order of the answer."""
    return "B-TREE" in plan or "Sort" in plan
