"""Tallies: rows that count facts by a key. They are added to with the facts, and follow from them.

fsck derives the rows again from all facts, in parts, so that its memory is bounded by `ROWS_A_PART`. Each part reads
all facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, Table, case, func, select

from attestlab.core.db.tables import Columns
from attestlab.core.db.upserts import Upsert

RowKey = TypeVar("RowKey", bound=NamedTuple)
Key = TypeVar("Key", bound=Hashable)

ROWS_A_PART = 200_000
ROWS_PER_FETCH = 500


class FactTally(NamedTuple):
    """The facts of a key: how many, and when the earliest and the latest occurred."""

    count: int  # type: ignore[assignment]  # overrides tuple.count
    first_seen: datetime
    last_seen: datetime

    def merge(self, other: FactTally | None) -> FactTally:
        """Return the tally of these facts and others."""
        if other is None:
            return self
        first_seen, last_seen = min(self.first_seen, other.first_seen), max(self.last_seen, other.last_seen)
        return FactTally(self.count + other.count, first_seen, last_seen)


@dataclass(slots=True)
class _OpenTally:
    """The facts of a key so far."""

    count: int
    first_seen: datetime
    last_seen: datetime


def tally(sightings: Iterable[tuple[Key, datetime]]) -> dict[Key, FactTally]:
    """Count sightings, each a key and a moment, by key."""
    tallies: dict[Key, _OpenTally] = {}
    for key, at in sightings:
        known = tallies.get(key)
        if known is None:
            tallies[key] = _OpenTally(1, at, at)
            continue
        known.count += 1
        if at < known.first_seen:
            known.first_seen = at
        elif at > known.last_seen:
            known.last_seen = at
    return {key: FactTally(known.count, known.first_seen, known.last_seen) for key, known in tallies.items()}


def make_tally_upsert(table: Table) -> Upsert:
    """Return the statement that adds tallies to the rows of a table, which has their columns."""
    columns = table.c

    def merge(new: Columns) -> dict[str, object]:
        return {
            "count": columns["count"] + new["count"],
            "first_seen": case((columns.first_seen <= new.first_seen, columns.first_seen), else_=new.first_seen),
            "last_seen": case((columns.last_seen >= new.last_seen, columns.last_seen), else_=new.last_seen),
        }

    return Upsert(table, key=tuple(column.name for column in table.primary_key), change=merge)


def find_differences(
    connection: Connection,
    table: Table,
    kind: type[RowKey],
    derive: Callable[[Callable[[RowKey], bool]], Mapping[RowKey, tuple[object, ...]]],
    *,
    respell: Callable[[RowKey], RowKey | None] = lambda key: key,
) -> Iterator[tuple[str, str]]:
    """Yield the rows of a table that do not follow from the facts as (place, problem).

    The first columns of the table are those of `kind`. `derive(is_wanted)` returns the other columns by key, for the
    keys that are wanted. `respell` returns today's key of a row, or None if there is none any more; rows with one key
    count together.
    """
    parts = 1 + (connection.scalar(select(func.count()).select_from(table)) or 0) // ROWS_A_PART
    width = len(kind._fields)
    for part in range(parts):
        expected = dict(derive(partial(_is_in_part, part, parts)))
        others: defaultdict[RowKey, list[tuple[object, ...]]] = defaultdict(list)
        for row in connection.execute(select(*table.c).execution_options(yield_per=ROWS_PER_FETCH)):
            key = respell(kind._make(row[:width]))
            if key is None or not _is_in_part(part, parts, key):
                continue
            if expected.get(key) == row[width:]:
                del expected[key]
            else:
                others[key].append(tuple(row[width:]))
        for key, rows in others.items():
            if expected.pop(key, None) != _add_up(rows):
                yield _name(table, key), "does not follow from the signals and raw events"
        for key in expected:
            yield _name(table, key), "is missing"


def _add_up(rows: Sequence[tuple[object, ...]]) -> tuple[object, ...]:
    """Return the row that the rows of one key are together; one row is itself."""
    if len(rows) == 1:
        return rows[0]
    counts, firsts, lasts = zip(*map(FactTally._make, rows), strict=True)
    return sum(counts), min(firsts), max(lasts)


def _is_in_part(part: int, parts: int, key: NamedTuple) -> bool:
    if parts == 1:
        return True
    return int.from_bytes(blake2b("\n".join(map(str, key)).encode(), digest_size=8).digest()) % parts == part


def _name(table: Table, key: NamedTuple) -> str:
    return f"{table.name} {' '.join(map(str, key))}"
