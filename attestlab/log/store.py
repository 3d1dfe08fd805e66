"""Queries of the log's tables; they take and return typed records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from sqlalchemy import ColumnElement, Connection, bindparam, func, literal_column, select, update

from attestlab.core.db.tables import Execute, fetch_all, fetch_one, iterate, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import IntegrityFailed
from attestlab.log.tables import (
    SEGMENT_BITS,
    LogCheckpoint,
    LogCheckpointRecord,
    LogCosignature,
    LogCosignatureRecord,
    LogHead,
    LogHeadRecord,
    LogLeaf,
    LogLeafRecord,
    LogTile,
    LogTileRecord,
)

HEAD_ID = 1
SEGMENTS_PER_QUERY = 8192
ROWS_PER_PAGE = 1024

leaves = table_of(LogLeaf)
tiles = table_of(LogTile)
checkpoints = table_of(LogCheckpoint)
cosignatures = table_of(LogCosignature)
heads = table_of(LogHead)

_HEAD = select(*heads.c).where(heads.c.id == HEAD_ID)
_LOCKED_HEAD = _HEAD.with_for_update()
_MOVE_HEAD = (
    update(heads)
    .where(heads.c.id == HEAD_ID, heads.c.size == bindparam("old_size"), heads.c.root == bindparam("old_root"))
    .values(size=bindparam("new_size"), root=bindparam("new_root"))
)
_CHECKPOINT = select(*checkpoints.c).where(checkpoints.c.size == bindparam("size"))
_CHECKPOINT_WITHIN = (
    select(*checkpoints.c).where(checkpoints.c.size <= bindparam("size")).order_by(checkpoints.c.size.desc()).limit(1)
)
_NEWEST_CHECKPOINT = select(*checkpoints.c).order_by(checkpoints.c.size.desc()).limit(1)
_COSIGNATURES_OF = (
    select(*cosignatures.c)
    .where(cosignatures.c.tree_size.in_(bindparam("sizes", expanding=True)))
    .order_by(cosignatures.c.seq)
)
_RANGE = leaves.c.index.between(bindparam("first"), bindparam("last"))
_LEAVES = select(*leaves.c).where(_RANGE).order_by(leaves.c.index)
_LEAF_HASHES = select(leaves.c.leaf_hash).where(_RANGE).order_by(leaves.c.index)
_ENTRIES = select(leaves.c.entry).where(_RANGE).order_by(leaves.c.index)
_TILE = select(tiles.c.data).where(tiles.c.level == bindparam("level"), tiles.c.index == bindparam("index"))
_PLACES = select(tiles.c.level, tiles.c.index).order_by(tiles.c.level, tiles.c.index)
_LAST_OF_SUBJECT = (
    select(leaves.c.leaf_hash, leaves.c.entry)
    .where(leaves.c.subject == bindparam("subject"))
    .order_by(leaves.c.index.desc())
    .limit(1)
)
_OF_SUBJECT = select(*leaves.c).where(leaves.c.subject == bindparam("subject")).limit(1)
_NEWEST_OF_SUBJECT = _OF_SUBJECT.order_by(leaves.c.index.desc())
_FIRST_OF_SUBJECT = _OF_SUBJECT.order_by(leaves.c.index)


class StoredLeaf(Protocol):
    """An entry with its index, ready to be inserted."""

    index: int
    leaf_hash: bytes
    entry: bytes
    kind: str
    subject: str | None


class ChainEnd(NamedTuple):
    """The newest status entry of a subject."""

    leaf_hash: bytes
    entry: bytes


def head(connection: Connection) -> LogHeadRecord | None:
    """The current head; None before the log is created."""
    return fetch_one(connection.execute(_HEAD), LogHeadRecord)


def lock_head(execute: Execute) -> LogHeadRecord | None:
    """Lock and return the head; no other transaction can move it until the commit."""
    return fetch_one(execute(_LOCKED_HEAD), LogHeadRecord)


def create_head(tx: Transaction, row: LogHeadRecord) -> None:
    """Insert the head of a new log."""
    tx.add(heads, row)


def move_head(tx: Transaction, *, old: tuple[int, bytes], new: tuple[int, bytes]) -> bool:
    """Move the head by compare-and-set on (size, root); False if another writer moved it since it was read."""
    values = {"old_size": old[0], "old_root": old[1], "new_size": new[0], "new_root": new[1]}
    return tx.exec(_MOVE_HEAD, values).rowcount == 1


def set_sealed_key(tx: Transaction, sealed: bytes) -> None:
    """Replace the log's sealed private key, after it was sealed under another key-encryption key."""
    tx.exec(update(heads).where(heads.c.id == HEAD_ID).values(sealed_key=sealed))


