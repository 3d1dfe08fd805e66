"""Figures of what agents did."""

from __future__ import annotations

from typing import ClassVar

from attestlab.agents.observability.shapes import AgentMetricsOut, MetricsBucketOut
from attestlab.client.analysis.records import Records
from attestlab.client.handles.base import Handle


class AgentMetricsHandle(AgentMetricsOut, Handle):
    """The figures of a period; `buckets.df()` has a row for each hour, day or week."""

    shown_fields: ClassVar = ("total", "error_rate", "latency_ms", "active_agents", "buckets")

    buckets: Records[MetricsBucketOut]
