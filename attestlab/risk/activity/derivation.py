"""Sources and activity as they follow from all recorded signals: for fsck."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, select

from attestlab.core.db.tables import iterate
from attestlab.risk.activity.recording import ActivityKey, Occurrence, SourceKey, count_activity, count_sources
from attestlab.risk.activity.store import activity, sources
from attestlab.risk.signals.store import signals
from attestlab.risk.tallies import ROWS_PER_FETCH, find_differences


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
