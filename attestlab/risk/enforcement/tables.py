"""Tables of cases, challenges, list entries and settings; each row is audited."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Double, Index, text
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class RiskSettingsRecord(NamedTuple):
    """A tenant's own settings of risk; without a row, the defaults apply."""

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    escalation_threshold: Annotated[float, Field(sa_type=Double)]
    updated_at: datetime


RiskSettings = model_of(RiskSettingsRecord, "risk_settings")


@short_repr
class RiskCaseRecord(NamedTuple):
    """A case: the escalated signals of one entity until a person resolves it; an entity has at most one open case."""

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    entity_type: Annotated[str, Field(max_length=16)]
    entity_id: Annotated[str, Field(max_length=256)]
    status: Annotated[str, Field(max_length=8)]
    signal_count: Annotated[int, Field(sa_type=BigInteger)]
    max_score: Annotated[float, Field(sa_type=Double)]
    opened_at: datetime
    outcome: Annotated[str | None, Field(max_length=12)] = None
    note: Annotated[str | None, Field(max_length=2000)] = None
    resolved_at: datetime | None = None
    resolved_by: Annotated[str | None, Field(max_length=64)] = None


RiskCase = model_of(
    RiskCaseRecord,
    "risk_cases",
    Index("ix_risk_cases_of_tenant", "tenant_id", "id"),
    Index(
        "ix_risk_cases_open",
        "tenant_id",
        "entity_type",
        "entity_id",
        unique=True,
        sqlite_where=text("status = 'open'"),
    ),
    Index("ix_risk_cases_of_entity", "tenant_id", "entity_type", "entity_id", "id"),
)


@short_repr
class RiskListEntryRecord(NamedTuple):
    """An entity on the tenant's allow or deny list; a removed entry stays as history."""

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    list: Annotated[str, Field(max_length=5)]
    entity_type: Annotated[str, Field(max_length=16)]
    entity_id: Annotated[str, Field(max_length=256)]
    reason: Annotated[str, Field(max_length=1024)]
    created_at: datetime
    created_by: Annotated[str, Field(max_length=64)]
    expires_at: datetime | None = None
    removed_at: datetime | None = None
    removed_by: Annotated[str | None, Field(max_length=64)] = None


RiskListEntry = model_of(
    RiskListEntryRecord,
    "risk_list_entries",
    Index("ix_risk_list_entries_of_tenant", "tenant_id", "id"),
    Index("ix_risk_list_entries_of_entity", "tenant_id", "entity_type", "entity_id"),
)


@short_repr
class RiskChallengeRecord(NamedTuple):
    """A challenge decision; it never changes."""

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    subject_type: Annotated[str, Field(max_length=64)]
    subject_id: Annotated[str, Field(max_length=256)]
    reason: Annotated[str, Field(max_length=1024)]
    risk_score: int | None
    challenge_required: bool
    created_by: Annotated[str, Field(max_length=64)]
    created_at: datetime


RiskChallenge = model_of(
    RiskChallengeRecord,
    "risk_challenges",
    Index("ix_risk_challenges_of_tenant", "tenant_id", "id"),
    Index("ix_risk_challenges_of_subject", "tenant_id", "subject_type", "subject_id", "id"),
)
