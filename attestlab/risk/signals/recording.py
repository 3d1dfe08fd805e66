"""Recording of signals: every path ends here, in the transaction of what caused the signal.

An escalated signal belongs to a case; the signals of entities on the allow list are not escalated.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.core.ids import new_id
from attestlab.core.records import outbox
from attestlab.risk.activity.store import Occurrence, note_activity
from attestlab.risk.enforcement import cases, lists
from attestlab.risk.events import SignalCreated, SignalEscalated
from attestlab.risk.links import LinkSource, note_links
from attestlab.risk.numbering import UNNUMBERED, NumberedRows
from attestlab.risk.rules import SIGNAL_THRESHOLD, Entity
from attestlab.risk.signals import store
from attestlab.risk.signals.store import RiskSignalRecord

NUMBERED = NumberedRows(store.signals, RiskSignalRecord)


class NewSignal(NamedTuple):
    """A signal to record; `score` is 0 to 100, `details` is JSON as stored."""

    source: str
    signal_type: str
    score: float
    entity: Entity
    details: str
    occurred_at: datetime
    event_id: UUID | None = None
    replaces: UUID | None = None


def record_signals(
    tx: Transaction, tenant_id: UUID, new: Sequence[NewSignal], *, at: datetime, is_backfill: bool = False
) -> list[RiskSignalRecord]:
    """Record signals of a tenant, publish their events, and escalate those at the tenant's threshold.

    A backfill publishes no event and escalates nothing. The returned records are not numbered yet.
    """
    recorded = record_without_events(tx, tenant_id, new, at=at, escalate=not is_backfill)
    if not is_backfill:
        for record in recorded:
            _publish(tx, record, at)
    return recorded


def record_without_events(
    tx: Transaction, tenant_id: UUID, new: Sequence[NewSignal], *, at: datetime, escalate: bool
) -> list[RiskSignalRecord]:
    """Record signals without publishing an event, and escalate those at the tenant's threshold if asked to."""
    case_of = _open_cases(tx, tenant_id, new, at) if escalate else {}
    recorded = [_build_record(tenant_id, signal, case_of.get(index), at) for index, signal in enumerate(new)]
    NUMBERED.add(tx, recorded)
    note_links(tx, map(describe_link_source, recorded))
    note_activity(tx, map(describe_occurrence, recorded))
    return recorded


def record_score(tx: Transaction, tenant_id: UUID, new: NewSignal, *, at: datetime) -> UUID | None:
    """Record what one of the service's detectors scored, if it is at least `SIGNAL_THRESHOLD`; returns the id."""
    if new.score < SIGNAL_THRESHOLD:
        return None
    (signal,) = record_signals(tx, tenant_id, [new], at=at)
    return signal.id


def describe_link_source(record: RiskSignalRecord) -> LinkSource:
    """Return what links are made of."""
    entity = (record.entity_type, record.entity_id)
    return LinkSource(record.tenant_id, record.source, *entity, record.details, record.occurred_at)


def describe_occurrence(record: RiskSignalRecord) -> Occurrence:
    """Return what activity counts."""
    return Occurrence(record.tenant_id, record.source, record.signal_type, record.score, record.occurred_at)


def _open_cases(tx: Transaction, tenant_id: UUID, new: Sequence[NewSignal], at: datetime) -> dict[int, UUID]:
    """Escalate the signals at the threshold, except those of allowed entities; returns cases by the signal's index."""
    threshold = cases.find_threshold(tx.connection, tenant_id)
    reached = [(index, signal) for index, signal in enumerate(new) if signal.score >= threshold]
    scores: defaultdict[Entity, list[float]] = defaultdict(list)
    for _, signal in reached:
        scores[signal.entity].append(signal.score)
    for entity in lists.find_allowed(tx.connection, tenant_id, list(scores), now=at):
        del scores[entity]
    opened = cases.escalate(tx, tenant_id, scores, at=at)
    return {index: opened[signal.entity] for index, signal in reached if signal.entity in opened}


def _build_record(tenant_id: UUID, signal: NewSignal, case_id: UUID | None, at: datetime) -> RiskSignalRecord:
    return RiskSignalRecord(
        seq=UNNUMBERED,
        id=new_id(at),
        tenant_id=tenant_id,
        source=signal.source,
        signal_type=signal.signal_type,
        score=signal.score,
        entity_type=signal.entity.type.value,
        entity_id=signal.entity.id,
        details=signal.details,
        occurred_at=signal.occurred_at,
        created_at=at,
        case_id=case_id,
        event_id=signal.event_id,
        replaces=signal.replaces,
    )


def _publish(tx: Transaction, record: RiskSignalRecord, at: datetime) -> None:
    created = SignalCreated(
        signal_id=record.id,
        signal_source=record.source,
        signal_type=record.signal_type,
        risk_score=math.floor(record.score),
        subject_type=record.entity_type,
        subject_id=record.entity_id,
    )
    outbox.publish(tx, record.tenant_id, created, at=at)
    if record.case_id is not None:
        outbox.publish(tx, record.tenant_id, SignalEscalated(**vars(created), case_id=record.case_id), at=at)
