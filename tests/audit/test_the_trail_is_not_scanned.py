"""A filter of the trail looks at the lines it wants: SQLite says so itself, for every query that a page takes."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import event

from attestlab.audit import store
from attestlab.lab import Lab
from attestlab.orgs.rules import Caller

SPARING = (
    "tenant_id=? AND resource_type=?",
    "(resource_type,action)>(?,?)",
    "COVERING INDEX ix_audit_events_of_deed (tenant_id=?)",  # the first of all
    "tenant_id=? AND actor_id=?",
    "tenant_id=? AND resource_id=?",
)


@pytest.mark.parametrize(
    "equal",
    [
        {"action": "tenant.create"},
        {"resource_type": "issuer"},
        {"resource_type": "issuer", "action": "issuer.create"},
        {"actor_id": "nobody", "action": "issuer.create"},
        {"resource_id": "nothing"},
        {"resource_id": "nothing", "resource_type": "issuer"},
        {"resource_id": "nothing", "resource_type": "issuer", "action": "issuer.create"},
    ],
)
def test_each_query_of_a_page_searches_an_index_and_sorts_no_more_than_a_page(
    lab: Lab, caller: Caller, equal: dict[str, str | None]
) -> None:
    if not lab.storage.is_sqlite:
        pytest.skip("PostgreSQL plans by the size of its tables")
    for number in range(3):
        issuer = lab.issuers.create({"name": f"Northfield {number}", "domain": "northfield.example"}, caller=caller)
        lab.issuers.update(issuer.issuer["id"], {"display_name": "North"}, caller=caller)
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        asked.append((statement, parameters))

    with lab.storage.read() as connection:
        event.listen(lab.storage.engine, "before_cursor_execute", note)
        store.page(connection, store.Wanted(caller.tenant_id, equal), limit=3)
        event.remove(lab.storage.engine, "before_cursor_execute", note)
        plans = [connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values).all() for text, values in asked]

    steps = [step[3] for plan in plans for step in plan]
    reads = [step for step in steps if "audit_events" in step]
    assert reads
    assert all(any(how in step for how in SPARING) for step in reads), reads
    assert not [step for step in steps if "RIGHT PART" in step]
