"""Gapless hash chains: the audit trail of each tenant, and the outbox.

The head of a chain (its length and last hash) is stored in a separate table, so that a row
removed from the end is detected like one removed from the middle.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from typing import Annotated, NamedTuple

from sqlalchemy import BigInteger, Connection, Integer, bindparam, select
from sqlmodel import Field

from attestlab.core.db.foreseen_reads import ForeseenRead
from attestlab.core.db.tables import Execute, iterate, model_of, short_repr, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.db.upserts import Upsert

GENESIS = bytes(32)
# On SQLite only an INTEGER key is the rowid itself; any other type needs a second B-tree.
SEQUENCE_TYPE = BigInteger().with_variant(Integer(), "sqlite")


@short_repr
class ChainHeadRecord(NamedTuple):
    """The head of a chain: its length and the hash of its last link."""

    name: Annotated[str, Field(primary_key=True, max_length=80)]
    length: Annotated[int, Field(sa_type=BigInteger)]
    hash: bytes


ChainHead = model_of(ChainHeadRecord, "chain_heads")
_heads = table_of(ChainHead)
_FIND = select(_heads.c.length, _heads.c.hash).where(_heads.c.name == bindparam("name"))
_FIND_ALL = select(*_heads.c).where(_heads.c.name.in_(bindparam("names", expanding=True)))
_SAVE = Upsert(_heads, key=("name",), change=lambda new: {"length": new.length, "hash": new.hash})


class Chain:
    """A chain within one transaction: extend it, then `save` the new head."""

    def __init__(self, tx: Transaction, name: str, *, head: ChainHeadRecord | None = None) -> None:
        self.name = name
        self.length, self.hash = read_head(tx.connection, name) if head is None else head[1:]

    def extend(self, content: bytes) -> tuple[int, bytes, bytes]:
        """Append `content` (canonical bytes); returns its index from 0, its hash, and the previous hash."""
        index, previous = self.length, self.hash
        self.length, self.hash = index + 1, link_hash(previous, content)
        return index, self.hash, previous

    def save(self, tx: Transaction) -> None:
        """Write the new head."""
        save_head(tx.connection, self.name, self.length, self.hash)


def open_chains(tx: Transaction, names: Sequence[str]) -> list[Chain]:
    """Open several chains with one query, which on PostgreSQL also reads the other heads that `HEADS` foresees."""
    found = HEADS.get_all(tx, names)
    return [
        Chain(tx, name, head=head or ChainHeadRecord(name, 0, GENESIS)) for name, head in zip(names, found, strict=True)
    ]


def save_chains(tx: Transaction, chains: Iterable[Chain]) -> None:
    """Let the transaction write the new heads, those of all hooks with one statement."""
    for chain in chains:
        head = ChainHeadRecord(chain.name, chain.length, chain.hash)
        HEADS.replace(tx, chain.name, head)
        tx.add_last(_SAVE, head._asdict())


def _find_head(execute: Execute, name: str) -> ChainHeadRecord | None:
    head = execute(_FIND, {"name": name}).first()
    return None if head is None else ChainHeadRecord(name, *head)


def _find_heads(execute: Execute, names: Collection[str]) -> dict[str, ChainHeadRecord]:
    return {row.name: row for row in iterate(execute(_FIND_ALL, {"names": list(names)}), ChainHeadRecord)}


HEADS = ForeseenRead("chain heads", find=_find_head, find_all=_find_heads)


def read_head(connection: Connection, name: str) -> tuple[int, bytes]:
    """Return a chain's length and last hash; 0 and `GENESIS` for an empty chain."""
    head = connection.execute(_FIND, {"name": name}).first()
    return (head[0], head[1]) if head else (0, GENESIS)


def save_head(connection: Connection, name: str, length: int, last: bytes) -> None:
    """Write the length of a chain and the hash of its last link."""
    _SAVE.run(connection, {"name": name, "length": length, "hash": last})


def link_hash(previous: bytes, content: bytes) -> bytes:
    """Return the SHA-256 over the previous hash (32 bytes) and the canonical content."""
    return hashlib.sha256(previous + content).digest()
