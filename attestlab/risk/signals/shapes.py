"""Wire models of risk signals (CONTRACT section 8)."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from attestlab.core.filters import NO_CONDITION, Filters, Where
from attestlab.core.shapes import In, Moment, Out
from attestlab.risk.shapes import EntityId, EntityTypeName, EntityTypes, Identifier, spell_filtered_id
from attestlab.web.paging import PageQuery

WholeScore = Annotated[int, Field(ge=0, le=100)]
_ALIASES = {"signal_source": "source", "subject_type": "entity_type", "subject_id": "entity_id"}


class SignalIn(In, wire_name="risk_signal_input", source="SPEC Risk signal"):
    """A signal to record; `score` is 0 to 100, or 0 to 1 with the scale `unit`."""

    source: Identifier
    """The system that scored. Format: 1-64 of a-z 0-9 _."""
    signal_type: Identifier
    """The kind of the signal. Format: 1-64 of a-z 0-9 _."""
    score: float
    """The score. Format: 0-100, or 0-1 with the scale unit."""
    score_scale: Literal["percent", "unit"] = "percent"
    """The scale of the score. Format: percent or unit. Source: CONTRACT 8."""
    details: dict[str, object] | None = None
    """Further facts about it. Format: JSON."""
    entity_type: EntityTypes
    """The type of the entity that it is about. Format: user, device, ip, document, session, issuer or attestation."""
    entity_id: EntityId
    """The id of that entity. Format: 1-256 characters."""
    occurred_at: Moment | None = None
    """When it happened; by default now. Format: RFC 3339 date-time with an offset, not in the future.
    Source: CONTRACT 8.
    """


class SignalOut(Out, wire_name="risk_signal", source="SPEC Risk signal"):
    """A risk signal. `score_unit` is the score on the scale of 0 to 1."""

    id: UUID
    """The signal. Format: UUID, 36 characters."""
    tenant_id: UUID
    """The tenant. Format: UUID, 36 characters."""
    source: str
    """What produced the signal. Format: a-z, 0-9 and _, at most 64."""
    signal_type: str
    """What kind of risk it states. Format: a-z, 0-9 and _, at most 64."""
    score: float
    """How risky the entity looked. Format: from 0 to 100. Source: CONTRACT 8."""
    score_unit: float
    """The score divided by 100. Format: from 0 to 1. Source: CONTRACT 8."""
    details: dict[str, object]
    """Its details; with `factors` if the service scored it. Format: JSON."""
    entity_type: EntityTypeName
    """What the signal is about. Format: user, device, ip, document, session, issuer or attestation."""
    entity_id: str
    """The id of that entity. Format: at most 256 characters."""
    occurred_at: Moment
    """When it happened. Format: RFC 3339. Source: CONTRACT 8."""
    created_at: Moment
    """When it was recorded. Format: RFC 3339."""
    case_id: UUID | None
    """The case that it opened or joined. Format: UUID, 36 characters. Source: CONTRACT 8."""
    event_id: UUID | None
    """The raw event that it was normalized from. Format: UUID, 36 characters. Source: CONTRACT 8."""
    replaces: UUID | None
    """The signal that an earlier mapping had made of that event. Format: UUID, 36 characters. Source: CONTRACT 8."""


class RecordedSignalOut(SignalOut, wire_name="risk_recorded_signal", source="docs/risk.md"):
    """A risk signal that was recorded; `warnings` say what is probably a mistake."""

    warnings: list[str]
    """What is probably a mistake of its source. Format: sentences."""


class SignalFilters(Filters, source="CONTRACT 8"):
    """Filters of signals. `from` and `to` filter by `occurred_at`; `to` is exclusive, scores inclusive.

    `signal_source`, `subject_type` and `subject_id` are other names of `source`, `entity_type` and `entity_id`.
    """

    source: Annotated[Identifier | None, Where("source")] = None
    """Only signals of this source. Format: 1-64 of a-z 0-9 _."""
    signal_source: Annotated[Identifier | None, Where("source")] = None
    """Another name of source. Format: 1-64 of a-z 0-9 _."""
    signal_type: Annotated[Identifier | None, Where("signal_type")] = None
    """Only signals of this type. Format: 1-64 of a-z 0-9 _."""
    entity_type: Annotated[EntityTypes | None, Where("entity_type")] = None
    """Only signals about entities of this type. Format: user, device, ip, document, session, issuer or attestation."""
    subject_type: Annotated[EntityTypes | None, Where("entity_type")] = None
    """Another name of entity_type. Format: user, device, ip, document, session, issuer or attestation."""
    entity_id: Annotated[EntityId | None, Where("entity_id")] = None
    """Only signals about this entity. Format: 1-256 characters."""
    subject_id: Annotated[EntityId | None, Where("entity_id")] = None
    """Another name of entity_id. Format: 1-256 characters."""
    min_score: Annotated[WholeScore | None, Where("score", ">=")] = None
    """Only scores from this one on. Format: 0-100."""
    max_score: Annotated[WholeScore | None, Where("score", "<=")] = None
    """Only scores up to this one. Format: 0-100."""
    since: Annotated[Moment | None, Where("occurred_at", ">=")] = Field(default=None, alias="from")
    """Only signals that occurred at or after this moment. Format: RFC 3339 date-time with an offset."""
    until: Annotated[Moment | None, Where("occurred_at", "<")] = Field(default=None, alias="to")
    """Only signals that occurred before this moment. Format: RFC 3339 date-time with an offset."""

    _spell_ids = field_validator("entity_id", "subject_id")(spell_filtered_id)

    @model_validator(mode="after")
    def _require_one_name(self) -> SignalFilters:
        for alias, name in _ALIASES.items():
            if getattr(self, alias) is not None and getattr(self, name) not in (None, getattr(self, alias)):
                message = "{alias} and {name} are names of one filter; send one of them."
                raise PydanticCustomError("conflicting_names", message, {"alias": alias, "name": name})
        return self


class SignalsQuery(SignalFilters, PageQuery, wire_name="risk_signals_query"):
    """Filters of the list of signals, and the page."""


class ExportQuery(SignalFilters, wire_name="risk_export_query", source="CONTRACT 8"):
    """Filters of the signals to export, as of the list, and the format of the file."""

    format: Annotated[Literal["csv", "parquet", "json"], NO_CONDITION]
    """The format of the file. Format: csv, parquet or json."""
    bom: Annotated[bool, NO_CONDITION] = False
    """Whether a CSV file begins with a byte order mark, for Excel. Format: true or false. Source: docs/risk.md."""

    @model_validator(mode="after")
    def _require_csv(self) -> ExportQuery:
        if self.bom and self.format != "csv":
            message = "Only a CSV file has a byte order mark. Omit `bom`, or send format=csv."
            raise PydanticCustomError("bom", message)
        return self


class RejectedLineOut(Out, wire_name="risk_rejected_line", source="CONTRACT 8"):
    """A line that was not recorded; `line` counts from 1."""

    line: int
    """The number of the line. Format: from 1."""
    message: str
    """Why it was not accepted. Format: text."""


class BulkOut(Out, wire_name="risk_bulk", source="CONTRACT 8"):
    """The result of a bulk request; beyond 1,000, rejected lines are only counted, in `more_rejected`.

    Every line is read, so `not_read` is 0; `stopped_at_line` is null, and stays for clients that read it.
    `warnings` say what is probably a mistake.
    """

    accepted: int
    """The lines that were accepted. Format: lines."""
    rejected: list[RejectedLineOut]
    """The lines that were not accepted. Format: at most 1000."""
    more_rejected: int
    """The rejected lines beyond those that are listed. Format: lines."""
    not_read: int
    """The lines that were not read: 0, because every line is. Format: lines."""
    stopped_at_line: int | None
    """Null, because every line is read; clients of earlier versions expect it. Format: null."""
    warnings: list[str]
    """What is probably a mistake of a source. Format: sentences. Source: docs/risk.md."""
