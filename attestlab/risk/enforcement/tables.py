"""Tables of cases, challenges, list entries and settings; each row is audited."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Double, Index, text
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import short_repr


class RiskSettings(SQLModel, table=True):
    """A tenant's own settings of risk; without a row, the defaults apply."""

    __tablename__ = "risk_settings"

    tenant_id: UUID = Field(primary_key=True, foreign_key="tenants.id")
    escalation_threshold: float = Field(sa_type=Double)
    updated_at: datetime


@short_repr
class RiskSettingsRecord(NamedTuple):
    """A row of `risk_settings`."""

    tenant_id: UUID
    escalation_threshold: float
    updated_at: datetime


class RiskCase(SQLModel, table=True):
    """A case: the escalated signals of one entity until a person resolves it; an entity has at most one open case."""

    __tablename__ = "risk_cases"
    __table_args__ = (
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

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id")
    entity_type: str = Field(max_length=16)
    entity_id: str = Field(max_length=256)
    status: str = Field(max_length=8)
    signal_count: int = Field(sa_type=BigInteger)
    max_score: float = Field(sa_type=Double)
    opened_at: datetime
    outcome: str | None = Field(default=None, max_length=12)
    note: str | None = Field(default=None, max_length=2000)
    resolved_at: datetime | None = None
    resolved_by: str | None = Field(default=None, max_length=64)


@short_repr
class RiskCaseRecord(NamedTuple):
    """A row of `risk_cases`."""

    id: UUID
    tenant_id: UUID
    entity_type: str
    entity_id: str
    status: str
    signal_count: int
    max_score: float
    opened_at: datetime
    outcome: str | None = None
    note: str | None = None
    resolved_at: datetime | None = None
    resolved_by: str | None = None


class RiskListEntry(SQLModel, table=True):
    """An entity on the tenant's allow or deny list; a removed entry stays as history."""

    __tablename__ = "risk_list_entries"
    __table_args__ = (
        Index("ix_risk_list_entries_of_tenant", "tenant_id", "id"),
        Index("ix_risk_list_entries_of_entity", "tenant_id", "entity_type", "entity_id"),
    )

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id")
    list: str = Field(max_length=5)
    entity_type: str = Field(max_length=16)
    entity_id: str = Field(max_length=256)
    reason: str = Field(max_length=1024)
    created_at: datetime
    created_by: str = Field(max_length=64)
    expires_at: datetime | None = None
    removed_at: datetime | None = None
    removed_by: str | None = Field(default=None, max_length=64)


@short_repr
class RiskListEntryRecord(NamedTuple):
    """A row of `risk_list_entries`."""

    id: UUID
    tenant_id: UUID
    list: str
    entity_type: str
    entity_id: str
    reason: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    removed_at: datetime | None = None
    removed_by: str | None = None


class RiskChallenge(SQLModel, table=True):
    """A challenge decision; it never changes."""

    __tablename__ = "risk_challenges"
    __table_args__ = (
        Index("ix_risk_challenges_of_tenant", "tenant_id", "id"),
        Index("ix_risk_challenges_of_subject", "tenant_id", "subject_type", "subject_id", "id"),
    )

    id: UUID = Field(primary_key=True)
    tenant_id: UUID = Field(foreign_key="tenants.id")
    subject_type: str = Field(max_length=64)
    subject_id: str = Field(max_length=256)
    reason: str = Field(max_length=1024)
    risk_score: int | None = None
    challenge_required: bool
    created_by: str = Field(max_length=64)
    created_at: datetime


@short_repr
class RiskChallengeRecord(NamedTuple):
    """A row of `risk_challenges`."""

    id: UUID
    tenant_id: UUID
    subject_type: str
    subject_id: str
    reason: str
    risk_score: int | None
    challenge_required: bool
    created_by: str
    created_at: datetime
