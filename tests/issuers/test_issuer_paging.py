"""A page of issuers reads the rows it shows, in the order of an index: each engine's own plan shows it."""

from __future__ import annotations

import threading
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Connection, event

from attestlab.installation import Installation
from attestlab.issuers import store
from attestlab.orgs.rules import Caller, Plan
from support.in_process_server import make_client, serve_in_thread

INDEX = "ix_issuers_tenant_id_id"


def plan_of_page(connection: Connection, *, is_sqlite: bool, **query: Any) -> str:
    """The engine's plan for a page, as text; PostgreSQL is kept from scanning the few rows that there are."""
    statements: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        statements.append((statement, parameters))

    event.listen(connection.engine, "before_cursor_execute", note)
    store.page(connection, limit=50, **query)
    event.remove(connection.engine, "before_cursor_execute", note)
    if not is_sqlite:
        connection.exec_driver_sql("SET enable_seqscan = off")
        connection.exec_driver_sql("SET enable_bitmapscan = off")
    explain = "EXPLAIN QUERY PLAN" if is_sqlite else "EXPLAIN"
    ((statement, parameters),) = statements
    return "\n".join(str(row[-1]) for row in connection.exec_driver_sql(f"{explain} {statement}", parameters))


@pytest.mark.both_engines
@pytest.mark.parametrize(("before", "offset"), [(None, 0), (None, 1_000), (uuid4(), 0)])
def test_issuer_page_uses_an_index_without_sorting(
    lab: Installation, caller: Caller, before: UUID | None, offset: int
) -> None:
    with lab.storage.engine.connect() as connection:
        plan = plan_of_page(
            connection, is_sqlite=lab.storage.is_sqlite, tenant_id=caller.tenant_id, before=before, offset=offset
        )
        connection.rollback()

    assert INDEX in plan
    assert "B-TREE" not in plan
    assert "Sort" not in plan


def test_offset_query_runs_in_a_thread(lab: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def page(_connection: Connection, **_query: Any) -> list[Any]:
        threads.append(threading.current_thread().name)
        return []

    monkeypatch.setattr(store, "page", page)
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url, make_client(url, key=tenant.api_key) as client:
        client.get("/v1/issuers").raise_for_status()
        client.get("/v1/issuers?offset=1000").raise_for_status()

    assert [name.startswith("attestlab-long") for name in threads] == [False, True]
