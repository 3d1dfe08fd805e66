"""Wire models of risk (CONTRACT section 8)."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, ValidationInfo

from attestlab.core.shapes import In, Moment, Out, one_of
from attestlab.core.text_forms import describe_form
from attestlab.risk.rules import MAX_ENTITY_ID_LENGTH, NAME_PATTERN, EntityType, spell_filter

EntityTypes = Literal["user", "device", "ip", "document", "session", "issuer", "attestation"]
EntityTypeName = Annotated[str, one_of(EntityType)]
_PRINTABLE = describe_form(r"^[^\x00-\x1f\x7f]*$", "An id has no control characters. Remove them.")
EntityId = Annotated[str, Field(min_length=1, max_length=MAX_ENTITY_ID_LENGTH, pattern=_PRINTABLE)]
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
Reason = Annotated[str, Field(min_length=10, max_length=1_024)]
Text = Annotated[str, Field(min_length=1, max_length=512)]


def spell_filtered_id(entity_id: str | None, info: ValidationInfo) -> str | None:
    """Return the id that a filter names as the records spell it; the type is a field before that of the id."""
    return spell_filter(info.data.get("entity_type") or info.data.get("subject_type"), entity_id)


class FactorOut(Out):
    """One reason for a score; the contributions of all factors sum to the score."""

    name: str
    value: float | int | str | bool
    weight: float
    contribution: float
    explanation: str


class VelocityIn(In):
    """One occurrence of an action of an entity."""

    entity_type: EntityTypes
    entity_id: EntityId
    action: Name
    occurred_at: Moment | None = None


class VelocityOut(Out):
    """The score of the action's frequency; `windows` are counts by window: 1m, 5m, 1h and 24h.

    A count is exact up to 1,000, and stays there; the score is exact always, because it is full from 300 on.
    """

    score: float
    windows: dict[str, int]
    factors: list[FactorOut]
    signal_id: UUID | None


class LoginAttemptIn(In):
    """One attempt to log in; every value but the subject and the outcome may be missing.

    A placeholder, such as the device `unknown`, the address `0.0.0.0` or the country `ZZ`, counts as missing.
    """

    subject_id: EntityId
    outcome: Literal["success", "failure"]
    ip: Annotated[str, Field(max_length=45)] | None = None
    device_id: EntityId | None = None
    country: Annotated[str, Field(max_length=16)] | None = None
    user_agent: Text | None = None
    occurred_at: Moment | None = None
    backfill: bool = False


class BackfillProgressOut(Out):
    """How many logins of the past were accepted, each once, and how many of them are learnt."""

    accepted: int
    learnt: int


class LoginOut(Out):
    """The score of a login with its level, and the signal that it became from a score of 60 on."""

    score: float
    level: Literal["normal", "elevated", "high", "critical"]
    factors: list[FactorOut]
    signal_id: UUID | None


class ScanIn(In):
    """Media to scan, indicators of the caller's own detectors, or both; `subject_ref` is the id of a document."""

    subject_ref: EntityId
    content_b64url: str | None = None
    content_type: Annotated[str, Field(max_length=100)] | None = None
    indicators: dict[str, float | bool] | None = None
    claimed_at: Moment | None = None


class ScanOut(Out):
    """The score of the marks that the media carries, and the signal that it became from a score of 60 on.

    It is heuristic: `details.heuristic` says what the score means, and `details.not_examined` what was left out.
    """

    score: float
    verdict: Literal["clean", "suspect", "likely"]
    factors: list[FactorOut]
    signal_id: UUID | None
    details: dict[str, object]


class DriftQuery(In):
    """The window of scores, by default the last seven days; it is rounded to whole hours."""

    since: Moment | None = Field(default=None, alias="from")
    until: Moment | None = Field(default=None, alias="to")


class KindDriftOut(Out):
    """The drift of one source and type; `counts` are signals by tens of the score, from 0-10 to 90-100.

    `psi` is null and `level` is `too_few` with fewer than 500 signals in one of the windows.
    """

    source: str
    signal_type: str
    psi: float | None
    level: Literal["stable", "moderate", "major", "too_few"]
    counts: list[int]
    reference_counts: list[int]


class DriftOut(Out):
    """The drift of the window `from` - `to` against `reference_from` - `from`, strongest first."""

    since: Moment = Field(serialization_alias="from")
    until: Moment = Field(serialization_alias="to")
    reference_since: Moment = Field(serialization_alias="reference_from")
    items: list[KindDriftOut]
    truncated: bool


class SourceOut(Out):
    """A source of signals; durations are in seconds, and null while the source has no rhythm.

    `warning` says what is probably a mistake, such as scores of another scale.
    """

    source: str
    count: int
    first_seen: Moment
    last_seen: Moment
    typical_gap_s: int | None
    silent_after_s: int | None
    silent: bool
    warning: str | None
