"""Table of links between entities."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class RiskLinkRecord(NamedTuple):
    """Two entities that facts of one source name together; the first sorts before the second.

    `kind` is the source of the facts, `count` their number, and the times are those of the earliest and the latest
    occurrence. The row follows from signals and raw events, so fsck recomputes it.
    """

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    first_type: Annotated[str, Field(primary_key=True, max_length=16)]
    first_id: Annotated[str, Field(primary_key=True, max_length=256)]
    second_type: Annotated[str, Field(primary_key=True, max_length=16)]
    second_id: Annotated[str, Field(primary_key=True, max_length=256)]
    kind: Annotated[str, Field(primary_key=True, max_length=64)]
    count: Annotated[int, Field(sa_type=BigInteger)]  # type: ignore[assignment]  # overrides tuple.count
    first_seen: datetime
    last_seen: datetime


RiskLink = model_of(
    RiskLinkRecord,
    "risk_links",
    Index("ix_risk_links_of_second", "tenant_id", "second_type", "second_id", "first_type", "first_id", "kind"),
    sqlite_with_rowid=False,
)
