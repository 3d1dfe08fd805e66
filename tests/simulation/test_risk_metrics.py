"""Wilson intervals against published values; the promotion gate says in words what is lacking."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from attestlab.simulation.risk.metrics import Confusion, ErrorCosts, Proportion
from attestlab.simulation.risk.promotion import Disagreement, GateEvidence, LabelCount, decide_promotion
from attestlab.simulation.risk.shapes import CostsIn

ENOUGH = LabelCount(100, 20)


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [
        (8, 10, 0.4902, 0.9433),
        (81, 263, 0.2553, 0.3662),  # Newcombe, Statistics in Medicine 17, 1998, table I, method 3
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (29, 29, 1 - 0.1170, 1.0),
    ],
)
def test_wilson_interval_is_the_published_one(part: int, whole: int, low: float, high: float) -> None:
    found = Proportion.of(part, whole)
    assert (found.value, round(found.low, 4), round(found.high, 4)) == (part / whole, round(low, 4), high)


def test_nothing_observed_is_unknown() -> None:
    assert Proportion.of(0, 0) == (None, 0.0, 1.0)
    assert str(Proportion.of(0, 0)) == "unknown"


def test_metrics_are_shares_of_the_confusion_matrix() -> None:
    confusion = Confusion(true_positive=6, false_positive=2, false_negative=4, true_negative=8)
    shares = (confusion.precision.value, confusion.recall.value, confusion.fpr.value)
    assert (shares, ErrorCosts(10, 1).total(confusion)) == ((0.75, 0.6, 0.2), 42)


@pytest.mark.parametrize("cost", [-1.0, float("nan"), float("inf"), 2e9])
def test_impossible_cost_is_refused(cost: float) -> None:
    with pytest.raises(ValidationError):
        CostsIn(missed_fraud=cost)


@pytest.mark.parametrize(
    ("fraud", "legitimate", "failed"),
    [
        (Disagreement(9, 0), Disagreement(0, 0), []),
        (Disagreement(0, 0), Disagreement(9, 0), []),
        (Disagreement(2, 1), Disagreement(1, 0), ["improvement"]),
        (Disagreement(0, 0), Disagreement(0, 0), ["improvement"]),
        (Disagreement(1, 2), Disagreement(9, 0), ["recall"]),
        (Disagreement(9, 0), Disagreement(0, 1), ["false_positive_rate"]),
        (Disagreement(0, 9), Disagreement(0, 9), ["recall", "false_positive_rate", "improvement"]),
    ],
)
def test_gate_wants_nothing_worse_and_something_clearly_better(
    fraud: Disagreement, legitimate: Disagreement, failed: list[str]
) -> None:
    nothing = Confusion(1, 1, 1, 1)
    gate = decide_promotion(GateEvidence(ENOUGH, ENOUGH, nothing, nothing, fraud, legitimate))
    assert (gate.is_better, [check.name for check in gate.checks if not check.passed]) == (not failed, failed)
    assert gate.summary.startswith("The candidate is better" if not failed else "The candidate is not shown")


@pytest.mark.parametrize("few", [LabelCount(29, 20), LabelCount(100, 9)])
def test_gate_wants_enough_labels_of_either_kind(few: LabelCount) -> None:
    better, nothing = Disagreement(9, 0), Confusion(1, 1, 1, 1)
    for fraud, legitimate in ((few, ENOUGH), (ENOUGH, few)):
        gate = decide_promotion(GateEvidence(fraud, legitimate, nothing, nothing, better, better))
        assert [check.name for check in gate.checks if not check.passed] == ["labels"]
        assert "Resolve more cases" in gate.summary
