"""Tables of sources and of their activity; fsck derives both from the signals."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr


class RiskSource(SQLModel, table=True):
    """A source of a tenant's signals; the times are those of its earliest and its latest occurrence."""

    __tablename__ = "risk_sources"

    tenant_id: UUID = Field(primary_key=True, foreign_key="tenants.id")
    source: str = Field(primary_key=True, max_length=64)
    count: int = Field(sa_type=BigInteger)
    first_seen: datetime
    last_seen: datetime


@short_repr
class RiskSourceRecord(NamedTuple):
    """A row of `risk_sources`."""

    tenant_id: UUID
    source: str
    count: int  # type: ignore[assignment]  # overrides tuple.count
    first_seen: datetime
    last_seen: datetime


class RiskActivity(SQLModel, table=True):
    """How many signals of a source and type occurred in an hour, with scores of one class.

    `hour` counts from 1970. `score_class` is the tens of the score, 0 to 9; a score of 100 belongs to 9.
    """

    __tablename__ = "risk_activity"
    __table_args__ = {"sqlite_with_rowid": False}  # SQLAlchemy's

    tenant_id: UUID = Field(primary_key=True, foreign_key="tenants.id")
    source: str = Field(primary_key=True, max_length=64)
    hour: int = Field(primary_key=True)
    signal_type: str = Field(primary_key=True, max_length=64)
    score_class: int = Field(primary_key=True)
    count: int = Field(sa_type=BigInteger)


@short_repr
class RiskActivityRecord(NamedTuple):
    """A row of `risk_activity`."""

    tenant_id: UUID
    source: str
    hour: int
    signal_type: str
    score_class: int
    count: int  # type: ignore[assignment]  # overrides tuple.count
