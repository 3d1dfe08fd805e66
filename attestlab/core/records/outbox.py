"""The transactional outbox: events, stored in the same transaction as the change they report.

Deliveries read events from the outbox. An event is in the outbox if and only if its change
was committed, so none is lost and none is invented. Rows form one hash chain.
"""

from collections.abc import Iterable, Mapping, Set
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Connection, Index, Uuid, bindparam, func, select, text
from sqlmodel import Field

from attestlab.core.clock import Clock
from attestlab.core.crypto.canonical_json import canonical_trusted
from attestlab.core.db.storage import CommitHook
from attestlab.core.db.tables import model_of, short_repr, table_of
from attestlab.core.db.transaction import Buffer, Transaction
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
_LAST_SEQUENCES = "outbox.last_sequences"  # in a transaction's cache, by tenant


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
        _load_last_sequences(tx, {event.tenant_id for event in published})
        ids = [event_id for at, group in groupby(published, _MOMENT) for event_id in new_ids(at, len(list(group)))]
        tx.add_rows(_table, [_build_row(tx, chain, *each) for each in zip(ids, published, strict=True)])
        published.clear()
        save_chains(tx, [chain])

    return write_events


def _load_last_sequences(tx: Transaction, tenants: Set[UUID]) -> None:
    """Load the last number of each tenant; on PostgreSQL with one statement, because each waits for a socket."""
    last: dict[UUID, int] = tx.cache.setdefault(_LAST_SEQUENCES, {})
    missing = list(tenants - last.keys())
    if tx.connection.dialect.name == "sqlite":
        found = [(each, tx.read_unflushed(_LAST_SEQUENCE, {"tenant": each}).scalar()) for each in missing]
    else:
        found = [(row[0], row[1]) for row in tx.read_unflushed(_LAST_OF_EACH, {"tenants": missing})]
    last |= {tenant_id: number or 0 for tenant_id, number in found}


def _next_sequence(tx: Transaction, tenant_id: UUID) -> int:
    """Return the next number of a tenant's event."""
    last: dict[UUID, int] = tx.cache[_LAST_SEQUENCES]
    last[tenant_id] += 1
    return last[tenant_id]


def _build_row(tx: Transaction, chain: Chain, event_id: UUID, event: PublishedFacts) -> OutboxEventRecord:
    tenant_id, kind, facts, at = event
    body = canonical_trusted(envelope(event_id, kind, facts, at))
    seq, link, _ = chain.extend(chained_bytes(tenant_id, body))
    return OutboxEventRecord(seq, event_id, tenant_id, kind, at, body, link, _next_sequence(tx, tenant_id))


def envelope(event_id: UUID, kind: str, facts: Mapping[str, object], at: datetime) -> dict[str, object]:
    """Return the envelope of an event, as SPEC defines it under Events."""
    return {"id": event_id, "type": kind, "created_at": format_time(at), "data": facts}


def chained_bytes(tenant_id: UUID, body: bytes) -> bytes:
    """Return the bytes that a link of the outbox chain covers: the tenant and the envelope with id, type and time."""
    return tenant_id.bytes + body
