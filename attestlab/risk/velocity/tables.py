"""Table of what velocity scoring counts."""

from typing import NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr


class VelocityEvent(SQLModel, table=True):
    """One occurrence of an action; kept for `HORIZON`, then deleted.

    The key is the order in which windows are counted, so SQLite stores each row once, within the key. `occurred_us` is
    in microseconds since 1970, `number` is random and separates occurrences of one moment.
    """

    __tablename__ = "risk_velocity_events"
    __table_args__ = (Index("ix_risk_velocity_events_by_time", "occurred_us"), {"sqlite_with_rowid": False})

    tenant_id: UUID = Field(primary_key=True, foreign_key="tenants.id")
    entity_type: str = Field(primary_key=True, max_length=16)
    entity_id: str = Field(primary_key=True, max_length=256)
    action: str = Field(primary_key=True, max_length=64)
    occurred_us: int = Field(primary_key=True, sa_type=BigInteger)
    number: int = Field(primary_key=True, sa_type=BigInteger)


@short_repr
class VelocityEventRecord(NamedTuple):
    """A row of `risk_velocity_events`."""

    tenant_id: UUID
    entity_type: str
    entity_id: str
    action: str
    occurred_us: int
    number: int
