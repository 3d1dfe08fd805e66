"""The recent risk of an entity: what its signals and list entries say of it now, for the decisions of policies.

It is read by index, from at most `MAX_RECENT_SIGNALS` signals, because a mint waits for it under the writer's lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.risk.enforcement import store as enforcement_store
from attestlab.risk.enforcement.lists import LISTS_CHANGED
from attestlab.risk.rules import MAX_RECENT_SIGNALS, RECENT, Entity, ListName
from attestlab.risk.signals import recording
from attestlab.risk.signals import store as signal_store
from attestlab.risk.signals.store import RiskSignalRecord


class RecentRisk(NamedTuple):
    """The highest score of the last 24 hours (None without a signal), the number of signals, and the lists."""

    score: float | None
    signals: int
    is_allow_listed: bool
    is_deny_listed: bool


def read_recent_risk(execute: Execute, tenant_id: UUID, entities: Iterable[Entity], *, now: datetime) -> RecentRisk:
    """Read the risk of one thing that these entities name, in the snapshot of `execute`.

    Of each entity the newest `MAX_RECENT_SIGNALS` signals count.
    """
    found = [
        (
            *signal_store.summarize_recent(execute, tenant_id, entity, since=now - RECENT, limit=MAX_RECENT_SIGNALS),
            enforcement_store.find_lists(execute, tenant_id, entity, now=now),
        )
        for entity in entities
    ]
    return _combine([score for score, _, _ in found], sum(count for _, count, _ in found), *(each[2] for each in found))


def read_recent_risk_in(tx: Transaction, tenant_id: UUID, entities: Sequence[Entity], *, now: datetime) -> RecentRisk:
    """Read the risk as the transaction sees it, with the signals and list entries that it adds itself.

    The jobs of a transaction share what was read, until one of them adds a signal or changes a list.
    """
    if LISTS_CHANGED in tx.cache:
        recorded = read_recent_risk(tx.exec, tenant_id, entities, now=now)
    else:
        key = ("recent risk", tenant_id, *entities)
        if key not in tx.cache:
            tx.cache[key] = read_recent_risk(tx.read_unflushed, tenant_id, entities, now=now)
        recorded = tx.cache[key]
    unwritten = recording.NUMBERED.list_unwritten(tx)
    names, since = {entity.id for entity in entities}, now - RECENT
    added = [each.score for each in unwritten if each.entity_id in names and _is_of(each, tenant_id, entities, since)]
    return recorded if not added else _add_scores(recorded, added)


def _is_of(signal: RiskSignalRecord, tenant_id: UUID, entities: Sequence[Entity], since: datetime) -> bool:
    is_about = signal.tenant_id == tenant_id and (signal.entity_type, signal.entity_id) in entities
    return is_about and signal.occurred_at > since


def _add_scores(recorded: RecentRisk, scores: Sequence[float]) -> RecentRisk:
    count = min(recorded.signals + len(scores), MAX_RECENT_SIGNALS)
    return recorded._replace(score=max([*scores, recorded.score or 0.0]), signals=count)


def _combine(scores: Iterable[float | None], count: int, *lists: frozenset[str]) -> RecentRisk:
    known = [score for score in scores if score is not None]
    listed = frozenset[str]().union(*lists)
    return RecentRisk(
        max(known, default=None), min(count, MAX_RECENT_SIGNALS), ListName.ALLOW in listed, ListName.DENY in listed
    )
