"""Figures of agents' events, as the lake computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

from attestlab.agents.observability.rules import Granularity


class MetricsPeriod(NamedTuple):
    """What figures are of: the events of a tenant, or of one of its agents, from `since` to before `until`."""

    since: datetime
    until: datetime
    granularity: Granularity
    agent_id: UUID | None = None


class Latency(NamedTuple):
    """Percentiles in milliseconds; None without a latency."""

    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


NO_LATENCY = Latency()


@dataclass(frozen=True)
class MetricsBucket:
    """The figures of one bucket."""

    start: datetime
    count: int = 0
    errors: int = 0
    latency: Latency = NO_LATENCY


class AgentMetrics(NamedTuple):
    """The figures of a period; `buckets` are those with events, `event_counts` all types, the most frequent first."""

    total: int
    errors: int
    active_agents: int
    latency: Latency
    event_counts: Mapping[str, int]
    buckets: Sequence[MetricsBucket]


class MeasureEvents(Protocol):
    """Computes the figures of a tenant's events in a period, from the lake and what it has not exported yet."""

    def __call__(self, tenant_id: UUID, period: MetricsPeriod, /) -> AgentMetrics: ...
