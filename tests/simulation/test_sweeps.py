"""Sweeps: every value of a threshold in one query equals brute force, wherever the leaf is."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from attestlab.core.errors import ValidationFailed
from attestlab.policy.language.ast import Policy
from attestlab.policy.language.context import Values
from attestlab.simulation.scenarios import Scenario
from attestlab.simulation.sweeps import Threshold
from support.policies.documents import make_condition, make_document, make_rule
from support.policies.strategies import json_policies, raw_contexts
from support.property_tests import examples
from support.simulations import (
    evaluate_draft,
    make_member,
    make_scenario,
    make_simulation,
    policy_sets,
    replace_threshold,
    write_contexts,
)

SOME = settings(
    max_examples=examples(10, many=30),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)
OPS = st.sampled_from(["lt", "lte", "gt", "gte"])
NUMBERS = ["claims.amount", "claims.count", "key.age_days"]
AMOUNTS = st.one_of(st.none(), st.sampled_from([-3.5, 0.0, 1.0, 2.0, 2.5, 90.0]))
ROWS = st.lists(
    st.tuples(
        raw_contexts(), AMOUNTS, AMOUNTS.filter(lambda n: n is None or n >= 0), st.sampled_from([None, -2, 0, 3])
    ),
    min_size=1,
    max_size=14,
)


def contexts_of(rows: list[Any]) -> list[dict[str, Any]]:
    return [
        {**raw, "claims": None, "key": None, "claims.amount": amount, "key.age_days": age, "claims.count": count}
        for raw, amount, age, count in rows
    ]


@st.composite
def swept_rules(draw: st.DrawFn, name: str, attribute: str) -> dict[str, Any]:
    """A rule with one threshold, bare, under NOT, or next to another condition; ALLOW or DENY."""
    bare = make_condition(attribute, draw(OPS), draw(st.sampled_from([0, 1, 2, 3])))
    neighbour = make_condition("trust_tier", draw(st.sampled_from(["eq", "ne"])), "BASIC")
    when = draw(st.sampled_from([bare, {"not": bare}, {"all": [bare, neighbour]}, {"not": {"any": [neighbour, bare]}}]))
    return make_rule(name, draw(st.sampled_from(["ALLOW", "DENY"])), when, draw(st.integers(0, 4)))


def expected(scenario: Scenario, draft: Policy, values: list[Values]) -> tuple[int, int, int, int]:
    """Allowed, denied, opened, closed with this text in the draft's place."""
    before = policy_sets(scenario)[0]
    then = evaluate_draft(scenario, draft, values)
    flips = Counter(zip([before(each).allowed for each in values], then, strict=True))
    return sum(then), len(then) - sum(then), flips[False, True], flips[True, False]


def counts_of(row: dict[str, Any]) -> tuple[int, int, int, int]:
    return (row["allowed"], row["denied"], row["opened"], row["closed"])


@pytest.mark.more_in_soak
@SOME
@given(data=st.data(), rows=ROWS, attribute=st.sampled_from(NUMBERS))
def test_sweep_agrees_with_policies_of_each_constant(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, rows: list[Any], attribute: str
) -> None:
    """Beside the draft's other rules and other policies; with missing values, under NOT, in ALLOW and DENY rules."""
    raw = data.draw(json_policies(3))
    draft = make_member("draft", {**raw, "rules": [*raw["rules"], data.draw(swept_rules("swept", attribute))]})
    others = [make_member("other", data.draw(json_policies(3)))][: data.draw(st.integers(0, 1))]
    scenario = make_scenario(draft, *others, replaced=data.draw(st.sampled_from([None, make_member("draft", raw)])))
    path = tmp_path_factory.mktemp("past") / "c.parquet"
    values = write_contexts(path, contexts_of(rows))
    threshold = Threshold.find(scenario.rules, "swept", attribute)

    with make_simulation(path, scenario) as simulation:
        swept = simulation.sweep("swept", attribute).rows()

    for row in swept:
        policy = replace_threshold(draft.policy, "swept", threshold.leaf, row["value"])
        assert counts_of(row) == expected(scenario, policy, values), row
    assert [row["value"] for row in swept if row["is_current"]] == [threshold.value]
    assert {each[attribute] for each in values if attribute in each} <= {row["value"] for row in swept}


