"""Query plans of the audit trail: each filter reads only its events, according to each engine's plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, event, text

from attestlab.audit import store
from attestlab.audit.shapes import TrailQuery
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller

Equal = dict[str, str | None]
SPARING = (
    "tenant_id=? AND resource_type=?",
    "(resource_type,action)>(?,?)",
    "COVERING INDEX ix_audit_events_of_deed (tenant_id=?)",  # the first of all
    "tenant_id=? AND actor_id=?",
    "tenant_id=? AND resource_id=?",
)
PAGE = 3
LINES = 20_000
CROWD = text(
    "INSERT INTO audit_events SELECT :tenant_id, 1000 + n, gen_random_uuid(), now(), 'attestation.create',"
    " 'attestation', 'a' || n, '', '', '', 'USER', 'crowd', 'SUCCESS' FROM generate_series(1, :lines) n"
)


@pytest.fixture(
    params=[
        {"action": "tenant.create"},
        {"resource_type": "issuer"},
        {"resource_type": "issuer", "action": "issuer.create"},
        {"actor_id": "absent"},
        {"actor_id": "absent", "action": "issuer.create"},
        {"resource_id": "nothing"},
        {"resource_id": "nothing", "resource_type": "issuer"},
        {"resource_id": "nothing", "resource_type": "issuer", "action": "issuer.create"},
    ],
    ids=lambda equal: "+".join(equal),
)
def equal(request: pytest.FixtureRequest) -> Equal:
    """Returns the filters of a page."""
    asked: Equal = request.param
    return asked


@pytest.fixture
def connection(lab: Installation, caller: Caller) -> Iterator[Connection]:
    """A connection to a trail with a few issuer events; changes made through it are rolled back."""
    for number in range(3):
        issuer = lab.issuers.create({"name": f"Northfield {number}", "domain": "northfield.example"}, caller=caller)
        lab.issuers.update(issuer.issuer.id, {"display_name": "North"}, caller=caller)
    with lab.storage.engine.connect() as opened:
        yield opened
        opened.rollback()


def plans(connection: Connection, caller: Caller, equal: Equal, explain: str) -> list[Any]:
    """Returns the engine's plan for each query of a page."""
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        asked.append((statement, parameters))

    event.listen(connection.engine, "before_cursor_execute", note)
    store.list_events(connection, TrailQuery.model_validate(equal), tenant_id=caller.tenant_id, limit=PAGE)
    event.remove(connection.engine, "before_cursor_execute", note)
    return [connection.exec_driver_sql(f"{explain} {query}", values).all() for query, values in asked]


def lines_read(node: dict[str, Any]) -> int:
    """Returns the number of rows that a PostgreSQL plan node and its children read, matching or not."""
    here = 0
    if node.get("Relation Name") == "audit_events":
        here = round((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
    return here + sum(lines_read(under) for under in node.get("Plans", ()))


def test_sqlite_searches_an_index_and_sorts_no_more_than_a_page(
    connection: Connection, caller: Caller, equal: Equal
) -> None:
    explained = plans(connection, caller, equal, "EXPLAIN QUERY PLAN")

    steps = [step[3] for plan in explained for step in plan]
    reads = [step for step in steps if "audit_events" in step]
    assert reads
    assert all(any(how in step for how in SPARING) for step in reads), reads
    assert not [step for step in steps if "RIGHT PART" in step]


@pytest.mark.on_postgresql
def test_postgresql_reads_few_of_many_events(connection: Connection, caller: Caller, equal: Equal) -> None:
    """PostgreSQL reports how many rows it read; SQLite does not."""
    connection.execute(CROWD, {"tenant_id": caller.tenant_id, "lines": LINES})
    connection.execute(text("ANALYZE audit_events"))
    explained = plans(connection, caller, equal, "EXPLAIN (ANALYZE, FORMAT JSON)")

    assert explained
    assert sum(lines_read(plan[0][0][0]["Plan"]) for plan in explained) < 100
