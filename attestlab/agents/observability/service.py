"""Service for agents' events: report one or many, and read their figures (CONTRACT 11.12)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID

from attestlab.agents import rules as agent_rules
from attestlab.agents import store as agent_store
from attestlab.agents.observability.anomalies import watch_events
from attestlab.agents.observability.buckets import list_starts
from attestlab.agents.observability.reporting import NewAgentEvent, build_records, read_event, require_known
from attestlab.agents.observability.results import AgentMetrics, MeasureEvents, MetricsBucket, MetricsPeriod
from attestlab.agents.observability.shapes import AgentEventIn, AgentMetricsQuery
from attestlab.agents.observability.store import NUMBERED
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import ValidationFailed
from attestlab.orgs.rules import Caller

DEFAULT_PERIOD: Final = timedelta(days=7)
A_MOMENT: Final = timedelta(milliseconds=1)  # so that a period up to now has what was reported just now


class AgentEvents:
    """What agents did, as they or others report it. `tx` is the unit of work to join; without it, a verb commits."""

    def __init__(self, *, storage: Storage, clock: Clock, measure: MeasureEvents) -> None:
        self.storage = storage
        self.clock = clock
        self._measure = measure

    def report(self, body: AgentEventIn, *, caller: Caller, tx: Transaction | None = None) -> UUID:
        """Report one event of an agent and return its id; what it makes unusual becomes a risk signal.

        Raises:
            NotFound: the caller's tenant has no such agent, or the agent no such session.
            PermissionDenied: the caller is another agent.
            ValidationFailed: the time is in the future, or the attributes are too large.
        """
        with self.storage.write(tx) as tx:
            look_up = partial(require_known, tx.exec, caller.tenant_id)
            new = read_event(body, caller=caller, look_up=look_up, now=self.clock.now())
            return self.record(tx, [new], caller=caller)[0]

    def record(self, tx: Transaction, new: Sequence[NewAgentEvent], *, caller: Caller) -> list[UUID]:
        """Record events that were read, and the anomalies that they show; returns their ids."""
        now = self.clock.now()
        records = build_records(new, tenant_id=caller.tenant_id, at=now)
        NUMBERED.add(tx, records)
        watch_events(tx, records, at=now)
        return [record.id for record in records]

    def metrics(self, query: AgentMetricsQuery, *, caller: Caller) -> AgentMetrics:
        """Compute the figures of a period, with a bucket for each hour, day or week of it.

        Raises:
            NotFound: the caller's tenant has no such agent.
            ValidationFailed: the period is empty, or has more than 1,000 buckets.
            Unavailable: the lake is damaged; retry later.
        """
        period = self._resolve(query, caller)
        starts = list_starts(period)
        found = self._measure(caller.tenant_id, period)
        with_events = {bucket.start: bucket for bucket in found.buckets}
        return found._replace(buckets=[with_events.get(start, MetricsBucket(start)) for start in starts])

    def _resolve(self, query: AgentMetricsQuery, caller: Caller) -> MetricsPeriod:
        until = query.until or self.clock.now() + A_MOMENT
        since = query.since or until - DEFAULT_PERIOD
        if since >= until:
            message = f"The period begins at {since:%Y-%m-%dT%H:%M:%SZ}, not before its end. Send an earlier `from`."
            raise ValidationFailed.of("/from", "empty_period", message)
        return MetricsPeriod(since, until, query.granularity, self._find_agent(query.agent_id, caller))

    def _find_agent(self, sent: str | None, caller: Caller) -> UUID | None:
        if sent is None:
            return None
        agent_id = agent_rules.parse_agent_id(sent, tenant_id=caller.tenant_id)
        with self.storage.read() as connection:
            return agent_store.get(connection.execute, agent_id, tenant_id=caller.tenant_id).id
