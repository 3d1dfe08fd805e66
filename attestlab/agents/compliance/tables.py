"""Table of compliance checks, each with its findings."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import Index
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class ComplianceCheckRecord(NamedTuple):
    """A self-assessment of an agent, an issuer or the tenant itself; it never changes.

    `findings` is a JSON list of objects with the members of a finding, `left_out` names the controls that could not be
    asked, separated by spaces. `asked_by_agent_id` is the agent whose session asked for the check.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    entity_type: Annotated[str, Field(max_length=6)]
    entity_id: UUID
    regulation: Annotated[str, Field(max_length=9)]
    status: Annotated[str, Field(max_length=7)]
    score: int
    passed_controls: int
    asked_controls: int
    findings: str
    left_out: Annotated[str, Field(max_length=200)]
    asked_by_agent_id: UUID | None
    created_at: datetime


ComplianceCheck = model_of(
    ComplianceCheckRecord,
    "compliance_checks",
    Index("ix_compliance_checks_of_tenant", "tenant_id", "id"),
    Index("ix_compliance_checks_of_entity", "entity_id", "id"),
)
