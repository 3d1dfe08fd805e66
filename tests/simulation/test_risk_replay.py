"""What-if over risk: the replay equals plain Python, windows look back only, labels come from cases."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from attestlab.core.errors import Cancelled, NotFound, ValidationFailed
from attestlab.policy.language.attributes import OPERATORS, AttributeType, Operand
from attestlab.simulation.risk import signal_history
from attestlab.simulation.risk.metrics import Confusion, ErrorCosts
from attestlab.simulation.risk.rule_sets import LOOK_BACKS, MAX_LEAVES, MAX_RISK_RULES, REGISTRY, read_candidate
from attestlab.simulation.risk.signal_history import SignalWindow
from support.policies.documents import make_condition
from support.property_tests import examples
from support.risk_simulations import (
    PastCase,
    PastSignal,
    at,
    compute_values,
    find_label,
    list_replayed,
    make_risk_simulation,
    make_rules,
)

DAY, WEEK = 86_400, 604_800
SOME = settings(
    max_examples=examples(10, many=400),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)
EDGES = sorted({base + step for each in LOOK_BACKS for base in (0, each.seconds) for step in (-1, 0, 1)} - {-1})
SAMPLES: dict[AttributeType, list[Any]] = {
    AttributeType.NUMBER: [0, 1, 50, 79.5, 80, 100],
    AttributeType.INTEGER: [0, 1, 2, 3],
    AttributeType.ENUM: ["user", "ip"],
    AttributeType.TEXT: ["login", "velocity", "", "'"],
}
CASES = (
    PastCase(0, 300, "fraud"),
    PastCase(301, 86_400, "legitimate"),
    PastCase(0, 3_600, "inconclusive", "eve"),
    PastCase(3_601, None, None, "eve"),
)
LOW, HIGH = 50.0, 90.0


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    kind = draw(st.sampled_from(["leaf", "leaf", "all", "any", "not"])) if depth else "leaf"
    if kind == "not":
        return {"not": draw(conditions(depth=depth - 1))}
    if kind != "leaf":
        return {kind: draw(st.lists(conditions(depth=depth - 1), min_size=1, max_size=3))}
    attribute = REGISTRY[draw(st.sampled_from(sorted(REGISTRY)))]
    op = draw(st.sampled_from(sorted(attribute.ops())))
    if op == "exists":
        return make_condition(attribute.path, op, draw(st.booleans()))
    known = st.sampled_from(SAMPLES[attribute.type])
    return make_condition(
        attribute.path,
        op,
        draw(st.lists(known, min_size=1, max_size=2)) if OPERATORS[op].operand is Operand.LIST else draw(known),
    )


@st.composite
def histories(draw: st.DrawFn) -> list[PastSignal]:
    signals: list[PastSignal] = []
    for number in range(draw(st.integers(1, 10))):
        entity = draw(st.sampled_from(["ada", "ada", "eve"]))
        joined = draw(st.sampled_from([None, None, 0 if entity == "ada" else 2]))
        second, score = draw(st.sampled_from(EDGES)), draw(st.sampled_from([0.0, LOW, 79.5, 80.0, HIGH]))
        source = draw(st.sampled_from(["login", "velocity"]))
        if number and draw(st.integers(0, 7)) == 0:
            old = signals[-1]
            signals.append(PastSignal(old.at_s, score, old.entity, source, None, number - 1))
        else:
            signals.append(PastSignal(second, score, entity, source, joined))
    return signals


@pytest.mark.more_in_soak
@SOME
@given(st.lists(conditions(), min_size=1, max_size=3), histories(), st.sampled_from([None, 1, 3_600]))
def test_replay_equals_plain_evaluation(
    listed: list[dict[str, Any]], signals: list[PastSignal], start: int | None
) -> None:
    candidate, window = (
        read_candidate(make_rules(*listed)),
        SignalWindow(None if start is None else at(start), at(WEEK)),
    )
    expected = {
        number: (
            find_label(signals, CASES, number),
            signals[number].score >= 80,
            not (decided := candidate.evaluator(compute_values(signals, number))).allowed,
            next(iter(decided.matched), None),
        )
        for number in list_replayed(signals, window)
    }
    with make_risk_simulation(candidate, signals, CASES, window=window) as simulation:
        rows = simulation.decisions().rows()
        tallies = simulation.tally()

    assert [tuple(row.values()) for row in rows] == [(n, *found[:3]) for n, found in expected.items()]
    assert Counter({group[:4]: group.signals for group in tallies.groups}) == Counter(expected.values())


@pytest.mark.more_in_soak
@SOME
@given(conditions(depth=1), histories(), st.sampled_from(["lt", "lte", "gt", "gte"]), st.sampled_from([0, 79.5, 80]))
def test_curve_equals_plain_evaluation_with_each_value(
    other: dict[str, Any], signals: list[PastSignal], op: str, value: float
) -> None:
    def rules(score: float) -> list[dict[str, Any]]:
        return make_rules(other, {"not": make_condition("signal.score", op, score)})

    costs = ErrorCosts(7, 3)
    with make_risk_simulation(read_candidate(rules(value)), signals, CASES) as simulation:
        threshold = simulation.find_threshold(("r1", "signal.score"))
        assert threshold is not None
        curve = simulation.curve(threshold, costs=costs)
    for point in curve:
        confusion = plain_confusion(rules(point.value), signals)
        assert (point.confusion, point.cost) == (confusion, costs.total(confusion))
    assert [point.value for point in curve if point.is_current] == [value]


def plain_confusion(rules: list[dict[str, Any]], signals: list[PastSignal]) -> Confusion:
    """The confusion matrix, one signal after the other."""
    candidate = read_candidate(rules)
    found = Counter(
        (find_label(signals, CASES, number), not candidate.evaluator(compute_values(signals, number)).allowed)
        for number in list_replayed(signals)
    )
    return Confusion(*(found[label, escalated] for escalated in (True, False) for label in ("fraud", "legitimate")))


def counts(signals: list[PastSignal], path: str, number: int) -> Any:
    """The value of an attribute of one signal, as the replay computes it."""
    with make_risk_simulation(read_candidate(make_rules(make_condition(path, "exists", True))), signals) as simulation:
        signal_id = str(simulation.session.run("SELECT id FROM this WHERE seq = ?", [number])[0][0])
        return simulation.explain(signal_id).values.get(path)


def test_windows_hold_exactly_their_seconds_and_no_later_signal() -> None:
    signals = [PastSignal(0), PastSignal(3_600), PastSignal(3_601), PastSignal(3_601, HIGH), PastSignal(3_602, HIGH)]

    assert counts(signals, "entity.signals_1h", 1) == 1  # the first occurred exactly an hour before
    assert counts(signals, "entity.signals_1h", 2) == 2
    assert counts(signals, "entity.signals_1h", 3) == 3  # the same moment, recorded later
    assert counts(signals, "entity.max_score_1h", 2) == LOW
    assert counts(signals, "entity.seconds_since_previous", 0) is None


def test_signals_before_the_window_are_counted_and_not_replayed() -> None:
    signals = [PastSignal(0), PastSignal(DAY - 1), PastSignal(DAY)]
    rules = make_rules(make_condition("entity.signals_24h", "gte", 2))
    with make_risk_simulation(read_candidate(rules), signals, window=SignalWindow(at(DAY - 1), at(DAY))) as simulation:
        assert simulation.decisions().rows() == [{"number": 1, "label": "none", "live": False, "candidate": True}]


def test_case_labels_what_joined_it_and_what_occurred_until_its_resolution() -> None:
    moments = [(-1, None), (-1, 0), (0, None), (300, None), (301, None), (DAY, None), (DAY + 1, None)]
    signals = [PastSignal(second, case=case) for second, case in moments]
    with make_risk_simulation(
        read_candidate(make_rules(make_condition("signal.score", "gt", 1))), signals, CASES
    ) as it:
        labels = [row["label"] for row in it.decisions().rows()]
    assert labels == ["none", "fraud", "fraud", "fraud", "legitimate", "legitimate", "none"]


def test_signal_that_replaces_another_stands_for_it_and_takes_over_its_case() -> None:
    signals = [PastSignal(-60, HIGH, case=0), PastSignal(-60, LOW, replaces=0), PastSignal(-30, LOW)]
    rules = make_rules(make_condition("entity.signals_1h", "gte", 2))
    with make_risk_simulation(read_candidate(rules), signals, CASES) as simulation:
        found = [(row["number"], row["label"], row["candidate"]) for row in simulation.decisions().rows()]
    assert found == [(1, "fraud", False), (2, "none", True)]


def test_missing_value_escalates_where_a_denial_would() -> None:
    absent = make_rules({"not": make_condition("entity.seconds_since_previous", "lt", 60)})
    present = make_rules(make_condition("entity.seconds_since_previous", "lt", 60))
    for rules, expected in ((absent, [True, False]), (present, [False, True])):
        with make_risk_simulation(read_candidate(rules), [PastSignal(0), PastSignal(30)]) as simulation:
            assert [row["candidate"] for row in simulation.decisions().rows()] == expected


def test_examples_name_the_rule_and_the_values_that_decided() -> None:
    signals = [PastSignal(1, LOW), PastSignal(2, HIGH), PastSignal(400, LOW), PastSignal(401, HIGH)]
    rules = make_rules(make_condition("entity.signals_1h", "gte", 3), make_condition("signal.score", "eq", LOW))
    with make_risk_simulation(read_candidate(rules), signals, CASES) as simulation:
        found = {each.kind: each for each in reversed(simulation.examples())}
        flips = [(flip.label, flip.live, flip.candidate, flip.signals) for flip in simulation.tally().flips]

    assert {kind: (each.label, each.live, each.candidate, each.rule_id) for kind, each in found.items()} == {
        "true_positive": ("fraud", False, True, "r1"),
        "false_positive": ("legitimate", True, True, "r0"),
        "miss": ("fraud", True, False, None),
        "newly_escalated": ("legitimate", False, True, "r0"),
        "newly_passed": ("fraud", True, False, None),
    }
    assert found["false_positive"].values == {"entity.signals_1h": 4}
    assert found["miss"].values == {"entity.signals_1h": 2, "signal.score": HIGH}
    assert flips == [("fraud", True, False, 1), ("fraud", False, True, 1), ("legitimate", False, True, 1)]


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ([], "/rules"),
        (make_rules(*[make_condition("signal.score", "gt", 1)] * (MAX_RISK_RULES + 1)), "/rules"),
        (make_rules(*[{"any": [make_condition("signal.score", "gt", 1)] * (MAX_LEAVES // 3 + 1)}] * 3), "/rules"),
        (make_rules(make_condition("label.fraud", "eq", True)), "/rules/0/when/attr"),
        (make_rules(make_condition("signal.scores", "gt", 1)), "/rules/0/when/attr"),
        (make_rules(make_condition("signal.score", "gt", "high")), "/rules/0/when/value"),
        (make_rules({"none": []}), "/rules/0/when/none"),
        (make_rules(make_condition("signal.score", "gt", 1)) * 2, "/rules/1/id"),
    ],
)
def test_invalid_rules_are_refused_where_they_are(rules: list[dict[str, Any]], field: str) -> None:
    with pytest.raises(ValidationFailed) as refused:
        read_candidate(rules)
    assert refused.value.fields[0].field == field
    assert "policy" not in refused.value.message


def test_too_many_signals_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal_history, "MAX_SIGNALS", 1)
    rules = make_rules(make_condition("signal.score", "gt", 1))
    simulation = make_risk_simulation(read_candidate(rules), [PastSignal(0), PastSignal(1)])
    with simulation, pytest.raises(ValidationFailed, match="2 signals, and at most 1"):
        simulation.tally()


def test_cancelled_simulation_stops_and_an_unknown_signal_is_not_found() -> None:
    rules = make_rules(make_condition("signal.score", "gt", 1))
    with make_risk_simulation(read_candidate(rules), [PastSignal(0)]) as simulation:
        with pytest.raises(NotFound):
            simulation.explain("nothing")
        simulation.tally()
        assert simulation.progress == 1
        simulation.cancel()
        with pytest.raises(Cancelled):
            simulation.tally()