def add_leaf(tx: Transaction, row: StoredLeaf) -> None:
    """Insert an entry."""
    tx.add(
        leaves,
        {
            "index": row.index,
            "leaf_hash": row.leaf_hash,
            "entry": row.entry,
            "kind": str(row.kind),  # a plain str: SQLite's driver would look up an adapter for an enum member
            "subject": row.subject,
        },
    )


def add_tile(tx: Transaction, level: int, index: int, data: bytes) -> None:
    """Insert a full tile."""
    tx.add(tiles, LogTileRecord(level, index, data))


def add_checkpoint(tx: Transaction, row: LogCheckpointRecord) -> None:
    """Insert a signed tree head."""
    tx.add(checkpoints, row)


def checkpoint(connection: Connection, size: int) -> LogCheckpointRecord | None:
    """The checkpoint of exactly this size."""
    return fetch_one(connection.execute(_CHECKPOINT, {"size": size}), LogCheckpointRecord)


def checkpoints_before(connection: Connection, size: int, limit: int) -> list[LogCheckpointRecord]:
    """Up to `limit` checkpoints of sizes below `size`, newest first."""
    newest = select(*checkpoints.c).where(checkpoints.c.size < size).order_by(checkpoints.c.size.desc())
    return fetch_all(connection.execute(newest.limit(limit)), LogCheckpointRecord)


def newest_checkpoint_within(connection: Connection, size: int) -> LogCheckpointRecord | None:
    """The checkpoint of the largest size up to `size`; None if the log begins beyond it."""
    return fetch_one(connection.execute(_CHECKPOINT_WITHIN, {"size": size}), LogCheckpointRecord)


def newest_checkpoint(execute: Execute) -> LogCheckpointRecord | None:
    """The checkpoint of the largest size; None before the log is created."""
    return fetch_one(execute(_NEWEST_CHECKPOINT), LogCheckpointRecord)


def all_checkpoints(connection: Connection) -> Iterator[LogCheckpointRecord]:
    """Every checkpoint, smallest first, a page at a time."""
    page = select(*checkpoints.c).where(checkpoints.c.size > bindparam("after")).order_by(checkpoints.c.size)
    page = page.limit(ROWS_PER_PAGE)
    after = -1
    while rows := fetch_all(connection.execute(page, {"after": after}), LogCheckpointRecord):
        yield from rows
        after = rows[-1].size


def add_cosignature(tx: Transaction, row: LogCosignatureRecord) -> None:
    """Insert a cosignature."""
    tx.add(cosignatures, row)


def last_cosignature(connection: Connection, vkey: str) -> LogCosignatureRecord | None:
    """The newest cosignature of a witness; None if it never cosigned."""
    newest = select(*cosignatures.c).where(cosignatures.c.vkey == vkey).order_by(cosignatures.c.seq.desc())
    return fetch_one(connection.execute(newest.limit(1)), LogCosignatureRecord)


