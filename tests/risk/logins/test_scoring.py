"""The score: the contract's ladder, raised by other evidence, as a sum of factors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attestlab.risk.logins.circumstances import LoginEvidence
from attestlab.risk.logins.detector import RiskLevel, assess_evidence, find_level

STRENGTHS = st.lists(st.floats(0, 6), max_size=8)


def evidence_of(strengths: list[float]) -> list[LoginEvidence]:
    return [LoginEvidence(f"reason_{number}", 1, strength, "why") for number, strength in enumerate(strengths)]


@pytest.mark.parametrize(
    ("failures", "score", "level"),
    [
        (0, 10, "normal"),
        (4, 10, "normal"),
        (5, 50, "elevated"),
        (9, 50, "elevated"),
        (10, 70, "high"),
        (19, 70, "high"),
        (20, 90, "critical"),
        (500, 90, "critical"),
    ],
)
def test_failures_alone_give_the_ladder_of_the_contract(failures: int, score: int, level: str):
    assessment = assess_evidence(failures, [])

    assert (assessment.score, assessment.level) == (score, level)


@pytest.mark.parametrize(
    ("score", "level"),
    [(49.875, "normal"), (50, "elevated"), (69.875, "elevated"), (70, "high"), (89.875, "high"), (90, "critical")],
)
def test_the_level_is_the_scores(score: float, level: str):
    assert find_level(score) == RiskLevel(level)


@given(failures=st.integers(0, 60), strengths=STRENGTHS)
def test_factors_sum_exactly_to_the_score(failures: int, strengths: list[float]):
    assessment = assess_evidence(failures, evidence_of(strengths))

    assert sum(factor.contribution for factor in assessment.factors) == assessment.score
    assert all(factor.contribution >= 0 for factor in assessment.factors)


@given(failures=st.integers(0, 60), strengths=STRENGTHS, more=st.floats(0, 6))
def test_evidence_raises_the_ladder_and_never_lowers_it(failures: int, strengths: list[float], more: float):
    ladder = assess_evidence(failures, []).score
    some = assess_evidence(failures, evidence_of(strengths)).score

    assert ladder <= some <= assess_evidence(failures, evidence_of([*strengths, more])).score <= 100


def test_ten_times_the_odds_make_ten_percent_more_than_a_half():
    """A base of 10 is odds of 1:9; evidence of ln 10 makes them 10:9."""
    assert assess_evidence(0, evidence_of([2.302586])).score == pytest.approx(100 * 10 / 19, abs=0.125)


def test_stronger_evidence_has_the_larger_contribution_and_comes_first():
    factors = assess_evidence(0, evidence_of([0.5, 2.0, 1.0])).factors

    assert [factor.name for factor in factors] == ["failed_logins", "reason_1", "reason_2", "reason_0"]
    assert factors[1].contribution > factors[2].contribution > factors[3].contribution
