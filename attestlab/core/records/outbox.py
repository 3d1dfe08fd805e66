"""The transactional outbox: events, stored in the same transaction as the change they report.

Deliveries read events from the outbox. An event is in the outbox if and only if its change
was committed, so none is lost and none is invented. Rows form one hash chain.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Connection, Index, Uuid, bindparam, func, select, text
from sqlmodel import Field

from attestlab.core.clock import Clock
from attestlab.core.crypto.canonical_json import canonical_trusted
from attestlab.core.db.foreseen_reads import ForeseenRead
from attestlab.core.db.storage import CommitHook
from attestlab.core.db.tables import Execute, model_of, short_repr, table_of
from attestlab.core.db.transaction import Buffer, Foreseen, Transaction
from attestlab.core.encoding import format_time
from attestlab.core.events import Event
from attestlab.core.ids import new_ids
from attestlab.core.records.hash_chain import HEADS, SEQUENCE_TYPE, Chain, open_chains, read_head, save_chains

CHAIN = "outbox"


class PublishedFacts(NamedTuple):
    """An event to store: its tenant, type and facts, as JSON has them, and its time."""

    tenant_id: UUID
    type: str
    facts: Mapping[str, object]
    at: datetime


BUFFER = Buffer[PublishedFacts]("outbox")


@short_repr
class OutboxEventRecord(NamedTuple):
    """A stored event; `body` is the canonical JSON of the envelope `{id, type, created_at, data}`.

    `seq` numbers the events of all tenants from 0, `sequence` those of each tenant from 1, both without gaps and in the
    order of their commits.
    """

    seq: Annotated[int, Field(primary_key=True, sa_type=SEQUENCE_TYPE, sa_column_kwargs={"autoincrement": False})]
    id: UUID
    tenant_id: UUID
    type: Annotated[str, Field(max_length=64)]
    created_at: datetime
    body: bytes
    hash: bytes
    sequence: Annotated[int, Field(sa_type=BigInteger, sa_column_kwargs={"server_default": "0"})]


OutboxEvent = model_of(
    OutboxEventRecord, "outbox_events", Index("ix_outbox_events_of_tenant", "tenant_id", "sequence", unique=True)
)
_table = table_of(OutboxEvent)
_LAST_SEQUENCE = select(func.max(_table.c.sequence)).where(_table.c.tenant_id == bindparam("tenant"))
# One lookup in the index for each tenant: GROUP BY would read all events of these tenants.
_LAST_OF_EACH = text(
    "SELECT asked, (SELECT max(sequence) FROM outbox_events WHERE tenant_id = asked) "
    "FROM unnest(CAST(:tenants AS uuid[])) AS asked"
).columns(asked=Uuid, last=BigInteger)
_MOMENT = attrgetter("at")


def _find_last(execute: Execute, tenant_id: UUID) -> int | None:
    last: int | None = execute(_LAST_SEQUENCE, {"tenant": tenant_id}).scalar()
    return last


def _find_all_last(execute: Execute, tenants: Collection[UUID]) -> dict[UUID, int | None]:
    return {row[0]: row[1] for row in execute(_LAST_OF_EACH, {"tenants": list(tenants)})}


LAST_SEQUENCES = ForeseenRead("last numbers of events", find=_find_last, find_all=_find_all_last)


def foresee(foreseen: Foreseen, tenant_id: UUID) -> None:
    """Name what the commit of an event of a tenant will read."""
    HEADS.foresee(foreseen, CHAIN)
    LAST_SEQUENCES.foresee(foreseen, tenant_id)


def publish(tx: Transaction, tenant_id: UUID, event: Event, *, at: datetime) -> None:
    """Publish an event to the outbox of `tenant_id`; it is stored if and only if the transaction commits."""
    publish_facts(tx, [PublishedFacts(tenant_id, event.type, event.data(), at)])


def publish_facts(tx: Transaction, events: Iterable[PublishedFacts]) -> None:
    """Publish many events by their facts, which are those that the class of their type declares."""
    HEADS.foresee(tx.foreseen, CHAIN)
    tx.buffer(BUFFER).extend(events)


def last_seq(connection: Connection) -> int:
    """Return the `seq` of the last event of all tenants; -1 if there is none."""
    return read_head(connection, CHAIN)[0] - 1


def event_writer(clock: Clock) -> CommitHook:
    """Return the commit hook that numbers and chains the events of a transaction."""

    def write_events(tx: Transaction) -> None:
        published = tx.buffer(BUFFER)
        if not published:
            return
        (chain,) = open_chains(tx, [CHAIN])
        last = _read_last_sequences(tx, {event.tenant_id for event in published})
        ids = [event_id for at, group in groupby(published, _MOMENT) for event_id in new_ids(at, len(list(group)))]
        tx.add_rows(_table, [_build_row(last, chain, *each) for each in zip(ids, published, strict=True)])
        published.clear()
        for tenant_id, number in last.items():
            LAST_SEQUENCES.replace(tx, tenant_id, number)
        save_chains(tx, [chain])

    return write_events


def _read_last_sequences(tx: Transaction, tenants: Collection[UUID]) -> dict[UUID, int]:
    """Read the last number of each tenant; on PostgreSQL with one statement, because each waits for a socket."""
    for tenant_id in tenants:
        LAST_SEQUENCES.foresee(tx.foreseen, tenant_id)
    return {tenant_id: LAST_SEQUENCES.get(tx, tenant_id) or 0 for tenant_id in tenants}


def _build_row(last: dict[UUID, int], chain: Chain, event_id: UUID, event: PublishedFacts) -> OutboxEventRecord:
    """Make the row of an event, which gets the number after its tenant's `last`."""
    tenant_id, kind, facts, at = event
    body = canonical_trusted(envelope(event_id, kind, facts, at))
    seq, link, _ = chain.extend(chained_bytes(tenant_id, body))
    last[tenant_id] += 1
    return OutboxEventRecord(seq, event_id, tenant_id, kind, at, body, link, last[tenant_id])


def envelope(event_id: UUID, kind: str, facts: Mapping[str, object], at: datetime) -> dict[str, object]:
    """Return the envelope of an event, as SPEC defines it under Events."""
    return {"id": event_id, "type": kind, "created_at": format_time(at), "data": facts}


def chained_bytes(tenant_id: UUID, body: bytes) -> bytes:
    """Return the bytes that a link of the outbox chain covers: the tenant and the envelope with id, type and time."""
    return tenant_id.bytes + body
