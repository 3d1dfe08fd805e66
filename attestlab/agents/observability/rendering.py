"""Rendering of agents' figures as wire models; this module makes no decisions."""

from __future__ import annotations

from itertools import islice

from attestlab.agents.observability.results import AgentMetrics, MetricsBucket
from attestlab.agents.observability.rules import MAX_EVENT_TYPES
from attestlab.agents.observability.shapes import AgentMetricsOut, LatencyOut, MetricsBucketOut


def render_metrics(found: AgentMetrics) -> AgentMetricsOut:
    """Render the figures of a period."""
    return AgentMetricsOut(
        total=found.total,
        event_counts=dict(islice(found.event_counts.items(), MAX_EVENT_TYPES)),
        more_event_types=max(0, len(found.event_counts) - MAX_EVENT_TYPES),
        error_rate=found.errors / found.total if found.total else None,
        latency_ms=LatencyOut(**found.latency._asdict()),
        active_agents=found.active_agents,
        buckets=list(map(_render_bucket, found.buckets)),
    )


def _render_bucket(bucket: MetricsBucket) -> MetricsBucketOut:
    return MetricsBucketOut(start=bucket.start, count=bucket.count, errors=bucket.errors, **bucket.latency._asdict())
