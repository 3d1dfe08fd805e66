"""Metrics over many events of agents, against hand-written queries of DuckDB on the same files.

DuckDB makes the events, and the lake's writer writes them as its merged parts are: sorted by tenant and time. The
records have the number of events only. `BENCH_AGENT_EVENTS=10000000` sets their number, which take 1 GB of disk then.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from uuid import UUID

import duckdb
import pyarrow as pa

from attestlab.agents.observability.buckets import LENGTHS
from attestlab.agents.observability.rules import Granularity
from attestlab.agents.observability.shapes import AgentMetricsQuery
from attestlab.agents.observability.store import NUMBERED
from attestlab.agents.shapes import AgentIn
from attestlab.core.records import hash_chain
from attestlab.installation import Installation
from attestlab.lake.datasets import AGENT_EVENTS
from attestlab.lake.parts import find_parts, write_groups
from attestlab.orgs.rules import Caller, Plan
from attestlab.settings import Settings
from benchmarks.agents.reads import Read, compare_reads
from benchmarks.figures import Figure

EVENTS_VARIABLE, DEFAULT_EVENTS = "BENCH_AGENT_EVENTS", 1_000_000
ROWS_A_PART, ROWS_A_GROUP = 1_000_000, 100_000
AGENTS = 100_000
DAYS = 30
START = datetime(2026, 9, 1, tzinfo=UTC)
PERIOD = {"from": START, "to": START + timedelta(days=DAYS)}
SMALL_SHARE = 50  # one event in fifty is the small tenant's
MAKE = """
    WITH made AS (SELECT range AS seq, CAST(hash(range) >> 1 AS BIGINT) AS random FROM range({first}, {end}))
    SELECT seq, CAST(uuid() AS VARCHAR) AS id,
        CASE WHEN seq % {small} = 0 THEN '{tenants[0]}' ELSE '{tenants[1]}' END AS tenant_id,
        CASE WHEN random % 1000 = 0 THEN '{agent}'
            ELSE printf('01990000-0000-7000-8000-%012x', random % {agents}) END AS agent_id,
        ['tool.call', 'tool.call', 'llm.call', 'plan.step', 'mail.send'][1 + (random >> 8) % 5] AS event_type,
        CASE WHEN (random >> 16) % 40 = 0 THEN 'error' ELSE 'ok' END AS status,
        CASE WHEN (random >> 24) % 10 > 0 THEN round(exp(1 + ((random >> 32) % 7000) / 1000.0), 3) END AS latency_ms,
        '{{"tool":"search"}}' AS attributes,
        NULL::VARCHAR AS session_id, NULL::VARCHAR AS reporting_session_id,
        TIMESTAMPTZ '{start}' + to_microseconds(CAST(seq::HUGEINT * {span_us} / {count} AS BIGINT)) AS occurred_at,
        occurred_at AS created_at
    FROM made ORDER BY {order}"""
CHOSEN = "FROM {rows} WHERE tenant_id = $tenant AND occurred_at >= $since AND occurred_at < $until{more}"
FIGURES = "count(*), count(*) FILTER (WHERE status = 'error'), quantile_cont(latency_ms, [0.5, 0.95, 0.99])"
QUESTIONS = (
    "SELECT epoch_us(occurred_at) // {length_us} AS number, {figures} {chosen} GROUP BY number ORDER BY number",
    "SELECT {figures}, count(DISTINCT agent_id) {chosen}",
    "SELECT event_type, count(*) AS events {chosen} GROUP BY event_type ORDER BY events DESC, event_type",
)


def figures(folder: Path) -> Iterator[Figure]:
    """Yield metrics of a large tenant, a small one and one agent."""
    count = int(os.environ.get(EVENTS_VARIABLE, DEFAULT_EVENTS))
    lab, founded = Installation.init(Settings(data=folder))
    small, large = founded.tenant.tenant_id, lab.orgs.create_tenant("Large", plan=Plan.ENTERPRISE).tenant_id
    callers = {"small_tenant": lab.orgs.service_caller(small), "large_tenant": lab.orgs.service_caller(large)}
    agent = lab.agents.registry.register(AgentIn(display_name="One"), caller=callers["large_tenant"]).row.id
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'; SET parquet_metadata_cache = true")
        files = _write_events(lab, connection, count, [small, large], agent)
        for name, caller in callers.items():
            query = AgentMetricsQuery.model_validate(PERIOD)
            yield from _compare(f"{name}_of_{count}", lab, caller, query, connection, files)
        query = AgentMetricsQuery.model_validate({**PERIOD, "agent_id": str(agent), "granularity": Granularity.HOUR})
        yield from _compare(f"one_agent_of_{count}", lab, callers["large_tenant"], query, connection, files)
    lab.close()


def _write_events(
    lab: Installation, connection: duckdb.DuckDBPyConnection, count: int, tenants: list[UUID], agent: UUID
) -> list[str]:
    """Write the parts; returns their files."""
    folder, schema = lab.lake.folder / AGENT_EVENTS.name, pa.schema(list(AGENT_EVENTS.columns.items()))
    span_us = DAYS * 86_400_000_000
    fixed = {"tenants": tenants, "agent": agent, "agents": AGENTS, "small": SMALL_SHARE, "start": START.isoformat()}
    for first in range(0, count, ROWS_A_PART):
        end = min(first + ROWS_A_PART, count)
        order = ", ".join(AGENT_EVENTS.order)
        made = connection.sql(MAKE.format(first=first, end=end, count=count, span_us=span_us, order=order, **fixed))
        table = made.to_arrow_table().select(schema.names).cast(schema)
        groups = (table.slice(start, ROWS_A_GROUP) for start in range(0, table.num_rows, ROWS_A_GROUP))
        write_groups(folder, first, end - 1, schema, groups)
    with lab.storage.write() as tx:
        hash_chain.save_head(tx.connection, NUMBERED.chain, count, bytes(32))
    return [str(part.path) for part in find_parts(folder).chain]


def _compare(
    name: str,
    lab: Installation,
    caller: Caller,
    query: AgentMetricsQuery,
    connection: duckdb.DuckDBPyConnection,
    files: list[str],
) -> Iterator[Figure]:
    """Compare with the three questions on the files, and on a table of the columns that is made from them first."""
    values = {"tenant": str(caller.tenant_id), "since": query.since, "until": query.until}
    more = "" if query.agent_id is None else f" AND agent_id = '{query.agent_id}'"
    chosen = CHOSEN.format(rows=f"read_parquet({files!r})", more=more)
    length_us = LENGTHS[query.granularity] // timedelta(microseconds=1)
    on_files = [question.format(length_us=length_us, figures=FIGURES, chosen=chosen) for question in QUESTIONS]
    on_table = [question.format(length_us=length_us, figures=FIGURES, chosen="FROM chosen") for question in QUESTIONS]
    keep = (
        f"CREATE OR REPLACE TEMP TABLE chosen AS SELECT agent_id, event_type, status, latency_ms, occurred_at {chosen}"
    )

    def ask_files() -> object:
        return [connection.execute(question, values).fetchall() for question in on_files]

    def ask_table() -> object:
        connection.execute(keep, values)
        return [connection.execute(question).fetchall() for question in on_table]

    rivals: dict[str, Read] = {"three queries of DuckDB": ask_files, "DuckDB, columns read once": ask_table}
    read = partial(lab.agents.events.metrics, query, caller=caller)
    _require_equal(read(), ask_files())
    yield from compare_reads(f"agents.metrics_{name}", read, rivals)


def _require_equal(ours: object, rows: object) -> None:
    """Require that both sides count the same events."""
    total = getattr(ours, "total", None)
    counted = rows[1][0][0] if isinstance(rows, list) else None
    if total != counted:
        raise RuntimeError(f"The service counts {total} events, the rival {counted}.")
