"""Pages of the list, reviews and trees with 100,000 agents, against hand-written queries of DuckDB.

The rival has the rows of agents, keys, uses and people in tables in memory. It names its columns, checks
nothing, and computes no effective scopes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from uuid import UUID

import duckdb
import pyarrow as pa
from sqlalchemy import select
from sqlmodel.sql.sqltypes import UTCDateTime

from attestlab.agents.oversight.rules import MAX_TREE_NODES, ReviewFinding
from attestlab.agents.oversight.shapes import AgentReviewQuery
from attestlab.agents.rules import AgentType
from attestlab.agents.sessions.store import uses
from attestlab.agents.shapes import AgentsQuery
from attestlab.agents.store import agents, keys
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.orgs.store import users
from attestlab.settings import Settings
from benchmarks.agents.fleet import Planter, analyze
from benchmarks.agents.reads import Read, compare_reads, measure_read
from benchmarks.figures import Figure

AGENTS = 100_000
A_TREE = MAX_TREE_NODES - 1  # below each root
PAGE_SIZE = 51  # as the route reads a page of 50
_SHOWN = ("id", "tenant_id", "display_name", "agent_type", "status", "scopes", "owner_user_id", "created_at")
_LIMITS = ("expires_at", "key_id", "parent_agent_id", "delegated_scopes", "delegated_until")
COPIED = {
    "agents": [agents.c[name] for name in (*_SHOWN, *_LIMITS)],
    "agent_keys": [keys.c.kid, keys.c.created_at],
    "uses": [uses.c.agent_id, uses.c.last_used_at],
    "users": [users.c.id, users.c.status],
}
PAGES = {
    "page": AgentsQuery(),
    "page_of_a_type": AgentsQuery(agent_type=AgentType.BOT),
    "page_of_a_text": AgentsQuery(q="no agent has it"),
}
REVIEW = """
    SELECT a.id, a.display_name, a.agent_type, a.status, a.scopes, a.owner_user_id, a.created_at, a.expires_at,
        k.created_at, o.id IS NOT NULL AS has_owner, u.last_used_at
    FROM agents a JOIN agent_keys k ON k.kid = a.key_id
    LEFT JOIN users o ON o.id = a.owner_user_id AND coalesce(o.status, 'ACTIVE') = 'ACTIVE'
    LEFT JOIN (SELECT agent_id, max(last_used_at) AS last_used_at FROM uses GROUP BY agent_id) u ON u.agent_id = a.id
    WHERE a.tenant_id = $tenant AND a.status <> 'revoked' AND coalesce(a.expires_at > $now, TRUE) AND {finding}
    ORDER BY a.id DESC LIMIT 51"""
FINDINGS = {
    None: "(o.id IS NULL OR a.expires_at IS NULL OR a.scopes LIKE '%:*%' OR a.expires_at <= $week)",
    ReviewFinding.EXPIRING: "a.expires_at <= $week",
}
TREE = """
    WITH RECURSIVE tree(id, depth) AS (
        SELECT id, 0 FROM agents WHERE id = $root
        UNION ALL SELECT a.id, t.depth + 1 FROM agents a JOIN tree t ON a.parent_agent_id = t.id)
    SELECT a.id, a.tenant_id, a.parent_agent_id, a.display_name, a.agent_type, a.status, a.expires_at,
        a.owner_user_id, a.scopes, a.delegated_scopes, a.delegated_until, t.depth
    FROM agents a JOIN tree t ON a.id = t.id ORDER BY t.depth, a.id"""
RIVAL = "hand-written DuckDB"
_TYPES: dict[type[object], pa.DataType] = {UTCDateTime: pa.timestamp("us", tz="UTC")}


def figures(folder: Path, engine: str, url: str | None) -> Iterator[Figure]:
    """Yield the figures of one database; the installation stands in `folder`."""
    lab, made = Installation.init(Settings(data=folder, **({} if url is None else {"database_url": url})))  # type: ignore[arg-type]
    caller = lab.orgs.service_caller(made.tenant.tenant_id)
    planter = Planter(lab, caller)
    root, *_ = [planter.grow(A_TREE) for _ in range(AGENTS // (A_TREE + 1))]
    analyze(lab)
    for name, query in PAGES.items():
        read = partial(lab.agents.registry.page, query, caller=caller, limit=PAGE_SIZE)
        yield from measure_read(f"agents.{engine}.{name}_of_{AGENTS}", read)
    with duckdb.connect(":memory:") as connection:
        _copy(lab, connection)
        yield from _compare_reviews(lab, caller, connection, engine)
        yield from _compare_trees(lab, caller, connection, root, engine)
    lab.close()


def _copy(lab: Installation, connection: duckdb.DuckDBPyConnection) -> None:
    """Copy the rows that the rival reads, ids as texts."""
    for name, columns in COPIED.items():
        with lab.storage.read() as records:
            rows = [dict(row) for row in records.execute(select(*columns)).mappings()]
        types = pa.schema([(column.name, _TYPES.get(type(column.type), pa.string())) for column in columns])
        connection.register("copied", pa.Table.from_pylist([_write_ids(row) for row in rows], schema=types))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM copied")


def _write_ids(row: Mapping[str, object]) -> dict[str, object]:
    return {name: str(value) if isinstance(value, UUID) else value for name, value in row.items()}


def _compare_reviews(
    lab: Installation, caller: Caller, connection: duckdb.DuckDBPyConnection, engine: str
) -> Iterator[Figure]:
    now = lab.clock.now()
    values = {"tenant": str(caller.tenant_id), "now": now, "week": now + timedelta(days=7)}
    for finding, condition in FINDINGS.items():
        query = AgentReviewQuery(finding=finding)
        read = partial(lab.agents.oversight.page_review, query, caller=caller, limit=PAGE_SIZE)
        rival = _select(connection, REVIEW.format(finding=condition), values)
        yield from compare_reads(f"agents.{engine}.review_{finding or 'page'}", read, {RIVAL: rival})


def _compare_trees(
    lab: Installation, caller: Caller, connection: duckdb.DuckDBPyConnection, root: UUID, engine: str
) -> Iterator[Figure]:
    read = partial(lab.agents.oversight.get_tree, root, caller=caller)
    rival = _select(connection, TREE, {"root": str(root)})
    yield from compare_reads(f"agents.{engine}.tree_of_{MAX_TREE_NODES}", read, {RIVAL: rival})


def _select(connection: duckdb.DuckDBPyConnection, query: str, values: dict[str, object]) -> Read:
    used = {name: value for name, value in values.items() if f"${name}" in query}
    return lambda: connection.execute(query, used).fetchall()
