"""The tables of simulations; every row is audited."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import Index, Text
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class SimulationReportRecord(NamedTuple):
    """The results of a simulation, never changed: `report` is canonical JSON and `digest` its SHA-256 (hex).

    The other columns repeat the fields that an activation checks. `policy_id` is null for a document without a policy.
    """

    digest: Annotated[str, Field(primary_key=True, max_length=64)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    policy_id: Annotated[UUID | None, Field(foreign_key="policies.id")]
    document_digest: Annotated[str, Field(max_length=64)]
    baseline_digest: Annotated[str, Field(max_length=64)]
    unexpected_flips: int
    report: Annotated[str, Field(sa_type=Text)]
    made_by: Annotated[str, Field(max_length=64)]
    made_at: datetime


SimulationReport = model_of(
    SimulationReportRecord, "simulation_reports", Index("ix_simulation_reports_of_tenant", "tenant_id", "made_at")
)
