"""What agents did, as verbs of `lab.agents`: events reported alone or by the thousand, and their figures."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from typing import TYPE_CHECKING
from uuid import UUID

from attestlab.client import arguments
from attestlab.client.arguments import When
from attestlab.client.collections.base import DatasetCollection
from attestlab.client.collections.bulk_signals import record_agent_events
from attestlab.client.handles.agent_arguments import read_agent_id
from attestlab.client.handles.agent_metrics import AgentMetricsHandle
from attestlab.client.handles.agents import AgentHandle, AgentLike
from attestlab.client.handles.risk import BulkHandle

if TYPE_CHECKING:
    from attestlab.client.collections.signal_rows import BulkRows

_EVENTS = "/v1/observability/events"


class AgentEventVerbs(DatasetCollection[AgentHandle]):
    """The verbs of what agents did."""

    def report(
        self,
        agent: AgentLike,
        event_type: str,
        *,
        status: str = "ok",
        latency_ms: float | None = None,
        attributes: Mapping[str, object] | None = None,
        session_id: UUID | str | None = None,
        occurred_at: When | None = None,
    ) -> UUID:
        """Report what an agent did.

        Args:
            agent: the agent, its UUID or its maip id.
            event_type: two and more words with dots between, such as `tool.call`.
            status: `ok` or `error`.
            latency_ms: how long it took, 0 to 86,400,000 milliseconds.
            attributes: further facts, at most 8 KiB as JSON.
            session_id: the agent's session in which it happened; of `lab.as_(session)` that session by default.
            occurred_at: by default now; never in the future.

        Returns:
            The id of the event, as the data set `agent_events` has it.

        Raises:
            NotFound: the tenant has no such agent, or the agent no such session.
            PermissionDenied: the caller is another agent.
            ValidationFailed: an argument is not acceptable; the message names the limit.

        >>> agent = lab.agents.register("Mail sorter")
        >>> event_id = lab.agents.report(agent, "tool.call", latency_ms=182.5)
        >>> lab.agents.metrics(agent=agent).event_counts
        {'tool.call': 1}
        """
        body: dict[str, object] = {
            "agent_id": read_agent_id(agent),
            "event_type": arguments.read_text(event_type, name="event_type"),
            "status": arguments.read_text(status, name="status"),
            "latency_ms": latency_ms,
            "session_id": None if session_id is None else arguments.read_id(session_id, "a session"),
            "occurred_at": arguments.read_time(occurred_at, name="occurred_at"),
        }
        body |= {"attributes": arguments.read_mapping(attributes, name="attributes")} if attributes else {}
        answer = self._client.post(_EVENTS, {name: value for name, value in body.items() if value is not None})
        return UUID(str(answer["event_id"]))

    def report_many(self, events: BulkRows, *, strict: bool = False, tz: str | tzinfo | None = None) -> BulkHandle:
        """Report many events, ten thousand in a request; a row that is no event does not hold back the others.

        Args:
            events: dicts like the body of `POST /v1/observability/events`, of which a generator is read as it is sent;
                a frame of pandas, Polars or Arrow; or the path of a CSV or Parquet file. Columns are the members:
                `agent_id`, `event_type`, and optionally `status`, `latency_ms`, `attributes`, `session_id` and
                `occurred_at`.
            strict: True to send nothing if a row is no event; all rows are in memory then.
            tz: the zone of times without a UTC offset, such as `Europe/Zurich`. Without `tz`, such rows are rejected.

        Returns:
            How many rows were accepted, rejected and not sent; `rejected` names row and field, also as a frame.

        Raises:
            ValidationFailed: `events` has no rows of this form, or with `strict` a row is no event.
            Unavailable: the service broke off; a note counts the rows that were sent before.

        >>> agent = lab.agents.register("Batch worker")
        >>> called = {"agent_id": agent.agent_id, "event_type": "tool.call"}
        >>> lab.agents.report_many({**called, "latency_ms": latency_ms} for latency_ms in (12, 17))
        Bulk(2 accepted, 0 rejected, 0 not sent)
        """
        return record_agent_events(self._client, events, strict=strict, tz=tz)

    def metrics(
        self,
        *,
        agent: AgentLike | None = None,
        since: When | None = None,
        until: When | None = None,
        granularity: str = "day",
    ) -> AgentMetricsHandle:
        """Return figures of what agents did: counts by type, errors, percentiles of latencies, and buckets of time.

        Args:
            agent: only this agent; by default all.
            since: the begin of the period, by default seven days before its end.
            until: its end, by default now.
            granularity: the length of a bucket, `hour`, `day` or `week`; at most 1,000 of them.

        Returns:
            The figures, which have every event that was accepted before the call.

        Raises:
            NotFound: the tenant has no such agent.
            ValidationFailed: the period is empty, or has too many buckets.

        >>> agent = lab.agents.register("Ticket triage")
        >>> event_id = lab.agents.report(agent, "ticket.read", status="error", latency_ms=40)
        >>> figures = lab.agents.metrics(agent=agent)
        >>> figures.total, figures.error_rate, figures.latency_ms.p95
        (1, 1.0, 40.0)
        >>> int(figures.buckets.df()["errors"].sum())
        1
        """
        query: dict[str, object] = {**arguments.read_period(since, until)}
        query["granularity"] = arguments.read_text(granularity, name="granularity")
        query["agent_id"] = None if agent is None else read_agent_id(agent)
        return AgentMetricsHandle.parse(self._client, self._client.get("/v1/observability/metrics", query))
