"""Links as they follow from all recorded signals and raw events: for fsck."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Table, select

from attestlab.core.db.tables import iterate
from attestlab.risk.links.mentions import Fact, LinkKey, respell
from attestlab.risk.links.recording import see_links
from attestlab.risk.links.store import links
from attestlab.risk.normalization.mapping import find_source
from attestlab.risk.normalization.store import events
from attestlab.risk.signals.store import signals
from attestlab.risk.tallies import ROWS_PER_FETCH, FactTally, find_differences, tally


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
) -> Iterator[Fact]:
    columns = (table.c.tenant_id, source, table.c.entity_type, table.c.entity_id, details, table.c.occurred_at)
    query = select(*columns).execution_options(yield_per=ROWS_PER_FETCH)
    return iterate(connection.execute(query), Fact)