def cosignatures_of(connection: Connection, sizes: list[int]) -> Iterator[LogCosignatureRecord]:
    """The cosignatures of the checkpoints of these sizes, in the order of their arrival."""
    return iterate(connection.execute(_COSIGNATURES_OF, {"sizes": sizes}), LogCosignatureRecord)


def newest_cosigners(connection: Connection, limit: int) -> Iterator[tuple[int, str]]:
    """Tree size and witness key of up to `limit` cosignatures, largest tree first."""
    wanted = select(cosignatures.c.tree_size, cosignatures.c.vkey).order_by(cosignatures.c.tree_size.desc())
    for row in connection.execute(wanted.limit(limit)):
        yield row[0], row[1]


def all_cosignatures(connection: Connection) -> Iterator[LogCosignatureRecord]:
    """Every cosignature in order, a page at a time."""
    page = select(*cosignatures.c).where(cosignatures.c.seq > bindparam("after")).order_by(cosignatures.c.seq)
    page = page.limit(ROWS_PER_PAGE)
    after = -1
    while rows := fetch_all(connection.execute(page, {"after": after}), LogCosignatureRecord):
        yield from rows
        after = rows[-1].seq


def leaf_rows(connection: Connection, first: int, count: int) -> list[LogLeafRecord]:
    """The entries from index `first`, at most `count`."""
    return fetch_all(connection.execute(_LEAVES, {"first": first, "last": first + count - 1}), LogLeafRecord)


def all_leaves(connection: Connection) -> Iterator[LogLeafRecord]:
    """Every entry in order, a page at a time; gaps are skipped silently, so the caller must compare the indexes."""
    page = select(*leaves.c).where(leaves.c.index > bindparam("after")).order_by(leaves.c.index).limit(ROWS_PER_PAGE)
    after = -1
    while rows := fetch_all(connection.execute(page, {"after": after}), LogLeafRecord):
        yield from rows
        after = rows[-1].index


def status_leaves(connection: Connection) -> Iterator[LogLeafRecord]:
    """Every entry of every status chain, chain by chain in order, a page at a time."""
    chained = select(*leaves.c).where(leaves.c.subject.is_not(None)).order_by(leaves.c.subject, leaves.c.index)
    chained = chained.limit(ROWS_PER_PAGE)
    rows = fetch_all(connection.execute(chained), LogLeafRecord)
    while rows:
        yield from rows
        subject, index = rows[-1].subject, rows[-1].index
        later = (leaves.c.subject > subject) | ((leaves.c.subject == subject) & (leaves.c.index > index))
        rows = fetch_all(connection.execute(chained.where(later)), LogLeafRecord)


def status_leaves_between(connection: Connection, first: int, end: int) -> Iterator[LogLeafRecord]:
    """The entries of status chains from index `first` up to, not including, `end`, a page at a time."""
    page = select(*leaves.c).where(leaves.c.subject.is_not(None), leaves.c.index < end).order_by(leaves.c.index)
    page = page.where(leaves.c.index >= bindparam("first")).limit(ROWS_PER_PAGE)
    while rows := fetch_all(connection.execute(page, {"first": first}), LogLeafRecord):
        yield from rows
        first = rows[-1].index + 1


def leaf_hashes(connection: Connection, first: int, end: int) -> list[bytes]:
    """The leaf hashes from index `first` up to, not including, `end`.

    Raises:
        IntegrityFailed: some are missing.
    """
    found = list(connection.execute(_LEAF_HASHES, {"first": first, "last": end - 1}).scalars())
    return _require_complete(found, first, end)


def entry_bytes(connection: Connection, first: int, end: int) -> list[bytes]:
    """The entries from index `first` up to, not including, `end`.

    Raises:
        IntegrityFailed: some are missing.
    """
    found = list(connection.execute(_ENTRIES, {"first": first, "last": end - 1}).scalars())
    return _require_complete(found, first, end)


