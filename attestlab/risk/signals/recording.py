"""Recording of signals: every path ends here, in the transaction of what caused the signal.

An escalated signal belongs to a case; the signals of entities on the allow list are not escalated.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from operator import attrgetter
from typing import NamedTuple, cast
from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.core.ids import new_ids
from attestlab.core.records import outbox
from attestlab.core.records.outbox import PublishedFacts
from attestlab.risk.activity import Occurrence, note_activity
from attestlab.risk.enforcement import cases, lists
from attestlab.risk.enforcement.cases import Escalated
from attestlab.risk.events import SignalCreated, SignalEscalated
from attestlab.risk.links import LinkSource, may_mention, note_links
from attestlab.risk.numbering import UNNUMBERED, NumberedRows
from attestlab.risk.rules import SIGNAL_THRESHOLD, Entity
from attestlab.risk.signals import store
from attestlab.risk.signals.store import RiskSignalRecord

NUMBERED = NumberedRows(store.signals, RiskSignalRecord)
# A plain tuple with the fields of an `Occurrence`, which have the same names in a record.
_get_occurrence = cast("Callable[[RiskSignalRecord], Occurrence]", attrgetter(*Occurrence._fields))


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
        outbox.publish_facts(tx, _list_events(recorded, at))
    return recorded


def record_without_events(
    tx: Transaction, tenant_id: UUID, new: Sequence[NewSignal], *, at: datetime, escalate: bool
) -> list[RiskSignalRecord]:
    """Record signals without publishing an event, and escalate those at the tenant's threshold if asked to."""
    case_of = _open_cases(tx, tenant_id, new, at) if escalate else {}
    ids = new_ids(at, len(new))
    recorded = [
        _build_record(ids[index], tenant_id, signal, case_of.get(index), at) for index, signal in enumerate(new)
    ]
    NUMBERED.add(tx, recorded)
    note_links(tx, [describe_link_source(record) for record in recorded if may_mention(record.details)])
    note_activity(tx, map(_get_occurrence, recorded))
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


def _open_cases(tx: Transaction, tenant_id: UUID, new: Sequence[NewSignal], at: datetime) -> dict[int, UUID]:
    """Escalate the signals at the threshold, except those of allowed entities; returns cases by the signal's index."""
    threshold = cases.find_threshold(tx.connection, tenant_id)
    reached = [(index, signal) for index, signal in enumerate(new) if signal.score >= threshold]
    escalated: defaultdict[Entity, list[Escalated]] = defaultdict(list)
    for _, signal in reached:
        escalated[signal.entity].append(Escalated(signal.score, f"{signal.source}/{signal.signal_type}"))
    for entity in lists.find_allowed(tx.connection, tenant_id, list(escalated), now=at):
        del escalated[entity]
    opened = cases.escalate(tx, tenant_id, escalated, at=at)
    return {index: opened[signal.entity] for index, signal in reached if signal.entity in opened}


def _build_record(
    signal_id: UUID, tenant_id: UUID, signal: NewSignal, case_id: UUID | None, at: datetime
) -> RiskSignalRecord:
    source, signal_type, score, (entity_type, entity_id), details, occurred_at, event_id, replaces = signal
    named = (tenant_id, source, signal_type, score, entity_type.value, entity_id, details)
    return RiskSignalRecord(UNNUMBERED, signal_id, *named, occurred_at, at, case_id, event_id, replaces)


def _list_events(recorded: Sequence[RiskSignalRecord], at: datetime) -> Iterator[PublishedFacts]:
    """Yield the events of signals, made of their facts, because their classes would take half of the time."""
    for record in recorded:
        facts: dict[str, object] = {
            "signal_id": record.id,
            "signal_source": record.source,
            "signal_type": record.signal_type,
            "risk_score": math.floor(record.score),
            "subject_type": record.entity_type,
            "subject_id": record.entity_id,
        }
        yield PublishedFacts(record.tenant_id, SignalCreated.type, facts, at)
        if record.case_id is not None:
            yield PublishedFacts(record.tenant_id, SignalEscalated.type, {**facts, "case_id": record.case_id}, at)
