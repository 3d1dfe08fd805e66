"""Tables of sources and of their activity; fsck derives both from the signals."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class RiskSourceRecord(NamedTuple):
    """A source of a tenant's signals; the times are those of its earliest and its latest occurrence."""

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    source: Annotated[str, Field(primary_key=True, max_length=64)]
    count: Annotated[int, Field(sa_type=BigInteger)]  # type: ignore[assignment]  # overrides tuple.count
    first_seen: datetime
    last_seen: datetime


RiskSource = model_of(RiskSourceRecord, "risk_sources")


@short_repr
class RiskActivityRecord(NamedTuple):
    """How many signals of a source and type occurred in an hour, with scores of one class.

    `hour` counts from 1970. `score_class` is the tens of the score, 0 to 9; a score of 100 belongs to 9.
    """

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    source: Annotated[str, Field(primary_key=True, max_length=64)]
    hour: Annotated[int, Field(primary_key=True)]
    signal_type: Annotated[str, Field(primary_key=True, max_length=64)]
    score_class: Annotated[int, Field(primary_key=True)]
    count: Annotated[int, Field(sa_type=BigInteger)]  # type: ignore[assignment]  # overrides tuple.count


RiskActivity = model_of(RiskActivityRecord, "risk_activity", sqlite_with_rowid=False)