def _require_complete(found: list[bytes], first: int, end: int) -> list[bytes]:
    if len(found) != end - first:
        raise IntegrityFailed(f"Entries between {first} and {end} are missing; run `attestlab log fsck`.")
    return found


def index_of(connection: Connection, leaf_hash: bytes, size: int) -> int | None:
    """The index of the first leaf with this hash among the first `size`; one probe of the index per segment."""
    segment: ColumnElement[int] = literal_column(f'"index" >> {SEGMENT_BITS}')
    last = size >> SEGMENT_BITS
    for start in range(0, last + 1, SEGMENTS_PER_QUERY):
        segments = list(range(start, min(start + SEGMENTS_PER_QUERY, last + 1)))
        probe = select(func.min(leaves.c.index)).where(
            segment.in_(segments), leaves.c.leaf_hash == bindparam("leaf_hash")
        )
        found: int | None = connection.execute(probe, {"leaf_hash": leaf_hash}).scalar()
        if found is not None and found < size:
            return found
    return None


def tile(connection: Connection, level: int, index: int) -> bytes:
    """The 8,192 bytes of a full tile.

    Raises:
        IntegrityFailed: it is missing.
    """
    data: bytes | None = connection.execute(_TILE, {"level": level, "index": index}).scalar()
    if data is None:
        raise IntegrityFailed(f"The full tile {level}/{index} is missing; run `attestlab log fsck`.")
    return data


def find_tile(connection: Connection, level: int, index: int) -> bytes | None:
    """A full tile as stored; None if it is missing."""
    return connection.execute(_TILE, {"level": level, "index": index}).scalar()


def stored_tile_positions(connection: Connection) -> Iterator[tuple[int, int]]:
    """Level and index of every stored tile."""
    for row in connection.execute(_PLACES):
        yield row[0], row[1]


def duplicate_leaves(connection: Connection, *, first_byte: range) -> list[tuple[bytes, int]]:
    """Leaf hashes, beginning with one of these bytes, that occur more than once, each with its last index."""
    twice = select(leaves.c.leaf_hash, func.max(leaves.c.index)).group_by(leaves.c.leaf_hash)
    twice = twice.where(leaves.c.leaf_hash >= bytes([first_byte.start])).having(func.count() > 1)
    if first_byte.stop < 256:
        twice = twice.where(leaves.c.leaf_hash < bytes([first_byte.stop]))
    return [(row[0], row[1]) for row in connection.execute(twice)]


def count_of_kind(connection: Connection, kind: str) -> int:
    """The number of entries of a kind."""
    return connection.execute(select(func.count()).select_from(leaves).where(leaves.c.kind == kind)).scalar_one()


def count_of_subjects(connection: Connection, kind: str) -> int:
    """The number of status chains of a kind."""
    subjects = func.count(leaves.c.subject.distinct())
    return connection.execute(select(subjects).where(leaves.c.kind == kind)).scalar_one()


def newest_of_subject(connection: Connection, subject: str) -> LogLeafRecord | None:
    """The last entry of a subject's chain."""
    return fetch_one(connection.execute(_NEWEST_OF_SUBJECT, {"subject": subject}), LogLeafRecord)


def chain_of(connection: Connection, subject: str) -> list[LogLeafRecord]:
    """Every entry of a subject's chain, in order."""
    found = select(*leaves.c).where(leaves.c.subject == subject).order_by(leaves.c.index)
    return fetch_all(connection.execute(found), LogLeafRecord)


def first_of_subject(connection: Connection, subject: str) -> LogLeafRecord | None:
    """The first entry of a subject's chain."""
    return fetch_one(connection.execute(_FIRST_OF_SUBJECT, {"subject": subject}), LogLeafRecord)


def last_of_subject(tx: Transaction, subject: str) -> ChainEnd | None:
    """Return the newest committed status entry of a subject, with its leaf hash."""
    return fetch_one(tx.read_unflushed(_LAST_OF_SUBJECT, {"subject": subject}), ChainEnd)
