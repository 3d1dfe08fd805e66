"""Wire models of cases, challenges, lists and settings (CONTRACT section 8)."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from attestlab.core.shapes import In, Moment, Out
from attestlab.risk.rules import NAME_PATTERN
from attestlab.risk.shapes import EntityId, EntityTypeName, EntityTypes, Name, Reason
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


class ChallengesQuery(PageQuery):
    """Filters of the list of challenge decisions."""

    subject_type: Annotated[str, Field(pattern=NAME_PATTERN)] | None = None
    subject_id: EntityId | None = None


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


class CasesQuery(PageQuery):
    """Filters of the list of cases."""

    status: Literal["open", "resolved"] | None = None
    outcome: Literal["fraud", "legitimate", "inconclusive"] | None = None
    entity_type: EntityTypes | None = None
    entity_id: EntityId | None = None


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


class ListsQuery(PageQuery):
    """Filters of the lists."""

    list: Lists | None = None
    entity_type: EntityTypes | None = None
    entity_id: EntityId | None = None
