"""Store of idempotency records: kept for a day, and hash-chained, so that a change or loss is detected.

A forged response would mislead a client that retries, and a lost one would let the retry act twice. Records are
deleted only from the beginning of the chain; its current beginning is stored with its end.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Connection, LargeBinary, delete, select
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import AnyRow, Transaction
from attestlab.core.records.hash_chain import Chain, link_hash, read_head, save_head

CHAIN = "answers"
BEGINNING = "answers:beginning"


class IdempotencyRecord(SQLModel, table=True):
    """A response, stored for a day under the hash of tenant, route and key."""

    __tablename__ = "remembered_answers"

    seq: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    place: bytes = Field(unique=True, sa_type=LargeBinary)
    fingerprint: bytes = Field(sa_type=LargeBinary)
    status: int
    headers: bytes = Field(sa_type=LargeBinary)
    body: bytes = Field(sa_type=LargeBinary)
    created_at: datetime
    hash: bytes = Field(sa_type=LargeBinary)


answers = table_of(IdempotencyRecord)


def chain_records(tx: Transaction) -> None:
    """Numbers and chains a transaction's records just before its commit."""
    given: list[dict[str, Any]] = tx.buffer(CHAIN)
    if not given:
        return
    chain = Chain(tx, CHAIN)
    for answer in given:
        seq, link, _ = chain.extend(linked_bytes(**answer))
        tx.add(answers, {**answer, "seq": seq, "hash": link})
    given.clear()
    chain.save(tx)


def linked_bytes(
    *, place: bytes, fingerprint: bytes, status: int, headers: bytes, body: bytes, created_at: datetime
) -> bytes:
    """Serializes the columns that a link covers: all of them.

    `place` and `fingerprint` are 32 bytes long each, and the length of the headers is included, so it is unambiguous.
    """
    prefix = f"{status} {created_at.astimezone(UTC).isoformat()} {len(headers)}\n".encode()
    return b"".join((place, fingerprint, prefix, headers, body))


def delete_expired(tx: Transaction, *, now: datetime, ttl: timedelta) -> None:
    """Deletes expired records; called once per transaction, and most calls find none.

    A record with a time in the future was stored while a clock was wrong. Its position in the chain determines its age:
    it is deleted together with the first expired record after it.
    """
    before, in_order = now - ttl, select(answers.c.seq, answers.c.created_at).order_by(answers.c.seq).limit(1)
    first = tx.read_unflushed(in_order).first()
    if first is not None and first.created_at > now:
        first = tx.read_unflushed(in_order.where(answers.c.created_at <= now)).first()
    if first is None or first.created_at >= before:
        return
    first_kept = tx.read_unflushed(in_order.where(answers.c.seq > first.seq, answers.c.created_at >= before)).first()
    if first_kept is None:
        beginning, last = read_head(tx.connection, CHAIN)
    else:
        beginning = first_kept.seq
        last = tx.read_unflushed(select(answers.c.hash).where(answers.c.seq == beginning - 1)).scalar_one()
    tx.connection.execute(delete(answers).where(answers.c.seq < beginning))
    save_head(tx.connection, BEGINNING, beginning, last)


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yields each broken link of the record chain as (place, problem)."""
    place, last = read_head(connection, BEGINNING)
    for row in connection.execution_options(yield_per=100).execute(select(*answers.c).order_by(answers.c.seq)):
        if row.seq != place or row.hash != link_hash(last, _linked_bytes_of(row)):
            yield str(row.seq), "the chain is broken here"
        place, last = row.seq + 1, row.hash
    if (place, last) != read_head(connection, CHAIN):
        yield "end", "answers are missing at the end"


def _linked_bytes_of(row: AnyRow) -> bytes:
    return linked_bytes(**{name: row._mapping[name] for name in answers.c.keys() if name not in ("seq", "hash")})  # noqa: SIM118
