"""Gapless, hash-chained sequences: the audit trail of each tenant, and the outbox.

A chain's head (length and last hash) stands in a table of its own, so that a row
taken from the end is missed just like one taken from the middle.
"""

import hashlib

from sqlalchemy import BigInteger, Connection, Integer, LargeBinary, bindparam, select
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.db.upserts import Upsert

GENESIS = bytes(32)
# On SQLite only an INTEGER key is the row's own number; any other costs a second tree.
PLACE_TYPE = BigInteger().with_variant(Integer(), "sqlite")


class ChainHead(SQLModel, table=True):
    """How long a chain is and the hash of its last link."""

    __tablename__ = "chain_heads"

    name: str = Field(primary_key=True, max_length=80)
    length: int = Field(sa_type=BigInteger)
    hash: bytes = Field(sa_type=LargeBinary)


_heads = table_of(ChainHead)
_FIND = select(_heads.c.length, _heads.c.hash).where(_heads.c.name == bindparam("name"))
_SAVE = Upsert(_heads, key=("name",), change=lambda new: {"length": new.length, "hash": new.hash})


class Chain:
    """One chain within one transaction: extend it, then `save` the new head."""

    def __init__(self, tx: Transaction, name: str) -> None:
        self.name = name
        self.length, self.hash = head_of(tx.connection, name)

    def extend(self, content: bytes) -> tuple[int, bytes, bytes]:
        """Link `content` (canonical bytes); returns its place from 0, its hash, and the hash before it."""
        place, previous = self.length, self.hash
        self.length, self.hash = place + 1, link_hash(previous, content)
        return place, self.hash, previous

    def save(self, tx: Transaction) -> None:
        """Write the head."""
        save_head(tx.connection, self.name, self.length, self.hash)


def head_of(connection: Connection, name: str) -> tuple[int, bytes]:
    """A chain's length and last hash; nothing and `GENESIS` where it has not begun."""
    found = connection.execute(_FIND, {"name": name}).first()
    return (found[0], found[1]) if found else (0, GENESIS)


def save_head(connection: Connection, name: str, length: int, last: bytes) -> None:
    """Write how long a chain is and the hash of its last link."""
    _SAVE.run(connection, {"name": name, "length": length, "hash": last})


def link_hash(previous: bytes, content: bytes) -> bytes:
    """SHA-256 over the 32 bytes before and the canonical content."""
    return hashlib.sha256(previous + content).digest()
