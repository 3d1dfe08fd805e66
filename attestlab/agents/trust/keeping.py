"""Keeping of trust scores: the column of each agent follows what changes its evidence, in the same transaction.

Before a commit, the scores of the agents with new evidence or new risk signals are computed again, then those of the
agents below them whose cap moved. Time changes scores too, because penalties and keys age: each agent with evidence is
due again after a day, and the sweep computes it. The sweep also counts outcomes, within a minute, and does the work
beyond `MAX_KEPT_PER_WRITE` agents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from attestlab.agents import store as agent_store
from attestlab.agents.evidence import NOTED, NewEvidence
from attestlab.agents.observability import store as event_store
from attestlab.agents.rules import TrustCause, parse_agent_id
from attestlab.agents.tables import AgentRecord
from attestlab.agents.trust import store
from attestlab.agents.trust.facts import collect_facts, is_about_agent
from attestlab.agents.trust.rules import TrustScore, compute_trust
from attestlab.agents.trust.tables import TrustChangeRecord, TrustDueRecord
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.risk.numbering import UNNUMBERED
from attestlab.risk.signals import recording
from attestlab.risk.signals.store import RiskSignalRecord

MAX_KEPT_PER_WRITE: Final = 200
AGING_INTERVAL: Final = timedelta(days=1)
OUTCOMES_INTERVAL: Final = timedelta(minutes=1)
_IS_EVIDENCE: Final = frozenset({TrustCause.COMPLIANCE, TrustCause.WITNESS, TrustCause.SIGNAL, TrustCause.OUTCOMES})

Pending = dict[UUID, NewEvidence]


class _Kept(NamedTuple):
    """The score of an agent before the transaction, and after it with its cause."""

    before: float
    row: AgentRecord
    trust: TrustScore
    evidence: NewEvidence


class TrustKeeper:
    """Keeps the column `trust_score` of agents, and the history of its changes."""

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def write_scores(self, tx: Transaction) -> None:
        """Compute the scores that new evidence and signals change; a commit hook, before signals are numbered."""
        unwritten = [signal for signal in recording.NUMBERED.list_unwritten(tx) if is_about_agent(signal)]
        noted = tx.buffer(NOTED)
        if unwritten or noted:
            pending = _merge([*noted, *_list_penalized(unwritten)])
            noted.clear()
            self._keep(tx, pending, unwritten)
        reported = event_store.NUMBERED.list_unwritten(tx)
        _await_outcomes(tx, {event.agent_id for event in reported if event.reporting_session_id is None}, self.clock)

    def has_due(self) -> bool:
        """Whether a score is due, without the writer's lock."""
        with self.storage.read() as connection:
            return bool(store.find_due(connection.execute, now=self.clock.now(), limit=1))

    def write_due(self, tx: Transaction, *, at_most: int = MAX_KEPT_PER_WRITE) -> bool:
        """Compute at most `at_most` scores that are due; returns whether there may be more."""
        rows = store.find_due(tx.exec, now=self.clock.now(), limit=at_most)
        store.delete_due(tx, [row.agent_id for row in rows])
        self._keep(tx, {row.agent_id: NewEvidence(row.agent_id, TrustCause(row.cause)) for row in rows}, [])
        return len(rows) == at_most

    def _keep(self, tx: Transaction, pending: Pending, unwritten: Sequence[RiskSignalRecord]) -> None:
        now, kept = self.clock.now(), dict[UUID, _Kept]()
        while pending:
            pending = _drop_unknown(tx, pending)
            room = max(0, MAX_KEPT_PER_WRITE - len(kept))
            _postpone(tx, list(pending.values())[room:], now)
            changed = self._compute(tx, list(pending.values())[:room], unwritten, kept, now)
            pending = _list_capped(tx, changed)
        _write(tx, kept, now)

    def _compute(
        self,
        tx: Transaction,
        pending: Sequence[NewEvidence],
        unwritten: Sequence[RiskSignalRecord],
        kept: dict[UUID, _Kept],
        now: datetime,
    ) -> dict[UUID, tuple[float, float]]:
        """Compute scores and write those that changed; returns them, each with the one before."""
        rows = agent_store.list_by_ids(tx.exec, [each.agent_id for each in pending])
        known = collect_facts(tx.exec, list(rows.values()), now=now, unwritten=unwritten)
        parent_ids = {row.parent_agent_id for row in rows.values() if row.parent_agent_id is not None}
        parents = agent_store.list_by_ids(tx.exec, parent_ids)
        changed = {}
        for evidence in pending:
            if (row := rows.get(evidence.agent_id)) is None:
                continue
            parent = parents.get(row.parent_agent_id) if row.parent_agent_id else None
            facts, signals = known[row.id]
            trust = compute_trust(facts, signals=signals, parent_score=parent and parent.trust_score, now=now)
            first = kept.get(row.id)
            before = row.trust_score if first is None else first.before
            kept[row.id] = _Kept(before, row, trust, evidence if first is None else first.evidence)
            if trust.score != row.trust_score:
                changed[row.id] = (row.trust_score, trust.score)
        store.save_scores(tx, {agent_id: score for agent_id, (_, score) in changed.items()})
        return changed


