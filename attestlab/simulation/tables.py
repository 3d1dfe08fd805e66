"""The tables of simulations; every row is audited."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Index, Text
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr


class SimulationReport(SQLModel, table=True):
    """The results of a simulation, never changed: `report` is canonical JSON and `digest` its SHA-256 (hex).

    The other columns repeat the fields that an activation checks. `policy_id` is null for a document without a policy.
    """

    __tablename__ = "simulation_reports"
    __table_args__ = (Index("ix_simulation_reports_of_tenant", "tenant_id", "made_at"),)

    digest: str = Field(primary_key=True, max_length=64)
    tenant_id: UUID = Field(foreign_key="tenants.id")
    policy_id: UUID | None = Field(default=None, foreign_key="policies.id")
    document_digest: str = Field(max_length=64)
    baseline_digest: str = Field(max_length=64)
    unexpected_flips: int
    report: str = Field(sa_type=Text)
    made_by: str = Field(max_length=64)
    made_at: datetime


@short_repr
class SimulationReportRecord(NamedTuple):
    """A row of `simulation_reports`."""

    digest: str
    tenant_id: UUID
    policy_id: UUID | None
    document_digest: str
    baseline_digest: str
    unexpected_flips: int
    report: str
    made_by: str
    made_at: datetime
