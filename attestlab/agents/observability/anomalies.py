"""Anomalies of agents, each one risk signal within its window, in whichever process they show (CONTRACT 11.12).

Refusals are counted in the audit trail and events in their table, both under the writer's lock, with those of the
transaction itself: so ten refusals are ten, however many processes gave them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from attestlab.agents import store as agent_store
from attestlab.agents.observability import rules, store
from attestlab.agents.observability.rules import EventCounts
from attestlab.agents.observability.tables import AgentEventRecord
from attestlab.agents.rules import SIGNAL_SOURCE, AgentStatus, status_at
from attestlab.agents.signals import describe_entity, record_agent_signal
from attestlab.audit.trail import ATTEMPT
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AttestLabError, AuthInvalid
from attestlab.core.records import audit
from attestlab.orgs.rules import Caller
from attestlab.risk.rules import Factor
from attestlab.risk.signals import recording


def watch_denied(tx: Transaction, caller: object, error: AttestLabError, *, at: datetime) -> None:
    """Look at a denied request of an agent, which is in the audit trail: it may probe, or be revoked."""
    known = error.known if isinstance(error, AuthInvalid) else caller
    if not isinstance(known, Caller) or known.actor_type != "AGENT":
        return
    if isinstance(error, AuthInvalid):
        agent = agent_store.find(tx.read_unflushed, UUID(known.actor_id))
        if agent is not None and status_at(agent.status, agent.expires_at, at) is AgentStatus.REVOKED:
            _record_once(tx, known, rules.judge_use_after_revocation(), at)
    elif "required_scope" in error.details:
        _record_once(tx, known, rules.judge_refusals(_count_refusals(tx, known, at)), at)


def watch_events(tx: Transaction, records: Sequence[AgentEventRecord], *, at: datetime) -> None:
    """Look at agents of which a transaction adds events of the last minutes; those of the past are no anomaly."""
    recent = {record.agent_id: record for record in records if record.occurred_at > at - rules.ERROR_WINDOW}
    for newest in recent.values():
        counts = _count_events(tx, newest.agent_id, at)
        for factor in (rules.judge_burst(counts), rules.judge_errors(counts)):
            _record_unless_known(tx, newest.tenant_id, newest.agent_id, newest.session_id, factor, at)


def _record_once(tx: Transaction, caller: Caller, factor: Factor | None, at: datetime) -> None:
    session_id = UUID(caller.credential_id)
    _record_unless_known(tx, caller.tenant_id, UUID(caller.actor_id), session_id, factor, at)


def _record_unless_known(
    tx: Transaction, tenant_id: UUID, agent_id: UUID, session_id: UUID | None, factor: Factor | None, at: datetime
) -> None:
    """Record an anomaly, unless a signal of this type is within its window."""
    if factor is None:
        return
    since, entity = at - rules.WINDOWS[rules.AgentAnomaly(factor.name)], describe_entity(agent_id, tenant_id)
    kind = (tenant_id, entity.id, SIGNAL_SOURCE, factor.name)
    is_known = store.has_signal(tx.read_unflushed, tenant_id, entity, SIGNAL_SOURCE, factor.name, since=since) or any(
        (each.tenant_id, each.entity_id, each.source, each.signal_type) == kind
        for each in recording.NUMBERED.list_unwritten(tx)
    )
    if not is_known:
        record_agent_signal(tx, tenant_id, agent_id, session_id, factor, at=at)


def _count_refusals(tx: Transaction, caller: Caller, at: datetime) -> int:
    """Count the refusals for missing scopes within the window: those in the trail, and those of this transaction."""
    since = at - rules.PROBE_WINDOW
    unwritten = sum(
        entry.tenant_id == caller.tenant_id
        and entry.actor.actor_id == caller.actor_id
        and entry.action == ATTEMPT
        and "required_scope" in entry.metadata
        for entry in tx.buffer(audit.BUFFER)
    )
    return unwritten + store.count_refusals(tx.read_unflushed, caller.tenant_id, caller.actor_id, since=since)


def _count_events(tx: Transaction, agent_id: UUID, at: datetime) -> EventCounts:
    """Count an agent's events of the last minutes, with those that this transaction adds."""
    burst_since, error_since = at - rules.BURST_WINDOW, at - rules.ERROR_WINDOW
    added = [each for each in store.NUMBERED.list_unwritten(tx) if each.agent_id == agent_id]
    counted = store.count_recent(tx.read_unflushed, agent_id, since=error_since, burst_since=burst_since)
    burst = counted.in_burst + sum(each.occurred_at > burst_since for each in added)
    new = [each for each in added if each.occurred_at > error_since]
    errors = counted.errors + sum(each.status == rules.AgentEventStatus.ERROR.value for each in new)
    before = 0
    if burst >= rules.MIN_BURST:
        before_since = burst_since - rules.BURST_PAST
        before = store.count_between(tx.read_unflushed, agent_id, since=before_since, until=burst_since)
        before += sum(before_since < each.occurred_at <= burst_since for each in added)
    return EventCounts(burst, before, counted.total + len(new), errors)
