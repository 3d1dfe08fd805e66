"""Rules of trust: the formula of an agent's score, with each component explained (CONTRACT 11.11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from attestlab.agents.rules import INITIAL_TRUST_SCORE
from attestlab.core.counting import plural

DAMPING: Final = 20
"""How many pieces of evidence move a score half of the way from 0.5 to the raw value."""
DEPTH_STEP: Final = 0.12
FRESH_KEY_AGE: Final = timedelta(days=90)
OLD_KEY_AGE: Final = timedelta(days=365)
PENALTY_DIVISOR: Final = 200
PENALTY_HALF_LIFE: Final = timedelta(days=14)
MAX_PENALTY: Final = 0.5
DECIMALS: Final = 3


class TrustComponent(StrEnum):
    """A part of the formula; the values are the names on the wire."""

    COMPLIANCE = "compliance"
    SUCCESS = "success"
    DELEGATION = "delegation"
    KEY = "key"
    WITNESS = "witness"


WEIGHTS: Final = {
    TrustComponent.COMPLIANCE: 0.35,
    TrustComponent.SUCCESS: 0.25,
    TrustComponent.DELEGATION: 0.20,
    TrustComponent.KEY: 0.10,
    TrustComponent.WITNESS: 0.10,
}


@dataclass(frozen=True, kw_only=True)
class TrustFacts:
    """What is known of an agent, without what it reported about itself through its own session."""

    key_age: timedelta
    key_is_compromised: bool = False
    delegation_depth: int = 0
    checks: int = 0
    passed_controls: int = 0
    asked_controls: int = 0
    succeeded_events: int = 0
    events: int = 0
    confirmed_requests: int = 0
    decided_requests: int = 0

    @property
    def evidence(self) -> int:
        """The number of events, checks and decided requests."""
        return self.events + self.checks + self.decided_requests


@dataclass(frozen=True)
class RiskFact:
    """A risk signal of source `agent` about the agent; `score` is 0-100."""

    signal_id: UUID
    score: float
    at: datetime


@dataclass(frozen=True)
class ComponentScore:
    """A component with its reason; `value` is 0-1 or None, `contribution` its part of the raw value."""

    name: TrustComponent
    value: float | None
    weight: float
    evidence: int
    contribution: float
    explanation: str


@dataclass(frozen=True)
class Penalty:
    """What a risk signal takes from the score now."""

    signal_id: UUID
    points: float
    age_days: float


@dataclass(frozen=True)
class TrustScore:
    """A score from 0 to 1 with all that explains it; `cap` is the parent's score where it lowered this one."""

    score: float
    raw: float
    evidence: int
    components: tuple[ComponentScore, ...]
    penalties: tuple[Penalty, ...]
    cap: float | None
    computed_at: datetime


@dataclass(frozen=True)
class _Measure:
    value: float | None
    evidence: int
    explanation: str


def compute_trust(
    facts: TrustFacts, *, signals: Sequence[RiskFact] = (), parent_score: float | None = None, now: datetime
) -> TrustScore:
    """Compute an agent's trust score from evidence, risk signals and its parent's score.

    The parent's score is a cap once there is evidence or a signal: an agent without either has exactly 0.500.
    """
    components = _weigh(_measure(facts))
    raw = sum(component.contribution for component in components)
    penalties = tuple(_penalize(signal, now=now) for signal in signals)
    evidence = facts.evidence
    earned = INITIAL_TRUST_SCORE + (raw - INITIAL_TRUST_SCORE) * evidence / (evidence + DAMPING)
    lost = min(MAX_PENALTY, sum(penalty.points for penalty in penalties))
    score = round(min(1.0, max(0.0, earned - lost)), DECIMALS)
    is_new = evidence == 0 and not penalties
    cap = parent_score if parent_score is not None and not is_new and parent_score < score else None
    return TrustScore(score if cap is None else cap, round(raw, DECIMALS), evidence, components, penalties, cap, now)


def _measure(facts: TrustFacts) -> dict[TrustComponent, _Measure]:
    return {
        TrustComponent.COMPLIANCE: _measure_compliance(facts),
        TrustComponent.SUCCESS: _measure_success(facts),
        TrustComponent.DELEGATION: _measure_delegation(facts),
        TrustComponent.KEY: _measure_key(facts),
        TrustComponent.WITNESS: _measure_witness(facts),
    }


def _measure_compliance(facts: TrustFacts) -> _Measure:
    if not facts.checks or not facts.asked_controls:
        return _Measure(None, 0, "There is no compliance check of this agent.")
    passed, asked = facts.passed_controls, facts.asked_controls
    return _Measure(
        passed / asked, facts.checks, f"The last compliance check passed {passed} of {plural(asked, 'control')}."
    )


def _measure_success(facts: TrustFacts) -> _Measure:
    if not facts.events:
        return _Measure(None, 0, "There is no outcome that others reported in 30 days.")
    value = (facts.succeeded_events + 1) / (facts.events + 2)
    sentence = (
        f"{facts.succeeded_events} of {plural(facts.events, 'outcome')} that others reported in 30 days succeeded."
    )
    return _Measure(value, facts.events, sentence)


def _measure_delegation(facts: TrustFacts) -> _Measure:
    depth = facts.delegation_depth
    return _Measure(max(0.0, 1 - DEPTH_STEP * depth), 1, f"The agent's delegation depth is {depth}.")


def _measure_key(facts: TrustFacts) -> _Measure:
    if facts.key_is_compromised:
        return _Measure(0.0, 1, "The agent's key is compromised.")
    aged = (facts.key_age - FRESH_KEY_AGE) / (OLD_KEY_AGE - FRESH_KEY_AGE)
    return _Measure(min(1.0, max(0.0, 1 - aged)), 1, f"The agent's key is {plural(facts.key_age.days, 'day')} old.")


def _measure_witness(facts: TrustFacts) -> _Measure:
    confirmed, decided = facts.confirmed_requests, facts.decided_requests
    if not decided:
        return _Measure(None, 0, "Other agents have decided no claim of this agent.")
    return _Measure(confirmed / decided, decided, f"Other agents confirmed {confirmed} of {decided} decided claims.")


def _weigh(measures: dict[TrustComponent, _Measure]) -> tuple[ComponentScore, ...]:
    """Weigh each component; weights of those without evidence go to the others in proportion."""
    total = sum(WEIGHTS[name] for name, found in measures.items() if found.value is not None)
    return tuple(
        ComponentScore(
            name,
            found.value,
            WEIGHTS[name],
            found.evidence,
            0.0 if found.value is None else found.value * WEIGHTS[name] / total,
            found.explanation,
        )
        for name, found in measures.items()
    )


def _penalize(signal: RiskFact, *, now: datetime) -> Penalty:
    age = max(timedelta(0), now - signal.at)
    points = signal.score / PENALTY_DIVISOR * 0.5 ** (age / PENALTY_HALF_LIFE)
    return Penalty(signal.signal_id, points, age / timedelta(days=1))
