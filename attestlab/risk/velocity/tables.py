"""Table of what velocity scoring counts."""

from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class VelocityEventRecord(NamedTuple):
    """One occurrence of an action; kept for `HORIZON`, then deleted.

    The key is the order in which windows are counted, so SQLite stores each row once, within the key. `occurred_us` is
    in microseconds since 1970, `number` is random and separates occurrences of one moment.
    """

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    entity_type: Annotated[str, Field(primary_key=True, max_length=16)]
    entity_id: Annotated[str, Field(primary_key=True, max_length=256)]
    action: Annotated[str, Field(primary_key=True, max_length=64)]
    occurred_us: Annotated[int, Field(primary_key=True, sa_type=BigInteger)]
    number: Annotated[int, Field(primary_key=True, sa_type=BigInteger)]


VelocityEvent = model_of(
    VelocityEventRecord,
    "risk_velocity_events",
    Index("ix_risk_velocity_events_by_time", "occurred_us"),
    sqlite_with_rowid=False,
)
