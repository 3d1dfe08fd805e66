"""Figures of agents' events, by DuckDB over the parts and over what the records alone have so far.

Of many agents, three queries, each over the columns that it needs, take less time than one with grouping sets: that
one keeps the latencies and agents of each set. Of one agent there are few events, and finding them takes the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import duckdb

from attestlab.agents.observability.buckets import A_MONDAY, LENGTHS
from attestlab.agents.observability.results import NO_LATENCY, AgentMetrics, Latency, MetricsBucket, MetricsPeriod
from attestlab.lake.datasets import AGENT_EVENTS
from attestlab.lake.trusted_connections import TrustedConnections

_FROM = "FROM agent_events WHERE occurred_at >= $since AND occurred_at < $until"
_ERRORS = "count(*) FILTER (WHERE status = 'error')"
_LATENCY = "quantile_cont(latency_ms, [0.5, 0.95, 0.99])"
_ORIGIN_US = int(A_MONDAY.timestamp()) * 1_000_000


def measure_events(trusted: TrustedConnections, tenant_id: UUID, period: MetricsPeriod) -> AgentMetrics:
    """Compute the figures of a period; the buckets are those with events.

    Raises:
        Conflict: the lake is ahead of the records.
        Unavailable: a part was removed or damaged during the queries.
    """
    with trusted.open(tenant_id, AGENT_EVENTS) as connection:
        return _measure(connection, period) if period.agent_id is None else _measure_agent(connection, period)


def _measure(connection: duckdb.DuckDBPyConnection, period: MetricsPeriod) -> AgentMetrics:
    values: dict[str, object] = {"since": period.since, "until": period.until}
    number = _number(period)
    by_bucket = f"SELECT {number} AS number, count(*), {_ERRORS}, {_LATENCY} {_FROM} GROUP BY number ORDER BY number"
    of_all = f"SELECT count(*), {_ERRORS}, count(DISTINCT agent_id), {_LATENCY} {_FROM}"
    by_type = f"SELECT event_type, count(*) AS events {_FROM} GROUP BY event_type ORDER BY events DESC, event_type"
    buckets = [_read_bucket(period, *row) for row in connection.execute(by_bucket, values).fetchall()]
    ((total, errors, agents, latency),) = connection.execute(of_all, values).fetchall()
    event_counts = dict(connection.execute(by_type, values).fetchall())
    return AgentMetrics(total, errors, agents, _read_latency(latency), event_counts, buckets)


def _measure_agent(connection: duckdb.DuckDBPyConnection, period: MetricsPeriod) -> AgentMetrics:
    """Measure one agent with one query: its rows are of a bucket, of a type, and of all."""
    values: dict[str, object] = {"since": period.since, "until": period.until, "agent": str(period.agent_id)}
    query = (
        f"SELECT {_number(period)} AS number, event_type, count(*) AS events, {_ERRORS}, {_LATENCY} {_FROM} "
        "AND agent_id = $agent GROUP BY GROUPING SETS ((number), (event_type), ()) "
        "ORDER BY number, events DESC, event_type"
    )
    rows = connection.execute(query, values).fetchall()
    buckets = [_read_bucket(period, number, *more) for number, _, *more in rows if number is not None]
    event_counts = {event_type: count for _, event_type, count, *_ in rows if event_type is not None}
    ((total, errors, latency),) = (more for number, kind, *more in rows if number is None and kind is None)
    return AgentMetrics(total, errors, min(total, 1), _read_latency(latency), event_counts, buckets)


def _number(period: MetricsPeriod) -> str:
    """Return SQL for the number of an event's bucket."""
    length_us = int(LENGTHS[period.granularity].total_seconds()) * 1_000_000
    return f"(epoch_us(occurred_at) - {_ORIGIN_US}) // {length_us}"


def _read_bucket(
    period: MetricsPeriod, number: int, count: int, errors: int, latency: Sequence[float] | None
) -> MetricsBucket:
    return MetricsBucket(A_MONDAY + number * LENGTHS[period.granularity], count, errors, _read_latency(latency))


def _read_latency(percentiles: Sequence[float] | None) -> Latency:
    return NO_LATENCY if percentiles is None else Latency(*percentiles)