@pytest.mark.more_in_soak
@SOME
@given(data=st.data(), rows=ROWS, same=st.booleans())
def test_sweep2_agrees_with_policies_of_each_pair(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, rows: list[Any], same: bool
) -> None:
    """In two rules, or both in one."""
    first, second = data.draw(swept_rules("a", "claims.amount")), data.draw(swept_rules("b", "key.age_days"))
    if same:
        first, second = (
            {**first, "when": {"all": [first["when"], second["when"]]}},
            {**second, "id": "b", "when": make_condition("size", "eq", "S")},
        )
    draft = make_member(
        "draft", make_document(first, second, default_effect=data.draw(st.sampled_from(["ALLOW", "DENY"])))
    )
    scenario = make_scenario(draft, make_member("other", data.draw(json_policies(2))))
    path = tmp_path_factory.mktemp("past") / "c.parquet"
    values = write_contexts(path, contexts_of(rows))
    names = [("a", "claims.amount"), ("a" if same else "b", "key.age_days")]
    one, two = (Threshold.find(scenario.rules, *name) for name in names)

    with make_simulation(path, scenario) as simulation:
        swept = simulation.sweep2(names[0], names[1]).rows()

    sampled = random.Random(len(swept)).sample(swept, min(len(swept), 25))
    for row in sampled:
        policy = replace_threshold(draft.policy, one.rule_id, one.leaf, row["value_0"])
        policy = replace_threshold(policy, two.rule_id, two.leaf, row["value_1"])
        assert counts_of(row) == expected(scenario, policy, values), row
    assert sum(row["is_current"] for row in swept) == 1


def test_sweep_with_more_than_64_rules(tmp_path: Path) -> None:
    rules = [
        make_rule(
            f"r{n:02}",
            "DENY",
            {"all": [make_condition("claims.amount", "eq", n), make_condition("claims.count", "gt", n % 3)]},
            n,
        )
        for n in range(90)
    ]
    draft = make_member("draft", make_document(*rules, default_effect="ALLOW"))
    scenario = make_scenario(draft)
    values = write_contexts(
        tmp_path / "c.parquet", [{"claims.amount": n % 90, "claims.count": n % 7 - 3} for n in range(500)]
    )
    threshold = Threshold.find(scenario.rules, "r70", "claims.count")

    with make_simulation(tmp_path / "c.parquet", scenario) as simulation:
        swept = simulation.sweep("r70", "claims.count").rows()
        assert len(swept) >= 3
        for row in swept:
            assert counts_of(row) == expected(
                scenario, replace_threshold(draft.policy, "r70", threshold.leaf, row["value"]), values
            )


def test_long_axis_is_thinned_and_exact(tmp_path: Path) -> None:
    draft = make_member(
        "draft",
        make_document(make_rule("r", "DENY", make_condition("key.age_days", "gte", 90)), default_effect="ALLOW"),
    )
    scenario = make_scenario(draft)
    write_contexts(tmp_path / "c.parquet", [{"key.age_days": n / 4} for n in range(4_000)])

    with make_simulation(tmp_path / "c.parquet", scenario) as simulation:
        swept = simulation.sweep("r", "key.age_days", points=50).rows()

    assert 50 <= len(swept) <= 55
    assert all(row["allowed"] == min(4_000, int(4 * row["value"])) for row in swept)
    assert (swept[-1]["value"], swept[-1]["allowed"]) == (1_000.75, 4_000)


@pytest.mark.parametrize(
    ("rule_id", "attribute", "op"),
    [("none", "key.age_days", None), ("r", "status", None), ("r", "claims.amount", None), ("r", "key.age_days", "gt")],
)
def test_invalid_threshold_is_rejected(tmp_path: Path, rule_id: str, attribute: str, op: str | None) -> None:
    between = {
        "all": [
            make_condition("claims.amount", "gt", 1),
            make_condition("claims.amount", "lt", 9),
            make_condition("key.age_days", "lt", 9),
        ]
    }
    write_contexts(tmp_path / "c.parquet", [{}])
    with make_simulation(
        tmp_path / "c.parquet", make_scenario(make_member("draft", make_document(make_rule("r", "DENY", between))))
    ) as simulation:
        assert simulation.sweep("r", "claims.amount", op="gt").rows()
        with pytest.raises(ValidationFailed):
            simulation.sweep(rule_id, attribute, op=op)
        with pytest.raises(ValidationFailed):
            simulation.sweep2(("r", "key.age_days"), ("r", "key.age_days"))


@pytest.mark.parametrize("points", [0, -1, 2.5])
def test_points_below_one_are_rejected(tmp_path: Path, points: Any) -> None:
    write_contexts(tmp_path / "c.parquet", [{}])
    both = {"all": [make_condition("claims.amount", "gt", 1), make_condition("key.age_days", "lt", 9)]}
    scenario = make_scenario(make_member("draft", make_document(make_rule("r", "DENY", both))))
    with make_simulation(tmp_path / "c.parquet", scenario) as simulation:
        with pytest.raises(ValidationFailed, match="points"):
            simulation.sweep("r", "key.age_days", points=points)
        with pytest.raises(ValidationFailed, match="points"):
            simulation.sweep2(("r", "key.age_days"), ("r", "claims.amount"), points=points)
