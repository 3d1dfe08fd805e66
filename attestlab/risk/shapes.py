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
Identifier = Annotated[str, Field(pattern=NAME_PATTERN)]


def spell_filtered_id(entity_id: str | None, info: ValidationInfo) -> str | None:
    """Return the id that a filter names as the records spell it; the type is a field before that of the id."""
    return spell_filter(info.data.get("entity_type") or info.data.get("subject_type"), entity_id)


class FactorOut(Out, wire_name="risk_factor", source="CONTRACT 8"):
    """One reason for a score; the contributions of all factors sum to the score."""

    name: str
    """What was measured. Format: a-z, 0-9 and _."""
    value: float | int | str | bool
    """The measured value. Format: JSON."""
    weight: float
    """How much it can contribute or how strong its evidence is. Format: from 0."""
    contribution: float
    """Its part of the score. Format: from 0 to 100."""
    explanation: str
    """The same in words. Format: a sentence or empty. Source: docs/risk.md."""


class VelocityIn(In, source="CONTRACT 8"):
    """One occurrence of an action of an entity."""

    entity_type: EntityTypes
    """The type of the entity that acted. Format: user, device, ip, document, session, issuer or attestation."""
    entity_id: EntityId
    """The id of that entity. Format: 1-256 characters."""
    action: Identifier
    """The action; each is counted on its own. Format: 1-64 of a-z 0-9 _."""
    occurred_at: Moment | None = None
    """When it happened; by default now.
    Format: RFC 3339 date-time with an offset, not in the future, at most 24 hours ago.
    """


class VelocityOut(Out, source="CONTRACT 8"):
    """The score of the action's frequency; `windows` are counts by window: 1m, 5m, 1h and 24h.

    A count is exact up to 1,000, and stays there; the score is exact always, because it is full from 300 on.
    """

    score: float
    """The score of the frequency. Format: 0-100."""
    windows: dict[str, int]
    """How often the entity did it in each window; exact up to 1000, and 1000 beyond.
    Format: counts by 1m, 5m, 1h and 24h; at most 1000 each.
    """
    factors: list[FactorOut]
    """The reasons for the score."""
    signal_id: UUID | None
    """The signal that it became, from a score of 60 on. Format: UUID, 36 characters."""


class LoginAttemptIn(In, source="CONTRACT 8"):
    """One attempt to log in; every value but the subject and the outcome may be missing.

    A placeholder, such as the device `unknown`, the address `0.0.0.0` or the country `ZZ`, counts as missing.
    """

    subject_id: EntityId
    """The user who tries to log in. Format: 1-256 characters."""
    outcome: Literal["success", "failure"]
    """Whether the login succeeded. Format: success or failure."""
    ip: Annotated[str, Field(max_length=45)] | None = None
    """The client's address. Format: IPv4 or IPv6 address."""
    device_id: EntityId | None = None
    """The client's device. Format: 1-256 characters."""
    country: Annotated[str, Field(max_length=16)] | None = None
    """The client's country, where the caller knows it; a placeholder such as ZZ counts as missing.
    Format: ISO 3166-1 alpha-2 in either case, or XK.
    """
    user_agent: Annotated[str, Field(min_length=1, max_length=512)] | None = None
    """The client's User-Agent header. Format: text, at most 512 characters."""
    occurred_at: Moment | None = None
    """When it happened; by default now.
    Format: RFC 3339 date-time with an offset, not in the future, at most three days ago, or five years with backfill.
    """
    backfill: bool = False
    """Whether it is a login of the past: it is learnt and becomes no signal. Format: true or false, false by default.
    """


class BackfillProgressOut(Out, wire_name="login_backfill", source="CONTRACT 8"):
    """How many logins of the past were accepted, each once, and how many of them are learnt."""

    accepted: int
    """The logins of the past that were accepted, each once. Format: logins."""
    learnt: int
    """Of them, those that scores depend on; as many as accepted when all are learnt. Format: logins."""


class LoginOut(Out, wire_name="login_assessment", source="CONTRACT 8"):
    """The score of a login with its level, and the signal that it became from a score of 60 on."""

    score: float
    """The score of the login. Format: 0-100."""
    level: Literal["normal", "elevated", "high", "critical"]
    """The score in a word. Format: normal, elevated (from 50), high (from 70) or critical (from 90)."""
    factors: list[FactorOut]
    """The reasons for the score."""
    signal_id: UUID | None
    """The signal that it became, from a score of 60 on. Format: UUID, 36 characters."""


