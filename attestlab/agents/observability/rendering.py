"""Rendering of agents' figures as wire models; this module makes no decisions."""

from __future__ import annotations

from itertools import islice

from attestlab.agents.observability.results import AgentMetrics, Latency, MetricsBucket
from attestlab.agents.observability.rules import MAX_EVENT_TYPES
from attestlab.agents.observability.shapes import AgentMetricsOut, LatencyOut, MetricsBucketOut
from attestlab.core.row_rendering import RowRenderer

_render_latency = RowRenderer(LatencyOut, Latency)
_render_bucket = RowRenderer(MetricsBucketOut, MetricsBucket, parts={"latency": Latency})
render_metrics = RowRenderer(
    AgentMetricsOut,
    AgentMetrics,
    event_counts=lambda found: dict(islice(found.event_counts.items(), MAX_EVENT_TYPES)),
    more_event_types=lambda found: max(0, len(found.event_counts) - MAX_EVENT_TYPES),
    error_rate=lambda found: found.errors / found.total if found.total else None,
    latency_ms=lambda found: _render_latency(found.latency),
    buckets=lambda found: list(map(_render_bucket, found.buckets)),
)