def _merge(found: Iterable[NewEvidence]) -> Pending:
    """Return what is pending for each agent: the first cause that is evidence itself, else the first."""
    pending: Pending = {}
    for evidence in found:
        before = pending.get(evidence.agent_id)
        if before is None or (before.cause not in _IS_EVIDENCE and evidence.cause in _IS_EVIDENCE):
            pending[evidence.agent_id] = evidence
    return pending


def _list_penalized(signals: Iterable[RiskSignalRecord]) -> Iterable[NewEvidence]:
    """Yield the agents that signals name; what names no agent of the tenant is a signal about something else."""
    for signal in signals:
        try:
            agent_id = parse_agent_id(signal.entity_id, tenant_id=signal.tenant_id)
        except NotFound:
            continue
        yield NewEvidence(agent_id, TrustCause.SIGNAL, signal.id)


def _drop_unknown(tx: Transaction, pending: Pending) -> Pending:
    """Drop the agents that had no evidence yet and get none now: a key or a parent alone makes no score."""
    doubtful = [agent_id for agent_id, each in pending.items() if each.cause not in _IS_EVIDENCE]
    unknown = set(doubtful) - store.list_known(tx.exec, doubtful) if doubtful else set()
    return {agent_id: each for agent_id, each in pending.items() if agent_id not in unknown}


def _postpone(tx: Transaction, rest: Sequence[NewEvidence], now: datetime) -> None:
    store.set_due(tx, [TrustDueRecord(each.agent_id, now, each.cause.value) for each in rest])


def _await_outcomes(tx: Transaction, agent_ids: set[UUID], clock: Clock) -> None:
    """Let the sweep count the outcomes of agents within a minute: there may be thousands in that time."""
    if not agent_ids:
        return
    due_at = clock.now() + OUTCOMES_INTERVAL
    later = agent_ids - store.list_due(tx.exec, list(agent_ids), until=due_at)
    store.set_due(tx, [TrustDueRecord(agent_id, due_at, TrustCause.OUTCOMES.value) for agent_id in later])


def _list_capped(tx: Transaction, changed: Mapping[UUID, tuple[float, float]]) -> Pending:
    """Return the agents below whose score may not stay, because their parent's is the cap: above it, or at the old."""
    pending: Pending = {}
    for child in agent_store.list_children(tx.exec, list(changed)):
        if child.parent_agent_id is None:
            continue
        before, after = changed[child.parent_agent_id]
        if child.trust_score > after or child.trust_score == before:
            pending[child.id] = NewEvidence(child.id, TrustCause.PARENT, child.parent_agent_id)
    return pending


def _write(tx: Transaction, kept: Mapping[UUID, _Kept], now: datetime) -> None:
    """Write the changes and the first evidence of agents as history, and when each is due again."""
    if not kept:
        return
    known = store.list_known(tx.exec, list(kept))
    counted = {agent_id: each for agent_id, each in kept.items() if each.trust.evidence or each.trust.penalties}
    changes = [
        TrustChangeRecord(
            seq=UNNUMBERED,
            tenant_id=each.row.tenant_id,
            agent_id=agent_id,
            at=now,
            score=each.trust.score,
            evidence=each.trust.evidence,
            cause=each.evidence.cause.value,
            reference=each.evidence.reference,
        )
        for agent_id, each in kept.items()
        if each.trust.score != each.before or (agent_id in counted and agent_id not in known)
    ]
    store.NUMBERED.add(tx, changes)
    store.NUMBERED.write(tx)
    due_at = now + AGING_INTERVAL
    store.set_due(tx, [TrustDueRecord(agent_id, due_at, TrustCause.TIME.value) for agent_id in counted])
