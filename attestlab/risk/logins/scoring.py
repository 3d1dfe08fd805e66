"""From evidence to a score: the ladder gives the base, other evidence raises it, and the factors sum to the score.

The base is read as a probability. LoginEvidence, the logarithm of a likelihood ratio, is added to its log-odds: so it
raises every base and reaches 100 for none. The rise is shared among the evidence in proportion to its strength.
Contributions are multiples of 1/8, which binary fractions hold exactly, so that they sum to the score exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log

from attestlab.risk.logins.circumstances import LoginEvidence
from attestlab.risk.logins.parameters import CRITICAL, ELEVATED, HIGH, LADDER

STEPS = 8  # of one point


class RiskLevel(StrEnum):
    """The level of a score (CONTRACT section 8)."""

    NORMAL = "normal"
    ELEVATED = "elevated"
    HIGH = "high"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class LoginFactor:
    """One term of a score: what was measured, its weight as evidence, and its points of the score."""

    name: str
    value: float
    weight: float
    contribution: float
    explanation: str


@dataclass(frozen=True, slots=True)
class LoginAssessment:
    """The score of a login, 0-100; the contributions of the factors sum to it exactly."""

    score: float
    level: RiskLevel
    factors: tuple[LoginFactor, ...]


def read_ladder(failures: int) -> int:
    """Return the ladder's score for a number of failures within an hour."""
    return next(score for least, score in LADDER if failures >= least)


def find_level(score: float) -> RiskLevel:
    """Return the level of a score."""
    if score < ELEVATED:
        return RiskLevel.NORMAL
    if score < HIGH:
        return RiskLevel.ELEVATED
    return RiskLevel.HIGH if score < CRITICAL else RiskLevel.CRITICAL


def assess_evidence(failures: int, evidence: Sequence[LoginEvidence]) -> LoginAssessment:
    """Combine the ladder with other evidence."""
    base = read_ladder(failures)
    found = sorted((each for each in evidence if each.strength > 0), key=lambda each: -each.strength)
    rise = _steps_of_rise(base, sum(each.strength for each in found))
    points = _share_steps(rise, [each.strength for each in found])
    text = f"{failures} failed logins of this user within an hour."
    factors = [
        LoginFactor(each.name, each.value, round(each.strength, 2), share / STEPS, each.explanation)
        for each, share in zip(found, points, strict=True)
    ]
    score = base + rise / STEPS
    return LoginAssessment(
        score, find_level(score), (LoginFactor("failed_logins", failures, 1.0, base, text), *factors)
    )


def _steps_of_rise(base: int, strength: float) -> int:
    """Return by how many steps evidence raises a base; rounded down, so that 100 is never reached."""
    odds = log(base / (100 - base)) + strength
    return max(0, int((100 / (1 + exp(-odds)) - base) * STEPS + 1e-6))


def _share_steps(rise: int, strengths: list[float]) -> list[int]:
    """Divide whole steps in proportion; the strongest evidence takes the remainder."""
    total = sum(strengths)
    shares = [int(rise * strength / total) for strength in strengths]
    if shares:
        shares[0] += rise - sum(shares)
    return shares
