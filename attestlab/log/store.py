"""Queries of the log's tables; they take and return typed records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import Connection, bindparam, func, literal_column, select, update

from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import IntegrityFailed
from attestlab.log.tables import SEGMENT_BITS, LogCheckpoint, LogCosignature, LogHead, LogLeaf, LogTile

HEAD_ID = 1
SEGMENTS_PER_QUERY = 8192
ROWS_PER_PAGE = 1024

leaves = table_of(LogLeaf)
tiles = table_of(LogTile)
checkpoints = table_of(LogCheckpoint)
cosignatures = table_of(LogCosignature)
heads = table_of(LogHead)

_HEAD: Any = select(heads.c.origin, heads.c.size, heads.c.root, heads.c.vkey, heads.c.sealed_key).where(
    heads.c.id == HEAD_ID
)
_LOCKED_HEAD = _HEAD.with_for_update()
_MOVE_HEAD = (
    update(heads)
    .where(heads.c.id == HEAD_ID, heads.c.size == bindparam("old_size"), heads.c.root == bindparam("old_root"))
    .values(size=bindparam("new_size"), root=bindparam("new_root"))
)
_CHECKPOINT_COLUMNS = (
    checkpoints.c.size,
    checkpoints.c.previous_size,
    checkpoints.c.root,
    checkpoints.c.note,
    checkpoints.c.at,
)
_CHECKPOINT: Any = select(*_CHECKPOINT_COLUMNS).where(checkpoints.c.size == bindparam("size"))
_COSIGNATURE_COLUMNS = (
    cosignatures.c.seq,
    cosignatures.c.tree_size,
    cosignatures.c.vkey,
    cosignatures.c.line,
    cosignatures.c.at,
    cosignatures.c.hash,
)
_COSIGNATURES_OF: Any = (
    select(*_COSIGNATURE_COLUMNS)
    .where(cosignatures.c.tree_size.in_(bindparam("sizes", expanding=True)))
    .order_by(cosignatures.c.seq)
)
_LEAF_COLUMNS = (leaves.c.index, leaves.c.leaf_hash, leaves.c.entry, leaves.c.kind, leaves.c.subject)
_RANGE = leaves.c.index.between(bindparam("first"), bindparam("last"))
_LEAVES: Any = select(*_LEAF_COLUMNS).where(_RANGE).order_by(leaves.c.index)
_LEAF_HASHES = select(leaves.c.leaf_hash).where(_RANGE).order_by(leaves.c.index)
_ENTRIES = select(leaves.c.entry).where(_RANGE).order_by(leaves.c.index)
_TILE = select(tiles.c.data).where(tiles.c.level == bindparam("level"), tiles.c.index == bindparam("index"))
_PLACES: Any = select(tiles.c.level, tiles.c.index).order_by(tiles.c.level, tiles.c.index)
_LAST_OF_SUBJECT: Any = (
    select(leaves.c.leaf_hash, leaves.c.entry)
    .where(leaves.c.subject == bindparam("subject"))
    .order_by(leaves.c.index.desc())
    .limit(1)
)
_OF_SUBJECT: Any = select(*_LEAF_COLUMNS).where(leaves.c.subject == bindparam("subject")).limit(1)
_NEWEST_OF_SUBJECT = _OF_SUBJECT.order_by(leaves.c.index.desc())
_FIRST_OF_SUBJECT = _OF_SUBJECT.order_by(leaves.c.index)


@dataclass(frozen=True, slots=True)
class HeadRow:
    """A row of `log_head`."""

    origin: str
    size: int
    root: bytes
    vkey: str
    sealed_key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class LeafRow:
    """A row of `log_leaves`."""

    index: int
    leaf_hash: bytes = field(repr=False)
    entry: bytes = field(repr=False)
    kind: str
    subject: str | None


class StoredLeaf(Protocol):
    """An entry with its index, ready to be inserted."""

    index: int
    leaf_hash: bytes
    entry: bytes
    kind: str
    subject: str | None


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """A row of `log_checkpoints`; `note` is the signed note, verbatim."""

    size: int
    previous_size: int | None
    root: bytes
    note: str
    at: datetime


@dataclass(frozen=True, slots=True)
class CosignatureRow:
    """A row of `log_cosignatures`; `line` is the signature line with its line feed."""

    seq: int
    tree_size: int
    vkey: str
    line: str
    at: datetime
    hash: bytes


def head(connection: Connection) -> HeadRow | None:
    """The current head; None before the log is created."""
    row: Any = connection.execute(_HEAD).first()
    return HeadRow(*row) if row else None


def lock_head(tx: Transaction) -> HeadRow | None:
    """Lock and return the head; no other transaction can move it until the commit."""
    row: Any = tx.read_unflushed(_LOCKED_HEAD).first()
    return HeadRow(*row) if row else None


def create_head(tx: Transaction, row: HeadRow) -> None:
    """Insert the head of a new log."""
    tx.add(
        heads,
        {
            "id": HEAD_ID,
            "origin": row.origin,
            "size": row.size,
            "root": row.root,
            "vkey": row.vkey,
            "sealed_key": row.sealed_key,
        },
    )


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
    tx.add(tiles, {"level": level, "index": index, "data": data})


def add_checkpoint(tx: Transaction, row: CheckpointRow) -> None:
    """Insert a signed tree head."""
    tx.add(
        checkpoints,
        {"size": row.size, "previous_size": row.previous_size, "root": row.root, "note": row.note, "at": row.at},
    )


def checkpoint(connection: Connection, size: int) -> CheckpointRow | None:
    """The checkpoint of exactly this size."""
    row = connection.execute(_CHECKPOINT, {"size": size}).first()
    return CheckpointRow(*row) if row else None


def checkpoints_before(connection: Connection, size: int, limit: int) -> list[CheckpointRow]:
    """Up to `limit` checkpoints of sizes below `size`, newest first."""
    newest = select(*_CHECKPOINT_COLUMNS).where(checkpoints.c.size < size).order_by(checkpoints.c.size.desc())
    return [CheckpointRow(*row) for row in connection.execute(newest.limit(limit))]


def all_checkpoints(connection: Connection) -> Iterator[CheckpointRow]:
    """Every checkpoint, smallest first, a page at a time."""
    page = select(*_CHECKPOINT_COLUMNS).where(checkpoints.c.size > bindparam("after")).order_by(checkpoints.c.size)
    page = page.limit(ROWS_PER_PAGE)
    rows = connection.execute(page, {"after": -1}).all()
    while rows:
        yield from (CheckpointRow(*row) for row in rows)
        rows = connection.execute(page, {"after": rows[-1].size}).all()


def add_cosignature(tx: Transaction, row: CosignatureRow) -> None:
    """Insert a cosignature."""
    tx.add(cosignatures, asdict(row))


def last_cosignature(connection: Connection, vkey: str) -> CosignatureRow | None:
    """The newest cosignature of a witness; None if it never cosigned."""
    newest = select(*_COSIGNATURE_COLUMNS).where(cosignatures.c.vkey == vkey).order_by(cosignatures.c.seq.desc())
    row = connection.execute(newest.limit(1)).first()
    return CosignatureRow(*row) if row else None


def cosignatures_of(connection: Connection, sizes: list[int]) -> Iterator[CosignatureRow]:
    """The cosignatures of the checkpoints of these sizes, in the order of their arrival."""
    for row in connection.execute(_COSIGNATURES_OF, {"sizes": sizes}):
        yield CosignatureRow(*row)


def newest_cosigners(connection: Connection, limit: int) -> Iterator[tuple[int, str]]:
    """Tree size and witness key of up to `limit` cosignatures, largest tree first."""
    wanted = select(cosignatures.c.tree_size, cosignatures.c.vkey).order_by(cosignatures.c.tree_size.desc())
    for row in connection.execute(wanted.limit(limit)):
        yield row[0], row[1]


def all_cosignatures(connection: Connection) -> Iterator[CosignatureRow]:
    """Every cosignature in order, a page at a time."""
    page = select(*_COSIGNATURE_COLUMNS).where(cosignatures.c.seq > bindparam("after")).order_by(cosignatures.c.seq)
    page = page.limit(ROWS_PER_PAGE)
    rows = connection.execute(page, {"after": -1}).all()
    while rows:
        yield from (CosignatureRow(*row) for row in rows)
        rows = connection.execute(page, {"after": rows[-1].seq}).all()


def leaf_rows(connection: Connection, first: int, count: int) -> list[LeafRow]:
    """The entries from index `first`, at most `count`."""
    found = connection.execute(_LEAVES, {"first": first, "last": first + count - 1})
    return [LeafRow(*row) for row in found]


def all_leaves(connection: Connection) -> Iterator[LeafRow]:
    """Every entry in order, a page at a time; gaps are skipped silently, so the caller must compare the indexes."""
    page = (
        select(*_LEAF_COLUMNS).where(leaves.c.index > bindparam("after")).order_by(leaves.c.index).limit(ROWS_PER_PAGE)
    )
    rows = connection.execute(page, {"after": -1}).all()
    while rows:
        yield from (LeafRow(*row) for row in rows)
        rows = connection.execute(page, {"after": rows[-1].index}).all()


def status_leaves(connection: Connection) -> Iterator[LeafRow]:
    """Every entry of every status chain, chain by chain in order, a page at a time."""
    chained = select(*_LEAF_COLUMNS).where(leaves.c.subject.is_not(None)).order_by(leaves.c.subject, leaves.c.index)
    chained = chained.limit(ROWS_PER_PAGE)
    rows = connection.execute(chained).all()
    while rows:
        yield from (LeafRow(*row) for row in rows)
        subject, index = rows[-1].subject, rows[-1].index
        later = (leaves.c.subject > subject) | ((leaves.c.subject == subject) & (leaves.c.index > index))
        rows = connection.execute(chained.where(later)).all()


def status_leaves_between(connection: Connection, first: int, end: int) -> Iterator[LeafRow]:
    """The entries of status chains from index `first` up to, not including, `end`, a page at a time."""
    page = select(*_LEAF_COLUMNS).where(leaves.c.subject.is_not(None), leaves.c.index < end).order_by(leaves.c.index)
    page = page.where(leaves.c.index >= bindparam("first")).limit(ROWS_PER_PAGE)
    while rows := [LeafRow(*row) for row in connection.execute(page, {"first": first})]:
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
    segment: Any = literal_column(f'"index" >> {SEGMENT_BITS}')
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
    data: bytes | None = connection.execute(_TILE, {"level": level, "index": index}).scalar()
    return data


def stored_tile_positions(connection: Connection) -> Iterator[tuple[int, int]]:
    """Level and index of every stored tile."""
    for row in connection.execute(_PLACES):
        yield row[0], row[1]


def duplicate_leaves(connection: Connection, *, first_byte: range) -> list[tuple[bytes, int]]:
    """Leaf hashes, beginning with one of these bytes, that occur more than once, each with its last index."""
    twice: Any = select(leaves.c.leaf_hash, func.max(leaves.c.index)).group_by(leaves.c.leaf_hash)
    twice = twice.where(leaves.c.leaf_hash >= bytes([first_byte.start])).having(func.count() > 1)
    if first_byte.stop < 256:
        twice = twice.where(leaves.c.leaf_hash < bytes([first_byte.stop]))
    return [(row[0], row[1]) for row in connection.execute(twice)]


def count_of_kind(connection: Connection, kind: str) -> int:
    """The number of entries of a kind."""
    found: int = connection.execute(select(func.count()).select_from(leaves).where(leaves.c.kind == kind)).scalar_one()
    return found


def count_of_subjects(connection: Connection, kind: str) -> int:
    """The number of status chains of a kind."""
    subjects = func.count(leaves.c.subject.distinct())
    found: int = connection.execute(select(subjects).where(leaves.c.kind == kind)).scalar_one()
    return found


def newest_of_subject(connection: Connection, subject: str) -> LeafRow | None:
    """The last entry of a subject's chain."""
    row = connection.execute(_NEWEST_OF_SUBJECT, {"subject": subject}).first()
    return None if row is None else LeafRow(*row)


def chain_of(connection: Connection, subject: str) -> list[LeafRow]:
    """Every entry of a subject's chain, in order."""
    found = select(*_LEAF_COLUMNS).where(leaves.c.subject == subject).order_by(leaves.c.index)
    return [LeafRow(*row) for row in connection.execute(found)]


def first_of_subject(connection: Connection, subject: str) -> LeafRow | None:
    """The first entry of a subject's chain."""
    row = connection.execute(_FIRST_OF_SUBJECT, {"subject": subject}).first()
    return None if row is None else LeafRow(*row)


def last_of_subject(tx: Transaction, subject: str) -> tuple[bytes, bytes] | None:
    """Leaf hash and entry of a subject's newest committed status entry."""
    row: Any = tx.read_unflushed(_LAST_OF_SUBJECT, {"subject": subject}).first()
    return (row[0], row[1]) if row else None
