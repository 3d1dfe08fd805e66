"""What plain rules find of the attacks that no detector scores: docs/risk-detection.md argues with it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from attestlab.demos.risk_world.parameters import WorldParameters
from attestlab.demos.risk_world.records import Kind, LabelledSignal
from benchmarks.detection.signal_attacks import DeviceCount, OwnScore, RuleResult, TwoIssuers, measure_rules

FIRST = WorldParameters().first_day


def make_signal(number: int = 0, *, minutes: float = 0, score: float = 50, **details: str) -> LabelledSignal:
    at = FIRST + timedelta(minutes=minutes)
    return LabelledSignal(
        "media", "deepfake", "document", f"doc-{number}", score, at, {"device": "cam", **details}, Kind.ORDINARY
    )


@pytest.fixture(scope="module")
def results() -> dict[tuple[str, Kind], RuleResult]:
    return {(each.rule, each.attack): each for each in measure_rules([1, 2])}


def test_device_is_flagged_from_its_fifth_picture_within_a_day_on():
    rule = DeviceCount()

    assert [rule.flags(make_signal(number, minutes=number)) for number in range(6)] == [False] * 4 + [True] * 2
    assert not rule.flags(make_signal(minutes=24 * 60 + 3))
    assert not rule.flags(make_signal(minutes=24 * 60 + 3, device="other"))


def test_own_score_is_compared_with_the_threshold_of_signals():
    assert [OwnScore().flags(make_signal(score=score)) for score in (59.9, 60)] == [False, True]


def test_only_a_signal_about_an_issuer_names_two():
    assert not TwoIssuers().flags(make_signal(issuer="issuer-1"))


def test_a_plain_rule_makes_no_mistake_about_the_generated_issuers(results: dict[tuple[str, Kind], RuleResult]):
    """So this world cannot show that a detector is better, or that it accuses no innocent issuer."""
    found = results["two_issuers", Kind.ISSUER_COLLUSION]

    assert (found.recall.value, found.precision.value, found.false_positives.value) == (1.0, 1.0, 0.0)
    assert found.campaigns.low < 0.5  # two campaigns say little


def test_a_plain_count_accuses_no_innocent_device(results: dict[tuple[str, Kind], RuleResult]):
    found = results["device_count", Kind.MEDIA_BATCH]

    assert (found.precision.value, found.false_positives.value) == (1.0, 0.0)
    assert found.recall.value == pytest.approx(56 / 60)  # the first four pass


def test_the_signals_own_score_finds_less(results: dict[tuple[str, Kind], RuleResult]):
    found = [results["own_score", attack].recall for attack in (Kind.ISSUER_COLLUSION, Kind.MEDIA_BATCH)]

    assert all(0 < (recall.value or 0) < 0.9 for recall in found)
