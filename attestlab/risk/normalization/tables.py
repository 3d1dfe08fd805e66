"""Tables of raw events and of mappings."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import Index, Text
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr
from attestlab.core.records.hash_chain import SEQUENCE_TYPE


@short_repr
class RiskEventRecord(NamedTuple):
    """A raw event as it was sent; it never changes, so it can be normalized again.

    `seq` and `hash` are as in `risk_signals`.
    """

    seq: Annotated[int, Field(primary_key=True, sa_type=SEQUENCE_TYPE, sa_column_kwargs={"autoincrement": False})]
    id: UUID
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    event_type: Annotated[str, Field(max_length=128)]
    entity_type: Annotated[str, Field(max_length=16)]
    entity_id: Annotated[str, Field(max_length=256)]
    data: Annotated[str, Field(max_length=8192)]
    occurred_at: datetime
    created_at: datetime
    hash: bytes = b""


RiskEvent = model_of(
    RiskEventRecord,
    "risk_events",
    Index("ix_risk_events_of_tenant", "tenant_id", "seq"),
    Index("ix_risk_events_by_time", "tenant_id", "occurred_at", "seq"),
    Index("ix_risk_events_id", "id", unique=True),
)


@short_repr
class RiskMappingRecord(NamedTuple):
    """A version of a tenant's mapping; it never changes. `items` is a JSON array."""

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    version: int
    items: Annotated[str, Field(sa_type=Text)]
    created_at: datetime
    created_by: Annotated[str, Field(max_length=64)]


RiskMapping = model_of(
    RiskMappingRecord, "risk_mappings", Index("ix_risk_mappings_of_tenant", "tenant_id", "version", unique=True)
)
