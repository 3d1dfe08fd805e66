"""Counts of the items that accounts have, changed with the items themselves and written once a transaction."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, func, select

from attestlab.consumer.inbox.rules import ReadState
from attestlab.consumer.inbox.store import items
from attestlab.consumer.inbox.tables import InboxCount, InboxCountRecord
from attestlab.core.db.tables import Execute, fetch_one, table_of
from attestlab.core.db.transaction import Buffer, Transaction
from attestlab.core.db.upserts import Upsert

counts = table_of(InboxCount)


class CountChange(NamedTuple):
    """How many more items of a read state an account has."""

    user_id: UUID
    read_state: ReadState
    by: int


BUFFER = Buffer[CountChange]("inbox counts")
_COLUMNS = {ReadState.UNREAD: "unread", ReadState.READ: "read", ReadState.ARCHIVED: "archived"}
_ADD = Upsert(
    counts,
    key=("user_id",),
    change=lambda new: {name: counts.c[name] + new[name] for name in _COLUMNS.values()},
)


def count_item(tx: Transaction, user_id: UUID, read_state: ReadState, *, by: int = 1) -> None:
    """Count more items of an account, or fewer, if and only if the transaction commits."""
    tx.buffer(BUFFER).append(CountChange(user_id, read_state, by))


def write_counts(tx: Transaction) -> None:
    """Write the counts of a transaction just before its commit."""
    changes = tx.buffer(BUFFER)
    if not changes:
        return
    sums: defaultdict[UUID, Counter[str]] = defaultdict(Counter)
    for user_id, read_state, by in changes:
        sums[user_id][_COLUMNS[read_state]] += by
    for user_id, of_states in sums.items():
        row = InboxCountRecord(user_id, *(of_states[name] for name in _COLUMNS.values()))
        tx.add_last(_ADD, row._asdict())
    changes.clear()


def get_counts(execute: Execute, user_id: UUID) -> dict[ReadState, int]:
    """Return how many items of each read state an account has."""
    found = fetch_one(execute(select(*counts.c).where(counts.c.user_id == user_id)), InboxCountRecord)
    return {state: 0 if found is None else getattr(found, name) for state, name in _COLUMNS.items()}


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield the accounts whose counts differ from their items, and items that no account can have read."""
    unread = ReadState.UNREAD.value
    unowned = select(items.c.id, items.c.read_state).where(items.c.user_id.is_(None), items.c.read_state != unread)
    for item_id, read_state in connection.execute(unowned):
        yield str(item_id), f"its read state is {read_state}, but no account has the item, so it is {unread}"
    grouped = select(items.c.user_id, items.c.read_state, func.count()).where(items.c.user_id.is_not(None))
    expected: defaultdict[UUID, Counter[str]] = defaultdict(Counter)
    for user_id, read_state, count in connection.execute(grouped.group_by(items.c.user_id, items.c.read_state)):
        expected[user_id][_COLUMNS[ReadState(read_state)]] = count
    for row in map(InboxCountRecord._make, connection.execute(select(*counts.c))):
        wanted = expected.pop(row.user_id, Counter())
        if any(getattr(row, name) != wanted[name] for name in _COLUMNS.values()):
            yield str(row.user_id), "the count of its items differs from the items"
    for user_id in expected:
        yield str(user_id), "it has items that are not counted"
