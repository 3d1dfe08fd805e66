"""Consistency checks of risk: the chains of signals and raw events, the signals of each case, links, and activity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Table, func, select

from attestlab.core.counting import plural
from attestlab.core.db.tables import iterate
from attestlab.risk.activity import (
    ActivityKey,
    Occurrence,
    SourceKey,
    activity,
    count_activity,
    count_sources,
    sources,
)
from attestlab.risk.enforcement.store import cases
from attestlab.risk.links import LinkKey, LinkSource, links, respell, see_links
from attestlab.risk.normalization import service as normalization
from attestlab.risk.normalization.mapping import find_source
from attestlab.risk.normalization.service import events
from attestlab.risk.signals import recording
from attestlab.risk.signals.store import signals
from attestlab.risk.tallies import ROWS_PER_FETCH, FactTally, find_differences, tally

CHAINS = (recording.NUMBERED.chain, normalization.NUMBERED.chain)


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield inconsistencies as (place, problem)."""
    for rows in (recording.NUMBERED, normalization.NUMBERED):
        for message in rows.find_breaks(connection):
            yield rows.chain, message
    yield from _find_wrong_cases(connection)
    yield from find_wrong_links(connection)
    yield from find_wrong_activity(connection)


def _find_wrong_cases(connection: Connection) -> Iterator[tuple[str, str]]:
    """Compare each case with the number and the highest score of its signals."""
    counted = select(signals.c.case_id, func.count().label("count"), func.max(signals.c.score).label("score"))
    of_case = counted.where(signals.c.case_id.is_not(None)).group_by(signals.c.case_id).subquery()
    joined = cases.outerjoin(of_case, of_case.c.case_id == cases.c.id)
    query = select(cases.c.id, cases.c.signal_count, cases.c.max_score, of_case.c.count, of_case.c.score)
    for case_id, count, score, found, highest in connection.execute(query.select_from(joined)):
        if (count, score) != (found, highest):
            yield f"case {case_id}", f"counts {plural(count, 'signal')} up to {score}, and has {found} up to {highest}"


def find_wrong_links(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield the links that do not follow from the facts as (place, problem)."""
    return find_differences(
        connection, links, LinkKey, lambda is_wanted: derive_links(connection, is_wanted), respell=respell
    )


def derive_links(connection: Connection, is_wanted: Callable[[LinkKey], bool]) -> Mapping[LinkKey, FactTally]:
    """Derive the wanted links from all facts."""
    return tally(seen for seen in _see_all(connection) if is_wanted(seen[0]))


def _see_all(connection: Connection) -> Iterator[tuple[LinkKey, datetime]]:
    yield from see_links(_read_facts(connection, signals, signals.c.source, signals.c.details))
    of_events = _read_facts(connection, events, events.c.event_type, events.c.data)
    yield from see_links(fact._replace(source=find_source(fact.source)) for fact in of_events)


def _read_facts(
    connection: Connection, table: Table, source: ColumnElement[str], details: ColumnElement[str]
) -> Iterator[LinkSource]:
    columns = (table.c.tenant_id, source, table.c.entity_type, table.c.entity_id, details, table.c.occurred_at)
    query = select(*columns).execution_options(yield_per=ROWS_PER_FETCH)
    return iterate(connection.execute(query), LinkSource)


def find_wrong_activity(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield the sources and activity that do not follow from the signals as (place, problem)."""
    yield from find_differences(
        connection,
        sources,
        SourceKey,
        lambda is_wanted: count_sources(each for each in read_occurrences(connection) if is_wanted(each.source_key)),
    )
    counted = find_differences(
        connection,
        activity,
        ActivityKey,
        lambda is_wanted: {
            key: (count,)
            for key, count in count_activity(
                each for each in read_occurrences(connection) if is_wanted(each.activity_key)
            ).items()
        },
    )
    yield from counted


def read_occurrences(connection: Connection) -> Iterator[Occurrence]:
    """Read what activity counts of all signals."""
    query = select(*(signals.c[name] for name in Occurrence._fields))
    return iterate(connection.execute(query.execution_options(yield_per=ROWS_PER_FETCH)), Occurrence)
