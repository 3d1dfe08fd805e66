"""Table of links between entities."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr


class RiskLink(SQLModel, table=True):
    """Two entities that facts of one source name together; the first sorts before the second.

    `kind` is the source of the facts, `count` their number, and the times are those of the earliest and the latest
    occurrence. The row follows from signals and raw events, so fsck recomputes it.
    """

    __tablename__ = "risk_links"
    __table_args__ = (
        Index("ix_risk_links_of_second", "tenant_id", "second_type", "second_id", "first_type", "first_id", "kind"),
        {"sqlite_with_rowid": False},
    )

    tenant_id: UUID = Field(primary_key=True, foreign_key="tenants.id")
    first_type: str = Field(primary_key=True, max_length=16)
    first_id: str = Field(primary_key=True, max_length=256)
    second_type: str = Field(primary_key=True, max_length=16)
    second_id: str = Field(primary_key=True, max_length=256)
    kind: str = Field(primary_key=True, max_length=64)
    count: int = Field(sa_type=BigInteger)
    first_seen: datetime
    last_seen: datetime


@short_repr
class RiskLinkRecord(NamedTuple):
    """A row of `risk_links`."""

    tenant_id: UUID
    first_type: str
    first_id: str
    second_type: str
    second_id: str
    kind: str
    count: int  # type: ignore[assignment]  # overrides tuple.count
    first_seen: datetime
    last_seen: datetime