class ScanIn(In, wire_name="media_scan_input", source="CONTRACT 8"):
    """Media to scan, indicators of the caller's own detectors, or both; `subject_ref` is the id of a document."""

    subject_ref: EntityId
    """The id of the document that the media belongs to. Format: 1-256 characters."""
    content_b64url: str | None = None
    """The file; it is not stored. Format: base64url, at most 52428800 characters."""
    content_type: Annotated[str, Field(max_length=100)] | None = None
    """The type that the file claims to have. Format: a media type."""
    indicators: dict[str, float | bool] | None = None
    """Results of the caller's own detectors. Format: numbers 0-1 or booleans by name."""
    claimed_at: Moment | None = None
    """When the media claims to have been taken. Format: RFC 3339 date-time with an offset."""


class ScanOut(Out, wire_name="media_scan", source="CONTRACT 8"):
    """The score of the marks that the media carries, and the signal that it became from a score of 60 on.

    It is heuristic: `details.heuristic` says what the score means, and `details.not_examined` what was left out.
    """

    score: float
    """The score of the marks that the media carries. Format: 0-100."""
    verdict: Literal["clean", "suspect", "likely"]
    """The score in a word. Format: clean, suspect (from 40) or likely (from 75)."""
    factors: list[FactorOut]
    """The reasons for the score."""
    signal_id: UUID | None
    """The signal that it became, from a score of 60 on. Format: UUID, 36 characters."""
    details: dict[str, object]
    """What the score means, and what was not examined. Format: heuristic, not_examined and more."""


class DriftQuery(In, wire_name="risk_drift_query", source="CONTRACT 8"):
    """The window of scores, by default the last seven days; it is rounded to whole hours."""

    since: Moment | None = Field(default=None, alias="from")
    """The beginning of the window, rounded to hours; by default seven days ago.
    Format: RFC 3339 date-time with an offset.
    """
    until: Moment | None = Field(default=None, alias="to")
    """Its end, exclusive; by default now. Format: RFC 3339 date-time with an offset."""


class KindDriftOut(Out, wire_name="risk_kind_drift", source="CONTRACT 8"):
    """The drift of one source and type; `counts` are signals by tens of the score, from 0-10 to 90-100.

    `psi` is null and `level` is `too_few` with fewer than 500 signals in one of the windows.
    """

    source: str
    """The source. Format: a-z, 0-9 and _, at most 64."""
    signal_type: str
    """The type. Format: a-z, 0-9 and _, at most 64."""
    psi: float | None
    """The population stability index; null for too few signals. Format: from 0."""
    level: Literal["stable", "moderate", "major", "too_few"]
    """What the index means. Format: stable, moderate, major or too_few. Source: docs/risk.md."""
    counts: list[int]
    """The signals of the window, by tens of the score. Format: ten. Source: docs/risk.md."""
    reference_counts: list[int]
    """The same of the window before. Format: ten. Source: docs/risk.md."""


class DriftOut(Out, wire_name="risk_drift", source="CONTRACT 8"):
    """The drift of the window `from` - `to` against `reference_from` - `from`, strongest first."""

    since: Moment = Field(serialization_alias="from")
    """The beginning of the window. Format: RFC 3339."""
    until: Moment = Field(serialization_alias="to")
    """The end of the window, not part of it. Format: RFC 3339."""
    reference_since: Moment = Field(serialization_alias="reference_from")
    """The beginning of the window before it. Format: RFC 3339. Source: docs/risk.md."""
    items: list[KindDriftOut]
    """The drift by source and type. Format: strongest first."""
    truncated: bool
    """Whether there were more than 200 sources. Format: true or false. Source: docs/risk.md."""


class SourceOut(Out, wire_name="risk_source", source="docs/risk.md"):
    """A source of signals; durations are in seconds, and null while the source has no rhythm.

    `warning` says what is probably a mistake, such as scores of another scale.
    """

    source: str
    """The source of signals. Format: a-z, 0-9 and _, at most 64. Source: CONTRACT 8."""
    count: int
    """The number of its signals. Format: from 1."""
    first_seen: Moment
    """When the earliest of them occurred. Format: RFC 3339."""
    last_seen: Moment
    """When the latest of them occurred. Format: RFC 3339. Source: CONTRACT 8."""
    typical_gap_s: int | None
    """The median pause between hours with signals; null without a rhythm. Format: seconds."""
    silent_after_s: int | None
    """The quiet time after which it counts as silent; null without a rhythm. Format: seconds."""
    silent: bool
    """Whether it has been quiet for longer than that. Format: true or false. Source: CONTRACT 8."""
    warning: str | None
    """What is probably a mistake of the source; null if nothing is.
    Format: a sentence, such as on the scale of its scores.
    """
