"""Recording of activity, in the transaction of the signals that it counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from attestlab.core.db.transaction import Buffer, Transaction
from attestlab.risk.activity import store
from attestlab.risk.rules import MAX_SCORE, SCORE_CLASSES
from attestlab.risk.tallies import FactTally, tally

HOUR_S = 3_600


class Occurrence(NamedTuple):
    """What activity counts of a signal."""

    tenant_id: UUID
    source: str
    signal_type: str
    score: float
    occurred_at: datetime

    @property
    def source_key(self) -> SourceKey:
        """The row of its source."""
        return SourceKey(self.tenant_id, self.source)

    @property
    def activity_key(self) -> ActivityKey:
        """The row of activity that counts it."""
        score_class = min(int(self.score * SCORE_CLASSES / MAX_SCORE), SCORE_CLASSES - 1)
        return ActivityKey(self.tenant_id, self.source, find_hour(self.occurred_at), self.signal_type, score_class)


class SourceKey(NamedTuple):
    """The key of a source."""

    tenant_id: UUID
    source: str


class ActivityKey(NamedTuple):
    """The key of activity: a source in an hour, by type and class of score."""

    tenant_id: UUID
    source: str
    hour: int
    signal_type: str
    score_class: int


_OCCURRENCES = Buffer[Occurrence]("risk_activity")


def note_activity(tx: Transaction, occurrences: Iterable[Occurrence]) -> None:
    """Remember signals until the commit."""
    tx.buffer(_OCCURRENCES).extend(occurrences)


def write_activity(tx: Transaction) -> None:
    """Count a transaction's signals, one row a source and one a source, hour, type and class; a commit hook."""
    noted = tx.buffer(_OCCURRENCES)
    if not noted:
        return
    sources, activity = count_sources(noted), count_activity(noted)
    noted.clear()
    tx.flush()
    store.ADD_SOURCES.run_many(tx.connection, [{**key._asdict(), **sources[key]._asdict()} for key in sorted(sources)])
    counted = [{**key._asdict(), "count": activity[key]} for key in sorted(activity)]
    store.ADD_ACTIVITY.run_many(tx.connection, counted)


def count_sources(occurrences: Iterable[Occurrence]) -> Mapping[SourceKey, FactTally]:
    """Count signals by source."""
    return tally((each.source_key, each.occurred_at) for each in occurrences)


def count_activity(occurrences: Iterable[Occurrence]) -> Mapping[ActivityKey, int]:
    """Count signals by source, hour, type and class."""
    return Counter(each.activity_key for each in occurrences)


def find_hour(moment: datetime) -> int:
    """Return the hour of a moment, counted from 1970."""
    return int(moment.timestamp() // HOUR_S)
