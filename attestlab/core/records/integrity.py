"""Checks of the audit trails, the outbox and the audited rows: each chain is whole, each row has its audited digest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from uuid import UUID

import orjson
from sqlalchemy import Column, Connection, Executable, LargeBinary, Table, bindparam, select, type_coerce
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import NullType

from attestlab.core.db.tables import fetch_all, iterate, table_of
from attestlab.core.db.transaction import bind_processor
from attestlab.core.errors import ValidationFailed
from attestlab.core.events import is_same_fact
from attestlab.core.records import audit, outbox
from attestlab.core.records.audit import AuditEvent, AuditEventRecord
from attestlab.core.records.hash_chain import GENESIS, ChainHead, ChainHeadRecord, link_hash, read_head
from attestlab.core.records.outbox import OutboxEvent, OutboxEventRecord
from attestlab.core.records.row_digest import METADATA_KEY, row_sha256

Processors = Mapping[str, Callable[[object], object]]  # by column

PAGE = 500
_STORED = "stored_"
_audit = table_of(AuditEvent)
_outbox = table_of(OutboxEvent)
_heads = table_of(ChainHead)

_RECORDS_OF_TYPE = (
    select(_audit.c.resource_id, _audit.c.record)
    .where(_audit.c.resource_type == bindparam("resource_type"))
    .order_by(_audit.c.tenant_id, _audit.c.seq)
    .execution_options(yield_per=PAGE)
)

_REPEATED_IN_RECORD = tuple(
    name for name in AuditEventRecord._fields if name not in ("seq", "record", "integrity_hash", "prev_hash")
)
_REPEATED_IN_ENVELOPE = ("id", "type", "created_at")


@dataclass(frozen=True, slots=True)
class Problem:
    """An inconsistency: its kind, its place, and a message."""

    kind: str
    where: str
    message: str


def check_audit_trails(connection: Connection, *, other_chains: Container[str]) -> Iterator[Problem]:
    """Check that each tenant's audit trail is gapless, chained, and as long as its head records.

    The heads of `other_chains` are compared where their rows are read.
    """
    every_head = fetch_all(connection.execute(select(*_heads.c)), ChainHeadRecord)
    heads = {head.name: head for head in every_head if head.name not in other_chains}
    trail, place, last = None, 0, GENESIS
    ordered = select(*_audit.c).order_by(_audit.c.tenant_id, _audit.c.seq)
    for row in iterate(connection.execution_options(yield_per=PAGE).execute(ordered), AuditEventRecord):
        if row.tenant_id != trail:
            if trail is not None:
                yield from _check_chain_end(heads, audit.chain_name(trail), place, last)
            trail, place, last = row.tenant_id, 0, GENESIS
        where = f"{row.tenant_id} {row.seq}"
        if row.seq != place or row.prev_hash != last or row.integrity_hash != link_hash(last, row.record):
            yield Problem("audit", where, "the chain is broken here")
        if wrong := _find_differences(row, row.record, _REPEATED_IN_RECORD):
            yield Problem("audit", where, f"columns differ from the record: {', '.join(wrong)}")
        place, last = row.seq + 1, row.integrity_hash
    if trail is not None:
        yield from _check_chain_end(heads, audit.chain_name(trail), place, last)
    for name in heads:
        yield Problem("chain", name, "has a head but no entries")


def check_outbox(connection: Connection) -> Iterator[Problem]:
    """Check that the outbox is gapless, for each tenant too, chained, and as long as its head records."""
    place, last = 0, GENESIS
    events_of = Counter[UUID]()
    ordered = select(*_outbox.c).order_by(_outbox.c.seq)
    for row in iterate(connection.execution_options(yield_per=PAGE).execute(ordered), OutboxEventRecord):
        linked = link_hash(last, outbox.chained_bytes(row.tenant_id, row.body))
        if row.seq != place or row.hash != linked:
            yield Problem("outbox", str(row.seq), "the chain is broken here")
        if wrong := _find_differences(row, row.body, _REPEATED_IN_ENVELOPE):
            yield Problem("outbox", str(row.seq), f"columns differ from the envelope: {', '.join(wrong)}")
        events_of[row.tenant_id] += 1
        if row.sequence != events_of[row.tenant_id]:
            expected = f"it is event {events_of[row.tenant_id]} of its tenant"
            yield Problem("outbox", str(row.seq), f"the sequence is {row.sequence}, but {expected}")
        place, last = row.seq + 1, row.hash
    if (place, last) != read_head(connection, outbox.CHAIN):
        yield Problem("outbox", "end", "events are missing at the end")


def find_unaudited(
    connection: Connection, table: Table, *, resource_type: str, name: Callable[[Mapping[str, object]], str]
) -> Iterator[tuple[str, str]]:
    """Yield the rows that differ from their last audited digest, as (resource id, problem).

    Holds all digests of the type in memory, some 300 bytes a row.
    """
    audited = dict(_last_digests(connection, resource_type))
    statement, processors = _build_row_query(table, connection.dialect.name)
    try:
        for row in connection.execute(statement):
            values = dict(row._mapping)
            resource_id = name(values)
            problem = _problem_of(table, values, processors, audited.pop(resource_id, None))
            if problem is not None:
                yield resource_id, problem
    except (ValueError, TypeError, DBAPIError) as error:
        yield table.name, f"a row cannot be read: {error}"
        return
    for resource_id in audited:
        yield resource_id, "the row was audited and is gone"


def find_noncanonical(connection: Connection, table: Table) -> Iterator[str]:
    """Yield the columns with non-canonical values: they read like ours, but queries by value do not find them."""
    statement, processors = _build_spelling_query(table, connection.dialect.name)
    if not processors:
        return
    for row in connection.execute(statement):
        values = row._mapping
        yield from (name for name, process in processors.items() if process(values[name]) != values[_STORED + name])


def _find_differences(row: AuditEventRecord | OutboxEventRecord, document: bytes, names: Iterable[str]) -> list[str]:
    """Return the columns in `names` that differ from the members of the row's canonical JSON.

    Raises:
        ValueError: the document is not JSON.
    """
    recorded = orjson.loads(document)
    return [name for name in names if not is_same_fact(recorded.get(name), getattr(row, name))]


def _check_chain_end(heads: dict[str, ChainHeadRecord], name: str, length: int, last: bytes) -> Iterator[Problem]:
    head = heads.pop(name, None)
    if head is None or (head.length, head.hash) != (length, last):
        yield Problem("chain", name, _describe_wrong_head(head, length))


def _describe_wrong_head(head: ChainHeadRecord | None, length: int) -> str:
    if head is None:
        return "the head of the chain is missing"
    if head.length != length:
        return f"the chain ends at {length}, its head says {head.length}"
    return "the last hash of the chain differs from its head"


def _is_bytes(column: Column[object]) -> bool:
    return isinstance(column.type, LargeBinary)  # its bind processor changes nothing


def _problem_of(
    table: Table,
    values: Mapping[str, object],
    processors: Processors,
    expected: str | None,
) -> str | None:
    if expected is None:
        return "the row was never audited"
    try:
        is_same = row_sha256(table, values) == expected
    except ValidationFailed:
        is_same = False
    if not is_same or any(process(values[name]) != values[_STORED + name] for name, process in processors.items()):
        return "the row differs from what was audited last"
    return None


@cache
def _build_row_query(table: Table, dialect: str) -> tuple[Executable, Processors]:
    """Build the query of all columns, with the stored spelling of those that have a bind processor."""
    processors = _text_processors(table, dialect)
    return _select_with_stored(table.c, table, processors), processors


@cache
def _build_spelling_query(table: Table, dialect: str) -> tuple[Executable, Processors]:
    """Build the query of the columns that have several spellings; the processors are empty if there is none."""
    processors = _text_processors(table, dialect)
    spelled = {name: process for name, process in processors.items() if not _is_bytes(table.c[name])}
    return _select_with_stored([table.c[name] for name in spelled], table, spelled), spelled


def _text_processors(table: Table, dialect: str) -> Processors:
    """Return the bind processors of the columns whose values SQLite stores as text or number.

    There one value has many spellings (an id in capitals, a flag of 2), which read alike but which a query
    by value does not find. The service writes one spelling, so a row with another one was written by others.
    """
    if dialect != "sqlite":
        return {}
    processors = {column.name: bind_processor(table, column.name) for column in table.columns}
    return {name: process for name, process in processors.items() if process is not None}


def _select_with_stored(columns: Iterable[Column[object]], table: Table, names: Iterable[str]) -> Executable:
    """Select the columns, and those in `names` also in their stored spelling."""
    as_stored = [type_coerce(table.c[name], NullType()).label(_STORED + name) for name in names]
    return select(*columns, *as_stored).execution_options(yield_per=PAGE)


def _last_digests(connection: Connection, resource_type: str) -> Iterator[tuple[str, str]]:
    """Yield the audited digests of all resources in order; the last one of a resource is the valid one."""
    for resource_id, record in connection.execute(_RECORDS_OF_TYPE, {"resource_type": resource_type}):
        digest = orjson.loads(record)["metadata"].get(METADATA_KEY)
        if digest is not None:
            yield resource_id, digest
