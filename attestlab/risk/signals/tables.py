"""Tables of risk signals, and of the progress of bulk requests."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Double, Index, LargeBinary, text
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr
from attestlab.core.records.hash_chain import SEQUENCE_TYPE


class RiskSignal(SQLModel, table=True):
    """A risk signal; it never changes.

    `seq` numbers the signals of all tenants without gaps, in the order of their commits, and `hash` chains them.
    `details` is canonical JSON. `case_id` is the case that the signal opened or joined, `event_id` the raw event that
    it was normalized from, and `replaces` the signal that an older mapping had made of that event.
    """

    __tablename__ = "risk_signals"
    __table_args__ = (
        Index("ix_risk_signals_of_tenant", "tenant_id", "seq"),
        Index("ix_risk_signals_of_entity", "tenant_id", "entity_type", "entity_id", "seq"),
        Index("ix_risk_signals_id", "id", unique=True),
        Index("ix_risk_signals_of_event", "event_id", sqlite_where=text("event_id IS NOT NULL")),
    )

    seq: int = Field(primary_key=True, sa_type=SEQUENCE_TYPE, sa_column_kwargs={"autoincrement": False})
    id: UUID
    tenant_id: UUID = Field(foreign_key="tenants.id")
    source: str = Field(max_length=64)
    signal_type: str = Field(max_length=64)
    score: float = Field(sa_type=Double)
    entity_type: str = Field(max_length=16)
    entity_id: str = Field(max_length=256)
    details: str = Field(max_length=8192)
    occurred_at: datetime
    created_at: datetime
    case_id: UUID | None = None
    event_id: UUID | None = None
    replaces: UUID | None = None
    hash: bytes = Field(sa_type=LargeBinary)


@short_repr
class RiskSignalRecord(NamedTuple):
    """A row of `risk_signals`."""

    seq: int
    id: UUID
    tenant_id: UUID
    source: str
    signal_type: str
    score: float
    entity_type: str
    entity_id: str
    details: str
    occurred_at: datetime
    created_at: datetime
    case_id: UUID | None = None
    event_id: UUID | None = None
    replaces: UUID | None = None
    hash: bytes = b""


class BulkProgress(SQLModel, table=True):
    """How many signals of a bulk request are recorded; `id` is the SHA-256 of tenant, Idempotency-Key and body.

    `began_at` is when the request was received first.
    """

    __tablename__ = "risk_bulk_progress"

    id: bytes = Field(primary_key=True, sa_type=LargeBinary)
    recorded: int = Field(sa_type=BigInteger)
    began_at: datetime = Field(index=True)


@short_repr
class BulkProgressRecord(NamedTuple):
    """A row of `risk_bulk_progress`."""

    id: bytes
    recorded: int
    began_at: datetime
