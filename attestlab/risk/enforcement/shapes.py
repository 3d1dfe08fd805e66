"""Wire models of cases, challenges, lists and settings (CONTRACT section 8)."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, field_validator

from attestlab.core.filters import Filters, Where
from attestlab.core.shapes import In, Moment, Out
from attestlab.risk.shapes import EntityId, EntityTypeName, EntityTypes, Name, Reason, spell_filtered_id
from attestlab.web.paging import PageQuery

Lists = Literal["allow", "deny"]


class SettingsIn(In):
    """The settings of risk."""

    escalation_threshold: Annotated[float, Field(ge=0, le=100)]


class SettingsOut(Out):
    """The settings of risk: the score from which a signal is escalated."""

    escalation_threshold: float


class ChallengeIn(In):
    """A decision to challenge a subject."""

    subject_id: EntityId
    subject_type: Name = "user"
    reason: Reason
    risk_score: Annotated[int, Field(ge=0, le=100)] | None = None


class ChallengeOut(Out):
    """A challenge decision; `challenge_required` is false for a subject on the allow list."""

    decision_id: UUID
    subject_id: str
    subject_type: str
    action: Literal["challenge"] = "challenge"
    reason: str
    risk_score: int | None
    challenge_required: bool
    created_by: str
    created_at: Moment


class ChallengesQuery(PageQuery, Filters):
    """Filters of the list of challenge decisions."""

    subject_type: Annotated[Name | None, Where("subject_type")] = None
    subject_id: Annotated[EntityId | None, Where("subject_id")] = None


class CaseOut(Out):
    """A case: the escalated signals of one entity until a person resolves it."""

    id: UUID
    entity_type: EntityTypeName
    entity_id: str
    status: Literal["open", "resolved"]
    signal_count: int
    max_score: float
    opened_at: Moment
    outcome: Literal["fraud", "legitimate", "inconclusive"] | None
    note: str | None
    resolved_at: Moment | None
    resolved_by: str | None


class CasesQuery(PageQuery, Filters):
    """Filters of the list of cases."""

    status: Annotated[Literal["open", "resolved"] | None, Where("status")] = None
    outcome: Annotated[Literal["fraud", "legitimate", "inconclusive"] | None, Where("outcome")] = None
    entity_type: Annotated[EntityTypes | None, Where("entity_type")] = None
    entity_id: Annotated[EntityId | None, Where("entity_id")] = None

    _spell_id = field_validator("entity_id")(spell_filtered_id)


class ResolveIn(In):
    """The outcome of a case."""

    outcome: Literal["fraud", "legitimate", "inconclusive"]
    note: Annotated[str, Field(max_length=2_000)] | None = None


class ListEntryIn(In):
    """An entity to put on a list, with the reason and perhaps an end."""

    list: Lists
    entity_type: EntityTypes
    entity_id: EntityId
    reason: Annotated[str, Field(min_length=1, max_length=1_024)]
    expires_at: Moment | None = None


class ListEntryOut(Out):
    """An entity on a list."""

    id: UUID
    list: Lists
    entity_type: EntityTypeName
    entity_id: str
    reason: str
    expires_at: Moment | None
    created_at: Moment
    created_by: str


class ListsQuery(PageQuery, Filters):
    """Filters of the lists."""

    list: Annotated[Lists | None, Where("list")] = None
    entity_type: Annotated[EntityTypes | None, Where("entity_type")] = None
    entity_id: Annotated[EntityId | None, Where("entity_id")] = None

    _spell_id = field_validator("entity_id")(spell_filtered_id)
