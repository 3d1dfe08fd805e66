"""The formula of trust: bounds, direction of each fact, new agents, the parent's cap, penalties, rounding."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.agents.rules import TrustLevel, choose_trust_level
from attestlab.agents.trust.rules import (
    WEIGHTS,
    RiskFact,
    TrustComponent,
    TrustFacts,
    TrustScore,
    compute_trust,
)
from support.property_tests import examples

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 6, 1, tzinfo=UTC)
NEW = TrustFacts(key_age=timedelta(0))
WORKED = TrustFacts(
    key_age=timedelta(days=145),
    delegation_depth=2,
    checks=1,
    passed_controls=9,
    asked_controls=10,
    succeeded_events=17,
    events=18,
    confirmed_requests=1,
    decided_requests=1,
)


def signal_of(score: float, *, age_days: float = 0.0) -> RiskFact:
    return RiskFact(UUID(int=1), score, NOW - timedelta(days=age_days))


def trust_of(facts: TrustFacts, *signals: RiskFact, parent: float | None = None) -> TrustScore:
    return compute_trust(facts, signals=signals, parent_score=parent, now=NOW)


@st.composite
def facts_of_agents(draw: st.DrawFn) -> TrustFacts:
    events, decided = draw(st.integers(0, 500)), draw(st.integers(0, 50))
    asked = draw(st.integers(1, 10))
    return TrustFacts(
        key_age=timedelta(days=draw(st.integers(0, 800))),
        key_is_compromised=draw(st.booleans()),
        delegation_depth=draw(st.integers(0, 8)),
        checks=draw(st.integers(0, 5)),
        passed_controls=draw(st.integers(0, asked)),
        asked_controls=asked,
        succeeded_events=draw(st.integers(0, events)),
        events=events,
        confirmed_requests=draw(st.integers(0, decided)),
        decided_requests=decided,
    )


ROUNDING = 0.0005 + 1e-9  # what rounding takes, and what sums of floats add
signals = st.lists(st.builds(signal_of, st.floats(0, 100), age_days=st.floats(-1, 400)), max_size=5)
parents = st.none() | st.integers(0, 1000).map(lambda thousandths: thousandths / 1000)


@pytest.mark.more_in_soak
@settings(max_examples=examples(30, many=2000))
@given(facts_of_agents(), signals, parents)
def test_score_is_bounded_rounded_and_explained(facts: TrustFacts, found: list[RiskFact], parent: float | None) -> None:
    trust = trust_of(facts, *found, parent=parent)
    assert 0 <= trust.score <= 1
    assert trust.score == round(trust.score, 3)
    assert [component.name for component in trust.components] == list(TrustComponent)
    assert all(component.explanation.endswith(".") for component in trust.components)
    assert sum(component.contribution for component in trust.components) == pytest.approx(trust.raw, abs=ROUNDING)
    if parent is not None and (facts.evidence or found):
        assert trust.score <= parent


@pytest.mark.more_in_soak
@settings(max_examples=examples(30, many=2000))
@given(facts_of_agents())
def test_no_fact_that_gets_worse_raises_the_score(facts: TrustFacts) -> None:
    worse = [
        replace(facts, passed_controls=max(0, facts.passed_controls - 1)),
        replace(facts, succeeded_events=max(0, facts.succeeded_events - 1)),
        replace(facts, confirmed_requests=max(0, facts.confirmed_requests - 1)),
        replace(facts, delegation_depth=facts.delegation_depth + 1),
        replace(facts, key_age=facts.key_age + timedelta(days=30)),
        replace(facts, key_is_compromised=True),
    ]
    score = trust_of(facts).score
    assert all(trust_of(changed).score <= score for changed in worse)
    assert trust_of(facts, signal_of(50)).score <= score


@pytest.mark.parametrize("parent", [None, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("depth", [0, 8])
def test_new_agent_has_exactly_one_half(depth: int, parent: float | None) -> None:
    old_key = replace(NEW, delegation_depth=depth, key_age=timedelta(days=400))
    trust = trust_of(old_key, parent=parent)
    assert (trust.score, trust.cap, trust.evidence) == (0.5, None, 0)


def test_parent_caps_from_the_first_evidence_on() -> None:
    trust = trust_of(replace(NEW, succeeded_events=1, events=1), parent=0.3)
    assert (trust.score, trust.cap) == (0.3, 0.3)


def test_parent_caps_an_agent_with_a_signal_only() -> None:
    assert trust_of(NEW, signal_of(2), parent=0.3).score == 0.3


def test_components_without_evidence_have_no_value_and_no_share() -> None:
    found = {component.name: component for component in trust_of(NEW).components}
    for name in (TrustComponent.COMPLIANCE, TrustComponent.SUCCESS, TrustComponent.WITNESS):
        assert (found[name].value, found[name].evidence, found[name].contribution) == (None, 0, 0.0)
    assert trust_of(NEW).raw == 1.0


@pytest.mark.parametrize(("days", "value"), [(0, 1.0), (90, 1.0), (145, 0.8), (365, 0.0), (900, 0.0)])
def test_key_loses_value_between_90_and_365_days(days: int, value: float) -> None:
    key = trust_of(replace(NEW, key_age=timedelta(days=days))).components[3]
    assert key.value == pytest.approx(value)


@pytest.mark.parametrize(("age_days", "score"), [(0, 0.1), (14, 0.3), (28, 0.4)])
def test_penalty_halves_in_14_days(age_days: int, score: float) -> None:
    assert trust_of(NEW, signal_of(80, age_days=age_days)).score == score


def test_penalties_take_at_most_one_half_together() -> None:
    full = replace(WORKED, events=180, succeeded_events=180)
    assert trust_of(full).score - trust_of(full, *[signal_of(100)] * 4).score == pytest.approx(0.5)


def test_signal_from_the_future_counts_as_new() -> None:
    assert trust_of(NEW, signal_of(80, age_days=-3)).penalties[0].age_days == 0


def test_weights_sum_to_one() -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(1)


def test_worked_example_of_the_docs() -> None:
    trust = trust_of(WORKED, signal_of(40, age_days=14))
    assert [round(component.contribution, 3) for component in trust.components] == [0.315, 0.225, 0.152, 0.08, 0.1]
    assert (trust.raw, trust.evidence, trust.score) == (0.872, 20, 0.586)
    page = (ROOT / "docs" / "agents.md").read_text()
    assert f"`raw` is {trust.raw} and `n` is {trust.evidence}" in page
    assert f"the score is {trust.score}." in page


@pytest.mark.parametrize(
    ("score", "owner", "days", "level"),
    [
        (1.0, True, None, TrustLevel.AUTHENTICATED),
        (1.0, False, 1, TrustLevel.AUTHENTICATED),
        (1.0, True, 31, TrustLevel.AUTHENTICATED),
        (0.799, True, 30, TrustLevel.VERIFIED),
        (0.8, True, 30, TrustLevel.TRUSTED),
    ],
)
def test_level_needs_owner_check_and_score(score: float, owner: bool, days: int | None, level: TrustLevel) -> None:
    passed_at = None if days is None else NOW - timedelta(days=days)
    assert choose_trust_level(score, owner_is_active=owner, passed_check_at=passed_at, now=NOW) is level
