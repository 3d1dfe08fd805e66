"""Tables of risk signals, and of the progress of bulk requests."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Double, Index, text
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr
from attestlab.core.records.hash_chain import SEQUENCE_TYPE


@short_repr
class RiskSignalRecord(NamedTuple):
    """A risk signal; it never changes.

    `seq` numbers the signals of all tenants without gaps, in the order of their commits, and `hash` chains them.
    `details` is canonical JSON. `case_id` is the case that the signal opened or joined, `event_id` the raw event that
    it was normalized from, and `replaces` the signal that an older mapping had made of that event.
    """

    seq: Annotated[int, Field(primary_key=True, sa_type=SEQUENCE_TYPE, sa_column_kwargs={"autoincrement": False})]
    id: UUID
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    source: Annotated[str, Field(max_length=64)]
    signal_type: Annotated[str, Field(max_length=64)]
    score: Annotated[float, Field(sa_type=Double)]
    entity_type: Annotated[str, Field(max_length=16)]
    entity_id: Annotated[str, Field(max_length=256)]
    details: Annotated[str, Field(max_length=8192)]
    occurred_at: datetime
    created_at: datetime
    case_id: UUID | None = None
    event_id: UUID | None = None
    replaces: UUID | None = None
    hash: bytes = b""


RiskSignal = model_of(
    RiskSignalRecord,
    "risk_signals",
    Index("ix_risk_signals_of_tenant", "tenant_id", "seq"),
    Index("ix_risk_signals_of_entity", "tenant_id", "entity_type", "entity_id", "seq"),
    Index("ix_risk_signals_id", "id", unique=True),
    Index("ix_risk_signals_of_event", "event_id", sqlite_where=text("event_id IS NOT NULL")),
)


@short_repr
class BulkProgressRecord(NamedTuple):
    """How many signals of a bulk request are recorded; `id` is the SHA-256 of tenant, Idempotency-Key and body.

    `began_at` is when the request was received first.
    """

    id: Annotated[bytes, Field(primary_key=True)]
    recorded: Annotated[int, Field(sa_type=BigInteger)]
    began_at: Annotated[datetime, Field(index=True)]


BulkProgress = model_of(BulkProgressRecord, "risk_bulk_progress")
