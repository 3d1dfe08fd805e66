"""Wire models of cases, challenges, lists and settings (CONTRACT section 8)."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self
from uuid import UUID

from pydantic import Field, StringConstraints, field_validator, model_validator

from attestlab.core.filters import NO_CONDITION, Filters, Where
from attestlab.core.shapes import In, Moment, Out, Uuid
from attestlab.risk.rules import Entity, EntityType, spell_id
from attestlab.risk.shapes import EntityId, EntityTypeName, EntityTypes, Identifier, spell_filtered_id
from attestlab.web.paging import PageQuery

MAX_COMMENT_LENGTH: Final = 2_000
Lists = Literal["allow", "deny"]
CaseLink = Literal["device", "issuer", "ip", "entity"]
CaseErrorCode = Literal["NOT_FOUND", "PERMISSION_DENIED", "CONFLICT"]


class SettingsIn(In, wire_name="risk_settings_input", source="CONTRACT 8"):
    """The settings of risk."""

    escalation_threshold: Annotated[float, Field(ge=0, le=100)]
    """The score from which later signals are escalated. Format: 0-100."""


class SettingsOut(Out, wire_name="risk_settings", source="CONTRACT 8"):
    """The settings of risk: the score from which a signal is escalated."""

    escalation_threshold: float
    """The score from which signals are escalated. Format: 0-100, by default 80."""


class ChallengeIn(In, wire_name="risk_challenge_input", source="SPEC Challenge"):
    """A decision to challenge a subject."""

    subject_id: EntityId
    """The subject to challenge. Format: 1-256 characters."""
    subject_type: Identifier = "user"
    """The type of the subject. Format: 1-64 of a-z 0-9 _."""
    reason: Annotated[str, Field(min_length=10, max_length=1_024)]
    """Why it is challenged. Format: text, 10-1024 characters."""
    risk_score: Annotated[int, Field(ge=0, le=100)] | None = None
    """The score that led to it. Format: 0-100."""


class ChallengeOut(Out, wire_name="risk_challenge", source="SPEC Challenge decision"):
    """A challenge decision; `challenge_required` is false for a subject on the allow list."""

    decision_id: UUID
    """The decision. Format: UUID, 36 characters."""
    subject_id: str
    """The subject. Format: at most 256 characters."""
    subject_type: str
    """The kind of subject. Format: a-z, 0-9 and _, at most 64."""
    action: Literal["challenge"] = "challenge"
    """The action. Format: challenge."""
    reason: str
    """Why it was decided. Format: at most 1024 characters."""
    risk_score: int | None
    """The score that the caller gave. Format: from 0 to 100."""
    challenge_required: bool
    """False for a subject on the allow list. Format: true or false."""
    created_by: str
    """The user or key that decided. Format: id. Source: CONTRACT 8."""
    created_at: Moment
    """When it was decided. Format: RFC 3339."""


class ChallengesQuery(PageQuery, Filters, wire_name="risk_challenges_query", source="CONTRACT 8"):
    """Filters of the list of challenge decisions."""

    subject_type: Annotated[Identifier | None, Where("subject_type")] = None
    """Only subjects of this type. Format: 1-64 of a-z 0-9 _."""
    subject_id: Annotated[EntityId | None, Where("subject_id")] = None
    """Only this subject. Format: 1-256 characters."""


class CommentIn(In, wire_name="risk_case_comment_input", source="CONTRACT 8"):
    """What is known about a case."""

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_COMMENT_LENGTH)]
    """What colleagues should know. Format: text, 1-2000 characters."""


class CommentOut(Out, wire_name="risk_case_comment", source="CONTRACT 8"):
    """What a person or a key wrote about a case."""

    id: UUID
    """The comment. Format: UUID, 36 characters."""
    text: str
    """What they wrote. Format: text, at most 2000 characters."""
    created_by: str
    """The user, key or agent that wrote it. Format: id."""
    created_at: Moment
    """When they wrote it. Format: RFC 3339."""


class CaseOut(Out, wire_name="risk_case", source="CONTRACT 8"):
    """A case: the escalated signals of one entity until a person resolves it."""

    id: UUID
    """The case. Format: UUID, 36 characters."""
    entity_type: EntityTypeName
    """What the case is about. Format: user, device, ip, document, session, issuer or attestation."""
    entity_id: str
    """The id of that entity. Format: at most 256 characters."""
    status: Literal["open", "resolved"]
    """Whether a person has resolved it. Format: open or resolved."""
    signal_count: int
    """The number of its escalated signals. Format: from 1."""
    max_score: float
    """The highest of their scores. Format: from 0 to 100."""
    opened_at: Moment
    """When the first of them was recorded. Format: RFC 3339."""
    outcome: Literal["fraud", "legitimate", "inconclusive"] | None
    """What it turned out to be. Format: fraud, legitimate or inconclusive."""
    note: str | None
    """What the person wrote. Format: at most 2000 characters."""
    resolved_at: Moment | None
    """When it was resolved. Format: RFC 3339."""
    resolved_by: str | None
    """The user or key that resolved it. Format: id."""
    why: str
    """Why it was opened, in a sentence. Format: at most 300 characters."""
    assignee_id: UUID | None
    """The person who is to resolve it. Format: the UUID of a user, or null."""
    label_at: Moment | None
    """When the outcome becomes a label; until then it can be undone. Format: RFC 3339; null if it is one."""
    comment_count: int
    """The number of its comments. Format: 0-200."""
    comments: list[CommentOut]
    """Its comments, the oldest first; of a case among others the newest three. Format: 0-200."""


class CasesQuery(PageQuery, Filters, wire_name="risk_cases_query", source="CONTRACT 8"):
    """Filters of the list of cases."""

    status: Annotated[Literal["open", "resolved"] | None, Where("status")] = None
    """Only cases with this status. Format: open or resolved."""
    outcome: Annotated[Literal["fraud", "legitimate", "inconclusive"] | None, Where("outcome")] = None
    """Only cases with this outcome. Format: fraud, legitimate or inconclusive."""
    entity_type: Annotated[EntityTypes | None, Where("entity_type")] = None
    """Only cases of entities of this type. Format: user, device, ip, document, session, issuer or attestation."""
    entity_id: Annotated[EntityId | None, Where("entity_id")] = None
    """Only cases of this entity. Format: 1-256 characters."""
    assignee_id: Annotated[Uuid | None, Where("assignee_id")] = None
    """Only cases that this person is to resolve. Format: UUID, 36 characters."""
    linked_type: Annotated[EntityTypes | None, NO_CONDITION] = None
    """With linked_id: only cases of this entity, and of those linked to it. Format: as entity_type."""
    linked_id: Annotated[EntityId | None, NO_CONDITION] = None
    """With linked_type: the id of that entity. Format: 1-256 characters."""

    _spell_id = field_validator("entity_id")(spell_filtered_id)

    @model_validator(mode="after")
    def _require_both(self) -> Self:
        if (self.linked_type is None) != (self.linked_id is None):
            raise ValueError("linked_type and linked_id are given together; send both, or neither.")
        return self

    @property
    def linked_entity(self) -> Entity | None:
        """The entity that the cases are linked to, as the records spell it."""
        if self.linked_type is None or self.linked_id is None:
            return None
        return Entity(EntityType(self.linked_type), spell_id(self.linked_type, self.linked_id))


class GroupsQuery(In, wire_name="risk_case_groups_query", source="CONTRACT 8"):
    """By what open cases are grouped."""

    by: CaseLink
    """What the cases of a group have in common. Format: device, issuer, ip or entity."""
    limit: Annotated[int, Field(ge=1, le=100)] = 50
    """How many groups, the largest ones. Format: 1-100, by default 50."""


class CaseGroupOut(Out, wire_name="risk_case_group", source="CONTRACT 8"):
    """Open cases that have an entity in common: it is theirs, or a link joins theirs to it."""

    by: CaseLink
    """What they have in common. Format: device, issuer, ip or entity."""
    key: str
    """The id of that entity; by entity its type and id, `user:u-1`. Format: at most 273 characters."""
    count: int
    """The number of open cases. Format: from 1."""
    max_score: float
    """The highest score of their signals. Format: from 0 to 100."""
    oldest_at: Moment
    """When the first of them was opened. Format: RFC 3339."""
    why: str
    """What links them, in a sentence. Format: at most 400 characters."""
    sample: list[CaseOut]
    """Those with the highest scores. Format: 1-3 cases."""


class CaseGroupsOut(Out, wire_name="risk_case_groups", source="CONTRACT 8"):
    """Groups of open cases."""

    items: list[CaseGroupOut]
    """The groups, the largest first."""
    truncated: bool
    """Whether the tenant has more groups, or more open cases than are grouped (5,000). Format: true or false."""


class CasePatchIn(In, wire_name="risk_case_patch", source="CONTRACT 8"):
    """What is to change of a case."""

    assignee_id: Uuid | None = None
    """The person who is to resolve it; null takes it from everyone. Format: the UUID of a user, or null."""


class ResolvedItemIn(In, wire_name="risk_case_resolution_input", source="CONTRACT 8"):
    """A case with its outcome."""

    id: Uuid
    """The case. Format: UUID, 36 characters."""
    outcome: Literal["fraud", "legitimate", "inconclusive"]
    """What the case turned out to be. Format: fraud, legitimate or inconclusive."""
    note: Annotated[str, Field(max_length=2_000)] | None = None
    """A note for colleagues. Format: text, at most 2000 characters."""


class ResolveManyIn(In, wire_name="risk_case_resolutions_input", source="CONTRACT 8"):
    """Cases with their outcomes, and how long these can be undone."""

    items: Annotated[list[ResolvedItemIn], Field(min_length=1, max_length=500)]
    """The cases. Format: 1-500."""
    undo_seconds: Annotated[int, Field(ge=0, le=60)] = 0
    """How long you can open the cases again; only then are the outcomes labels. Format: 0-60, by default 0."""


class ReopenIn(In, wire_name="risk_case_reopening_input", source="CONTRACT 8"):
    """Cases to open again."""

    ids: Annotated[list[Uuid], Field(min_length=1, max_length=500)]
    """The cases. Format: 1-500 UUIDs."""


class CaseErrorOut(Out, wire_name="risk_case_error", source="CONTRACT 8"):
    """Why a case stayed as it was."""

    code: CaseErrorCode
    """The kind of error. Format: NOT_FOUND, PERMISSION_DENIED or CONFLICT."""
    message: str
    """What is wrong, in a sentence. Format: text."""


class CaseResultOut(Out, wire_name="risk_case_result", source="CONTRACT 8"):
    """What became of a case; of one that stayed as it was, the error."""

    id: UUID
    """The case. Format: UUID, 36 characters."""
    status: Literal["open", "resolved"] | None = Field(default=None, exclude_if=lambda value: value is None)
    """Its status now. Format: open or resolved; left out with an error."""
    outcome: Literal["fraud", "legitimate", "inconclusive"] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    """Its outcome now. Format: fraud, legitimate or inconclusive; left out of an open case and with an error."""
    error: CaseErrorOut | None = Field(default=None, exclude_if=lambda value: value is None)
    """Why it stayed as it was. Format: left out without an error."""


class CaseResultsOut(Out, wire_name="risk_case_results", source="CONTRACT 8"):
    """What became of each case."""

    items: list[CaseResultOut]
    """The results, in the order of the request."""


class ResolveIn(In, wire_name="risk_case_outcome_input", source="CONTRACT 8"):
    """The outcome of a case."""

    outcome: Literal["fraud", "legitimate", "inconclusive"]
    """What the case turned out to be. Format: fraud, legitimate or inconclusive."""
    note: Annotated[str, Field(max_length=2_000)] | None = None
    """A note for colleagues. Format: text, at most 2000 characters."""


class ListEntryIn(In, wire_name="risk_list_entry_input", source="CONTRACT 8"):
    """An entity to put on a list, with the reason and perhaps an end."""

    list: Lists
    """The list. Format: allow or deny."""
    entity_type: EntityTypes
    """The type of the entity. Format: user, device, ip, document, session, issuer or attestation."""
    entity_id: EntityId
    """The id of the entity. Format: 1-256 characters."""
    reason: Annotated[str, Field(min_length=1, max_length=1_024)]
    """Why it is on the list. Format: text, 1-1024 characters."""
    expires_at: Moment | None = None
    """When the entry ends; null if it does not. Format: RFC 3339 date-time with an offset."""


class ListEntryOut(Out, wire_name="risk_list_entry", source="CONTRACT 8"):
    """An entity on a list."""

    id: UUID
    """The entry. Format: UUID, 36 characters."""
    list: Lists
    """The list. Format: allow or deny."""
    entity_type: EntityTypeName
    """The kind of entity. Format: user, device, ip, document, session, issuer or attestation."""
    entity_id: str
    """The entity. Format: at most 256 characters."""
    reason: str
    """Why it is on the list. Format: at most 1024 characters."""
    expires_at: Moment | None
    """When it ends by itself. Format: RFC 3339."""
    created_at: Moment
    """When it was added. Format: RFC 3339."""
    created_by: str
    """The user or key that added it. Format: id."""


class ListsQuery(PageQuery, Filters, wire_name="risk_lists_query", source="CONTRACT 8"):
    """Filters of the lists."""

    list: Annotated[Lists | None, Where("list")] = None
    """Only entries of this list. Format: allow or deny."""
    entity_type: Annotated[EntityTypes | None, Where("entity_type")] = None
    """Only entities of this type. Format: user, device, ip, document, session, issuer or attestation."""
    entity_id: Annotated[EntityId | None, Where("entity_id")] = None
    """Only this entity. Format: 1-256 characters."""

    _spell_id = field_validator("entity_id")(spell_filtered_id)
