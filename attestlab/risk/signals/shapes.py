"""Wire models of risk signals (CONTRACT section 8)."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from attestlab.core.filters import NO_CONDITION, Filters, Where
from attestlab.core.shapes import In, Moment, Out
from attestlab.risk.shapes import EntityId, EntityTypeName, EntityTypes, Name, spell_filtered_id
from attestlab.web.paging import PageQuery

WholeScore = Annotated[int, Field(ge=0, le=100)]
_ALIASES = {"signal_source": "source", "subject_type": "entity_type", "subject_id": "entity_id"}


class SignalIn(In):
    """A signal to record; `score` is 0 to 100, or 0 to 1 with the scale `unit`."""

    source: Name
    signal_type: Name
    score: float
    score_scale: Literal["percent", "unit"] = "percent"
    details: dict[str, object] | None = None
    entity_type: EntityTypes
    entity_id: EntityId
    occurred_at: Moment | None = None


class SignalOut(Out):
    """A risk signal. `score_unit` is the score on the scale of 0 to 1."""

    id: UUID
    tenant_id: UUID
    source: str
    signal_type: str
    score: float
    score_unit: float
    details: dict[str, object]
    entity_type: EntityTypeName
    entity_id: str
    occurred_at: Moment
    created_at: Moment
    case_id: UUID | None
    event_id: UUID | None
    replaces: UUID | None


class RecordedSignalOut(SignalOut):
    """A risk signal that was recorded; `warnings` say what is probably a mistake."""

    warnings: list[str]


class SignalFilters(Filters):
    """Filters of signals. `from` and `to` filter by `occurred_at`; `to` is exclusive, scores inclusive.

    `signal_source`, `subject_type` and `subject_id` are other names of `source`, `entity_type` and `entity_id`.
    """

    source: Annotated[Name | None, Where("source")] = None
    signal_source: Annotated[Name | None, Where("source")] = None
    signal_type: Annotated[Name | None, Where("signal_type")] = None
    entity_type: Annotated[EntityTypes | None, Where("entity_type")] = None
    subject_type: Annotated[EntityTypes | None, Where("entity_type")] = None
    entity_id: Annotated[EntityId | None, Where("entity_id")] = None
    subject_id: Annotated[EntityId | None, Where("entity_id")] = None
    min_score: Annotated[WholeScore | None, Where("score", ">=")] = None
    max_score: Annotated[WholeScore | None, Where("score", "<=")] = None
    since: Annotated[Moment | None, Where("occurred_at", ">=")] = Field(default=None, alias="from")
    until: Annotated[Moment | None, Where("occurred_at", "<")] = Field(default=None, alias="to")

    _spell_ids = field_validator("entity_id", "subject_id")(spell_filtered_id)

    @model_validator(mode="after")
    def _require_one_name(self) -> SignalFilters:
        for alias, name in _ALIASES.items():
            if getattr(self, alias) is not None and getattr(self, name) not in (None, getattr(self, alias)):
                message = "{alias} and {name} are names of one filter; send one of them."
                raise PydanticCustomError("conflicting_names", message, {"alias": alias, "name": name})
        return self


class SignalsQuery(SignalFilters, PageQuery):
    """Filters of the list of signals, and the page."""


class ExportQuery(SignalFilters):
    """Filters of the signals to export, as of the list, and the format of the file."""

    format: Annotated[Literal["csv", "parquet", "json"], NO_CONDITION]
    bom: Annotated[bool, NO_CONDITION] = False

    @model_validator(mode="after")
    def _require_csv(self) -> ExportQuery:
        if self.bom and self.format != "csv":
            message = "Only a CSV file has a byte order mark. Omit `bom`, or send format=csv."
            raise PydanticCustomError("bom", message)
        return self


class RejectedLineOut(Out):
    """A line that was not recorded; `line` counts from 1."""

    line: int
    message: str


class BulkOut(Out):
    """The result of a bulk request; beyond 1,000, rejected lines are only counted, in `more_rejected`.

    Every line is read, so `not_read` is 0; `stopped_at_line` is null, and stays for clients that read it.
    `warnings` say what is probably a mistake.
    """

    accepted: int
    rejected: list[RejectedLineOut]
    more_rejected: int
    not_read: int
    stopped_at_line: int | None
    warnings: list[str]
