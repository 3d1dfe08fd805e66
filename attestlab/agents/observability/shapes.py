"""Wire models of agents' events and of their figures (CONTRACT 11.12)."""

from typing import Annotated

from pydantic import Field

from attestlab.agents.delegation.shapes import AgentReference
from attestlab.agents.observability.rules import EVENT_TYPE_PATTERN, MAX_LATENCY_MS, AgentEventStatus, Granularity
from attestlab.core.shapes import In, Moment, Out, Uuid
from attestlab.risk.normalization.mapping import MAX_EVENT_TYPE_LENGTH

AgentEventType = Annotated[str, Field(pattern=EVENT_TYPE_PATTERN, max_length=MAX_EVENT_TYPE_LENGTH)]


class AgentEventIn(In, wire_name="agent_event_input", source="CONTRACT 11.12"):
    """What an agent did, as it or another one reports it."""

    agent_id: AgentReference
    """The agent. Format: UUID of 36 characters, or maip:<8 digits>:<ULID>."""
    event_type: AgentEventType
    """What it did. Format: two and more lowercase words with dots between, at most 128 characters."""
    status: AgentEventStatus = AgentEventStatus.OK
    """How it ended. Format: ok or error."""
    latency_ms: Annotated[float, Field(ge=0, le=MAX_LATENCY_MS)] | None = None
    """How long it took. Format: 0-86400000 milliseconds."""
    attributes: dict[str, object] | None = None
    """Further facts about it. Format: JSON, at most 8192 bytes."""
    session_id: Uuid | None = None
    """The agent's session in which it did that; by default the one that reports it. Format: UUID, 36 characters."""
    occurred_at: Moment | None = None
    """When it happened; by default now. Format: RFC 3339 date-time with an offset, not in the future."""


class ReportedEventOut(Out, wire_name="reported_agent_event", source="CONTRACT 11.12"):
    """An event that was accepted."""

    event_id: Uuid
    """The event. Format: UUID, 36 characters."""


class AgentMetricsQuery(In, wire_name="agent_metrics_query", source="CONTRACT 11.12"):
    """The period, the length of its buckets, and the agent."""

    since: Moment | None = Field(default=None, alias="from")
    """The beginning; by default seven days before the end. Format: RFC 3339 date-time with an offset."""
    until: Moment | None = Field(default=None, alias="to")
    """The end, exclusive; by default now. Format: RFC 3339 date-time with an offset."""
    granularity: Granularity = Granularity.DAY
    """The length of a bucket; a period has at most 1000 of them. Format: hour, day or week."""
    agent_id: AgentReference | None = None
    """Only this agent; by default all. Format: UUID of 36 characters, or maip:<8 digits>:<ULID>."""


class LatencyOut(Out, wire_name="agent_latency", source="CONTRACT 11.12"):
    """Percentiles of the latencies that were reported; null without any."""

    p50: float | None
    """The median. Format: milliseconds."""
    p95: float | None
    """The 95th percentile. Format: milliseconds."""
    p99: float | None
    """The 99th percentile. Format: milliseconds."""


class MetricsBucketOut(LatencyOut, wire_name="agent_metrics_bucket", source="CONTRACT 11.12"):
    """The figures of one bucket; the first and the last one cover what the period has of them."""

    start: Moment
    """Its beginning. Format: RFC 3339 date-time, UTC, milliseconds."""
    count: int
    """The events. Format: from 0."""
    errors: int
    """Those that ended in an error. Format: from 0."""


class AgentMetricsOut(Out, wire_name="agent_metrics", source="CONTRACT 11.12"):
    """The figures of a period; events count by when they happened, up to those of the last moment."""

    total: int
    """The events. Format: from 0."""
    event_counts: dict[str, int]
    """The events by type, the most frequent first. Format: at most 500 types."""
    more_event_types: int
    """The types beyond those. Format: from 0."""
    error_rate: float | None
    """The share of events that ended in an error; null without events. Format: from 0 to 1."""
    latency_ms: LatencyOut
    """The percentiles of all latencies."""
    active_agents: int
    """The agents with an event. Format: from 0."""
    buckets: list[MetricsBucketOut]
    """The buckets, the earliest first, also those without events. Format: at most 1000."""
