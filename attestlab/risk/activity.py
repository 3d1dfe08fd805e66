"""What activity counts of signals, hour by hour, in the transaction of the signals; fsck derives it from them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, func, select
from sqlmodel import Field

from attestlab.core.db.tables import Execute, fetch_all, model_of, short_repr, table_of
from attestlab.core.db.transaction import Buffer, Transaction
from attestlab.core.db.upserts import Upsert
from attestlab.risk.rules import MAX_SCORE, SCORE_CLASSES
from attestlab.risk.tallies import FactTally, make_tally_upsert, tally


@short_repr
class RiskSourceRecord(NamedTuple):
    """A source of a tenant's signals; the times are those of its earliest and its latest occurrence."""

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    source: Annotated[str, Field(primary_key=True, max_length=64)]
    count: Annotated[int, Field(sa_type=BigInteger)]  # type: ignore[assignment]  # overrides tuple.count
    first_seen: datetime
    last_seen: datetime


RiskSource = model_of(RiskSourceRecord, "risk_sources")


@short_repr
class RiskActivityRecord(NamedTuple):
    """How many signals of a source and type occurred in an hour, with scores of one class.

    `hour` counts from 1970. `score_class` is the tens of the score, 0 to 9; a score of 100 belongs to 9.
    """

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    source: Annotated[str, Field(primary_key=True, max_length=64)]
    hour: Annotated[int, Field(primary_key=True)]
    signal_type: Annotated[str, Field(primary_key=True, max_length=64)]
    score_class: Annotated[int, Field(primary_key=True)]
    count: Annotated[int, Field(sa_type=BigInteger)]  # type: ignore[assignment]  # overrides tuple.count


RiskActivity = model_of(RiskActivityRecord, "risk_activity", sqlite_with_rowid=False)


sources = table_of(RiskSource)
activity = table_of(RiskActivity)
ADD_SOURCES = make_tally_upsert(sources)
ADD_ACTIVITY = Upsert(
    activity,
    key=tuple(column.name for column in activity.primary_key),
    change=lambda new: {"count": activity.c["count"] + new["count"]},
)


class HourRange(NamedTuple):
    """A period of whole hours, counted from 1970: `first` up to but excluding `end`."""

    first: int
    end: int


class SignalKind(NamedTuple):
    """The source and type of signals."""

    source: str
    signal_type: str


def list_sources(execute: Execute, tenant_id: UUID, *, after: str | None, limit: int) -> Sequence[RiskSourceRecord]:
    """List a tenant's sources by name, after the name `after`."""
    query = select(*sources.c).where(sources.c.tenant_id == tenant_id)
    if after is not None:
        query = query.where(sources.c.source > after)
    return fetch_all(execute(query.order_by(sources.c.source).limit(limit)), RiskSourceRecord)


def list_recent_sources(execute: Execute, tenant_id: UUID, *, since: datetime, limit: int) -> Sequence[str]:
    """List the names of a tenant's sources that were seen since a moment, those with most signals first."""
    query = select(sources.c.source).where(sources.c.tenant_id == tenant_id, sources.c.last_seen >= since)
    return list(execute(query.order_by(sources.c["count"].desc(), sources.c.source).limit(limit)).scalars())


def list_active_hours(execute: Execute, tenant_id: UUID, source: str, hours: HourRange) -> Sequence[int]:
    """List the hours of a period in which a source had signals, earliest first."""
    of_source = (activity.c.tenant_id == tenant_id, activity.c.source == source)
    query = select(activity.c.hour).where(*of_source, activity.c.hour >= hours.first, activity.c.hour < hours.end)
    return list(execute(query.distinct().order_by(activity.c.hour)).scalars())


def count_by_class(
    execute: Execute, tenant_id: UUID, names: Sequence[str], hours: HourRange
) -> Mapping[SignalKind, Sequence[int]]:
    """Count the signals of some sources in a period, by source and type, in each class of scores."""
    columns = activity.c
    query = select(columns.source, columns.signal_type, columns.score_class, func.sum(columns["count"])).where(
        columns.tenant_id == tenant_id, columns.source.in_(names), columns.hour >= hours.first, columns.hour < hours.end
    )
    counts: defaultdict[SignalKind, list[int]] = defaultdict(lambda: [0] * SCORE_CLASSES)
    for source, signal_type, score_class, count in execute(
        query.group_by(columns.source, columns.signal_type, columns.score_class)
    ):
        counts[SignalKind(source, signal_type)][score_class] = int(count)
    return counts


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
        hour, score_class = find_hour(self.occurred_at), find_score_class(self.score)
        return ActivityKey(self.tenant_id, self.source, hour, self.signal_type, score_class)


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
    ADD_SOURCES.run_many(tx.connection, [(*key, *sources[key]) for key in sorted(sources)])
    ADD_ACTIVITY.run_many(tx.connection, [(*key, activity[key]) for key in sorted(activity)])


def count_sources(occurrences: Iterable[Occurrence]) -> Mapping[SourceKey, FactTally]:
    """Count signals by source; those of one tenant that follow each other are looked up by texts alone."""
    counts: dict[SourceKey, FactTally] = {}
    for tenant_id, of_tenant in groupby(occurrences, key=itemgetter(0)):
        for source, found in tally((source, at) for _, source, _, _, at in of_tenant).items():
            key = SourceKey(tenant_id, source)
            counts[key] = found.merge(counts.get(key))
    return counts


def count_activity(occurrences: Iterable[Occurrence]) -> Mapping[ActivityKey, int]:
    """Count signals by source, hour, type and class; those of one tenant as `count_sources` does."""
    counts: Counter[ActivityKey] = Counter()
    for tenant_id, of_tenant in groupby(occurrences, key=itemgetter(0)):
        found: defaultdict[tuple[str, int, str, int], int] = defaultdict(int)
        for _, source, signal_type, score, at in of_tenant:
            found[source, find_hour(at), signal_type, find_score_class(score)] += 1
        counts.update({ActivityKey(tenant_id, *key): count for key, count in found.items()})
    return counts


def find_hour(moment: datetime) -> int:
    """Return the hour of a moment, counted from 1970."""
    return int(moment.timestamp() // HOUR_S)


def find_score_class(score: float) -> int:
    """Return the class of a score, of equal width; the last one includes the end of the scale."""
    return min(int(score * SCORE_CLASSES / MAX_SCORE), SCORE_CLASSES - 1)
