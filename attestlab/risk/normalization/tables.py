"""Tables of raw events and of mappings."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Index, LargeBinary, Text
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr
from attestlab.core.records.hash_chain import SEQUENCE_TYPE


class RiskEvent(SQLModel, table=True):
    """A raw event as it was sent; it never changes, so it can be normalized again.

    `seq` and `hash` are as in `risk_signals`.
    """

    __tablename__ = "risk_events"
    __table_args__ = (
        Index("ix_risk_events_of_tenant", "tenant_id", "seq"),
        Index("ix_risk_events_by_time", "tenant_id", "occurred_at", "seq"),
        Index("ix_risk_events_id", "id", unique=True),
    )

    seq: int = Field(primary_key=True, sa_type=SEQUENCE_TYPE, sa_column_kwargs={"autoincrement": False})
    id: UUID
    tenant_id: UUID = Field(foreign_key="tenants.id")
    event_type: str = Field(max_length=128)
    entity_type: str = Field(max_length=16)
    entity_id: str = Field(max_length=256)
    data: str = Field(max_length=8192)
    occurred_at: datetime
    created_at: datetime
    hash: bytes = Field(sa_type=LargeBinary)


@short_repr
class RiskEventRecord(NamedTuple):
    """A row of `risk_events`."""

    seq: int
    id: UUID
    tenant_id: UUID
    event_type: str
    entity_type: str
    entity_id: str
    data: str
    occurred_at: datetime
    created_at: datetime
    hash: bytes = b""


class RiskMapping(SQLModel, table=True):
    """A version of a tenant's mapping; it never changes. `items` is a JSON array."""

    __tablename__ = "risk_mappings"
    __table_args__ = (Index("ix_risk_mappings_of_tenant", "tenant_id", "version", unique=True),)

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id")
    version: int
    items: str = Field(sa_type=Text)
    created_at: datetime
    created_by: str = Field(max_length=64)


@short_repr
class RiskMappingRecord(NamedTuple):
    """A row of `risk_mappings`."""

    id: UUID
    tenant_id: UUID
    version: int
    items: str
    created_at: datetime
    created_by: str
