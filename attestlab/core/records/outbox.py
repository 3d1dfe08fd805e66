"""The event outbox: what happened, in the same transaction as the change itself.

Deliveries read from here; an event that is not in the outbox did not happen, and
one that is there will not be forgotten. Rows are hash-chained in one sequence.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import LargeBinary
from sqlmodel import Field, SQLModel

from attestlab.core.clock import Clock
from attestlab.core.crypto.canonical_json import canonical_own
from attestlab.core.db.storage import CommitHook
from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.events import Event, repeats
from attestlab.core.ids import new_id
from attestlab.core.records.hash_chain import PLACE_TYPE, Chain
from attestlab.core.strict_json import format_time

CHAIN = "outbox"


class OutboxEvent(SQLModel, table=True):
    """One event; `body` is the canonical JSON of the envelope `{id, type, created_at, data}`."""

    __tablename__ = "outbox_events"

    seq: int = Field(primary_key=True, sa_type=PLACE_TYPE, sa_column_kwargs={"autoincrement": False})
    id: UUID
    tenant_id: UUID
    type: str = Field(max_length=64)
    created_at: datetime
    body: bytes = Field(sa_type=LargeBinary)
    hash: bytes = Field(sa_type=LargeBinary)


_table = table_of(OutboxEvent)


def publish(tx: Transaction, tenant_id: UUID, event: Event, *, at: datetime) -> None:
    """Put an event into the outbox of `tenant_id`; it stands there if and only if the transaction commits."""
    tx.buffer(CHAIN).append((tenant_id, event, at))


def event_writer(clock: Clock) -> CommitHook:
    """Number and chain the events of a transaction just before its commit."""

    def seal(tx: Transaction) -> None:
        told = tx.buffer(CHAIN)
        if not told:
            return
        chain = Chain(tx, CHAIN)
        for tenant_id, event, at in told:
            tx.add(_table, _row(chain, tenant_id, event, at))
        told.clear()
        chain.save(tx)

    return seal


def _row(chain: Chain, tenant_id: UUID, event: Event, at: datetime) -> dict[str, Any]:
    event_id = new_id(at)
    body = canonical_own(envelope(event_id, event, at))
    seq, link, _ = chain.extend(linked_bytes(tenant_id, body))
    return {
        "seq": seq,
        "id": event_id,
        "tenant_id": tenant_id,
        "type": event.type,
        "created_at": at,
        "body": body,
        "hash": link,
    }


def envelope(event_id: UUID, event: Event, at: datetime) -> dict[str, object]:
    """The envelope of SPEC, Events."""
    return {"id": event_id, "type": event.type, "created_at": format_time(at), "data": event.data()}


def linked_bytes(tenant_id: UUID, body: bytes) -> bytes:
    """What a link of the outbox chain covers: the tenant and the envelope, hence id, type and time."""
    return tenant_id.bytes + body


def find_inconsistencies(row: Any) -> list[str]:
    """The columns of a stored event that do not repeat what its envelope says.

    Raises:
        ValueError: the body is not an envelope.
    """
    said = orjson.loads(row.body)
    return [name for name in ("id", "type", "created_at") if not repeats(said.get(name), getattr(row, name))]
