"""Facts of trust: what the records say of agents, without what they reported about themselves (CONTRACT 11.11)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import select

from attestlab.agents import store as agent_store
from attestlab.agents.compliance import store as compliance_store
from attestlab.agents.observability import store as event_store
from attestlab.agents.rules import SIGNAL_SOURCE, format_agent_id
from attestlab.agents.tables import AgentRecord
from attestlab.agents.trust.rules import RiskFact, TrustFacts
from attestlab.agents.witnessing import store as vote_store
from attestlab.core.db.tables import Execute, fetch_all
from attestlab.issuers.rules import KeyStatus
from attestlab.risk.rules import EntityType
from attestlab.risk.signals.store import RiskSignalRecord, signals

OUTCOME_WINDOW: Final = timedelta(days=30)
MAX_PENALTIES: Final = 100
PENALTY_WINDOW: Final = timedelta(days=140)  # ten half-lives: less than a thousandth is left of any penalty


class KnownOfAgent(NamedTuple):
    """All that the formula needs of an agent but its parent's score."""

    facts: TrustFacts
    signals: Sequence[RiskFact]


class _Key(NamedTuple):
    kid: str
    status: str
    created_at: datetime


def collect_facts(
    execute: Execute, rows: Sequence[AgentRecord], *, now: datetime, unwritten: Sequence[RiskSignalRecord] = ()
) -> dict[UUID, KnownOfAgent]:
    """Collect the facts of agents, at most `IDS_PER_QUERY`; `unwritten` are signals that the transaction has added."""
    ids = [row.id for row in rows]
    last_checks = compliance_store.find_last_checks(execute, ids)
    counts = compliance_store.count_checks(execute, ids)
    keys = _find_keys(execute, rows)
    found = {}
    for row in rows:
        check, key = last_checks.get(row.id), keys[row.key_id]
        outcomes = event_store.count_outcomes(execute, row.id, now - OUTCOME_WINDOW)
        decisions = vote_store.count_decisions(execute, row.id)
        facts = TrustFacts(
            key_age=max(timedelta(0), now - key.created_at),
            key_is_compromised=key.status == KeyStatus.COMPROMISED,
            delegation_depth=row.delegation_depth,
            checks=counts.get(row.id, 0),
            passed_controls=0 if check is None else check.passed_controls,
            asked_controls=0 if check is None else check.asked_controls,
            succeeded_events=outcomes.ok,
            events=outcomes.ok + outcomes.failed,
            confirmed_requests=decisions.confirmed,
            decided_requests=decisions.decided,
        )
        found[row.id] = KnownOfAgent(facts, _list_signals(execute, row, unwritten, now))
    return found


def is_about_agent(signal: RiskSignalRecord) -> bool:
    """Whether a signal can be a penalty of an agent."""
    return signal.source == SIGNAL_SOURCE and signal.entity_type == EntityType.USER


def _find_keys(execute: Execute, rows: Sequence[AgentRecord]) -> dict[str, _Key]:
    columns = agent_store.keys.c
    query = select(columns.kid, columns.status, columns.created_at).where(columns.kid.in_([row.key_id for row in rows]))
    return {key.kid: key for key in fetch_all(execute(query), _Key)}


def _list_signals(
    execute: Execute, row: AgentRecord, unwritten: Sequence[RiskSignalRecord], now: datetime
) -> Sequence[RiskFact]:
    """List the risk signals about an agent that count, the highest first: low ones in a flood hide no high one."""
    name = format_agent_id(row.id, row.tenant_id)
    of_agent = (
        signals.c.tenant_id == row.tenant_id,
        signals.c.entity_type == EntityType.USER.value,
        signals.c.entity_id == name,
        signals.c.source == SIGNAL_SOURCE,
        signals.c.occurred_at > now - PENALTY_WINDOW,
    )
    highest_first = select(*signals.c).where(*of_agent).order_by(signals.c.score.desc(), signals.c.seq.desc())
    added = [each for each in unwritten if (each.tenant_id, each.entity_id) == (row.tenant_id, name)]
    found = [*added, *fetch_all(execute(highest_first.limit(MAX_PENALTIES)), RiskSignalRecord)]
    replaced = {each.replaces for each in found}
    counted = sorted((each for each in found if each.id not in replaced), key=lambda each: -each.score)
    return [RiskFact(each.id, each.score, each.occurred_at) for each in counted[:MAX_PENALTIES]]
