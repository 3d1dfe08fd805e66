"""Queries of sources and their activity; each names its columns and binds values as parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import func, select

from attestlab.core.db.tables import Execute, fetch_all, table_of
from attestlab.core.db.upserts import Upsert
from attestlab.risk.activity.tables import RiskActivity, RiskSource, RiskSourceRecord
from attestlab.risk.rules import SCORE_CLASSES
from attestlab.risk.tallies import make_tally_upsert

sources = table_of(RiskSource)
activity = table_of(RiskActivity)
ADD_SOURCES = make_tally_upsert(sources)
ADD_ACTIVITY = Upsert(
    activity,
    key=tuple(column.name for column in activity.primary_key),
    change=lambda new: {"count": activity.c["count"] + new["count"]},
)


class Hours(NamedTuple):
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


def list_active_hours(execute: Execute, tenant_id: UUID, source: str, hours: Hours) -> Sequence[int]:
    """List the hours of a period in which a source had signals, earliest first."""
    of_source = (activity.c.tenant_id == tenant_id, activity.c.source == source)
    query = select(activity.c.hour).where(*of_source, activity.c.hour >= hours.first, activity.c.hour < hours.end)
    return list(execute(query.distinct().order_by(activity.c.hour)).scalars())


def count_by_class(
    execute: Execute, tenant_id: UUID, names: Sequence[str], hours: Hours
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
