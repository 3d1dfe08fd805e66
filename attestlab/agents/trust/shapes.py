"""Wire models of trust: an agent's score with its components, and its history (CONTRACT 11.11)."""

from typing import Annotated

from pydantic import Field

from attestlab.agents.rules import TrustCause
from attestlab.agents.trust.rules import TrustComponent
from attestlab.core.filters import Filters, Where
from attestlab.core.shapes import Moment, Out, Uuid, one_of
from attestlab.web.paging import PageQuery


class TrustComponentOut(Out, wire_name="trust_component", source="CONTRACT 11.11"):
    """A part of the formula, with what it rests on."""

    name: Annotated[str, one_of(TrustComponent)]
    """The part. Format: compliance, success, delegation, key or witness."""
    value: float | None
    """How good the agent is there; null without evidence. Format: 0-1."""
    weight: float
    """Its weight in the formula. Format: 0-1; all five sum to 1."""
    evidence: int
    """How many facts it rests on. Format: from 0."""
    contribution: float
    """Its part of the raw value, by its weight among those with a value. Format: 0-1."""
    explanation: str
    """What it rests on. Format: one sentence."""


class TrustPenaltyOut(Out, wire_name="trust_penalty", source="CONTRACT 11.11"):
    """What a risk signal about the agent takes from its score now."""

    signal_id: Uuid
    """The signal. Format: UUID, 36 characters."""
    points: float
    """What it takes; all together take at most 0.5. Format: 0-0.5."""
    age_days: float
    """Its age, which halves the points every 14 days. Format: days, from 0."""


class TrustOut(Out, wire_name="agent_trust", source="CONTRACT 11.11"):
    """The trust score of an agent, with all that explains it."""

    score: float
    """The score. Format: 0.000-1.000."""
    raw: float
    """The weighted mean of the components that have a value. Format: 0.000-1.000."""
    evidence: int
    """The outcomes, checks and decided requests that count. Format: from 0."""
    components: list[TrustComponentOut]
    """The parts of the formula. Format: all five, also those without evidence."""
    penalties: list[TrustPenaltyOut]
    """The risk signals of 140 days that count, the highest first. Format: the 100 highest."""
    cap: float | None
    """The parent's score, if it lowers this one. Format: 0.000-1.000."""
    computed_at: Moment
    """When it was computed. Format: RFC 3339 date-time, UTC, milliseconds."""


class TrustChangeOut(Out, wire_name="agent_trust_change", source="CONTRACT 11.11"):
    """A change of an agent's trust score, or its first evidence."""

    at: Moment
    """When it changed. Format: RFC 3339 date-time, UTC, milliseconds."""
    score: float
    """The score from then on. Format: 0.000-1.000."""
    cause: Annotated[str, one_of(TrustCause)]
    """Why. Format: compliance, outcomes, witness, signal, key, delegation, parent or time."""
    evidence: int
    """The outcomes, checks and decided requests at that time. Format: from 0. Source: docs/agents.md."""
    reference: Uuid | None
    """The check, request for votes, signal, delegation or parent that caused it. Format: UUID, 36 characters.
    Source: docs/agents.md.
    """


class TrustHistoryQuery(PageQuery, Filters, wire_name="agent_trust_history_query", source="CONTRACT 11.11"):
    """Filters of the history of an agent's trust score."""

    since: Annotated[Moment | None, Where("at", ">=")] = Field(default=None, alias="from")
    """Only changes at or after this moment. Format: RFC 3339 date-time with an offset."""
    until: Annotated[Moment | None, Where("at", "<")] = Field(default=None, alias="to")
    """Only changes before this moment. Format: RFC 3339 date-time with an offset."""
