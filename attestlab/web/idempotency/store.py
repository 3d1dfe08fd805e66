"""Store of idempotency records: kept for a day, and hash-chained, so that a change or loss is detected.

A forged response would mislead a client that retries, and a lost one would let the retry act twice. Records are
deleted only from the beginning of the chain; its current beginning is stored with its end.
"""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Annotated, NamedTuple

from sqlalchemy import BigInteger, Row, bindparam, delete, select
from sqlmodel import Field

from attestlab.core.db.foreseen_reads import ForeseenQuery, ForeseenRead
from attestlab.core.db.tables import Execute, iterate, model_of, short_repr, table_of
from attestlab.core.db.transaction import Buffer, Transaction
from attestlab.core.records.hash_chain import HEADS, open_chains, read_head, save_chains, save_head

CHAIN = "answers"
BEGINNING = "answers:beginning"


@short_repr
class StoredResponseRecord(NamedTuple):
    """A response, stored for a day under the hash of tenant, route and key."""

    seq: Annotated[int, Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})]
    place: Annotated[bytes, Field(unique=True)]
    fingerprint: bytes
    status: int
    headers: bytes
    body: bytes
    created_at: datetime
    hash: bytes


StoredResponse = model_of(StoredResponseRecord, "remembered_answers")


@short_repr
class ChainedResponse(NamedTuple):
    """The columns of a stored response that its link in the chain covers: all but its number and the link itself."""

    place: bytes
    fingerprint: bytes
    status: int
    headers: bytes
    body: bytes
    created_at: datetime

    def linked_bytes(self) -> bytes:
        """Serialize the columns.

        `place` and `fingerprint` are 32 bytes long each, and the length of the headers is included, so it is
        unambiguous.
        """
        prefix = f"{self.status} {self.created_at.astimezone(UTC).isoformat()} {len(self.headers)}\n".encode()
        return b"".join((self.place, self.fingerprint, prefix, self.headers, self.body))


answers = table_of(StoredResponse)
_BY_RECORD_ID = select(
    answers.c.place, answers.c.fingerprint, answers.c.status, answers.c.headers, answers.c.body, answers.c.created_at
).where(answers.c.place.in_(bindparam("record_ids", expanding=True)))
_IN_ORDER = select(answers.c.seq, answers.c.created_at).order_by(answers.c.seq).limit(1)
BUFFER = Buffer[ChainedResponse]("stored responses")


def find_response(execute: Execute, record_id: bytes) -> ChainedResponse | None:
    """Find the response that is stored under an id."""
    return find_responses(execute, [record_id]).get(record_id)


def find_responses(execute: Execute, record_ids: Collection[bytes]) -> dict[bytes, ChainedResponse]:
    """Find the responses that are stored under these ids."""
    found = iterate(execute(_BY_RECORD_ID, {"record_ids": list(record_ids)}), ChainedResponse)
    return {row.place: row for row in found}


def find_oldest(execute: Execute) -> Row[tuple[int, datetime]] | None:
    """Find number and time of the response that was stored first."""
    return execute(_IN_ORDER).first()


STORED = ForeseenRead("stored responses", find=find_response, find_all=find_responses)
OLDEST = ForeseenQuery("oldest stored response", find_oldest)


def add_response(tx: Transaction, response: ChainedResponse) -> None:
    """Store a response if and only if the transaction commits."""
    HEADS.foresee(tx.foreseen, CHAIN)
    tx.buffer(BUFFER).append(response)


def chain_records(tx: Transaction) -> None:
    """Number and chain a transaction's records just before its commit."""
    given = tx.buffer(BUFFER)
    if not given:
        return
    (chain,) = open_chains(tx, [CHAIN])
    for answer in given:
        seq, link, _ = chain.extend(answer.linked_bytes())
        tx.add(answers, StoredResponseRecord(seq, *answer, link))
    given.clear()
    save_chains(tx, [chain])


def delete_expired(tx: Transaction, *, now: datetime, ttl: timedelta) -> None:
    """Delete expired records; called once per transaction, and most calls find none.

    A record with a time in the future was stored while a clock was wrong. Its position in the chain determines its age:
    it is deleted together with the first expired record after it.
    """
    before, first = now - ttl, find_oldest(tx.read_unflushed)
    if first is not None and first.created_at > now:
        first = tx.read_unflushed(_IN_ORDER.where(answers.c.created_at <= now)).first()
    if first is None or first.created_at >= before:
        return
    first_kept = tx.read_unflushed(_IN_ORDER.where(answers.c.seq > first.seq, answers.c.created_at >= before)).first()
    if first_kept is None:
        beginning, last = read_head(tx.connection, CHAIN)
    else:
        beginning = first_kept.seq
        last = tx.read_unflushed(select(answers.c.hash).where(answers.c.seq == beginning - 1)).scalar_one()
    tx.connection.execute(delete(answers).where(answers.c.seq < beginning))
    STORED.forget(tx)
    save_head(tx.connection, BEGINNING, beginning, last)
