"""Decisions, comparison and rule effects of a simulation equal brute force over each context."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from attestlab.core.errors import NotFound, ValidationFailed
from attestlab.policy.evaluation.counterfactual import find_counterfactual
from attestlab.policy.evaluation.evaluator import Evaluator
from attestlab.policy.language.attributes import PLATFORM, Attribute, AttributeType
from attestlab.simulation.history import ContextsHistory, open_connection
from attestlab.simulation.query_session import QuerySession
from attestlab.simulation.scenarios import Scenario
from attestlab.simulation.simulation import Simulation
from support.policies.documents import bind_document, make_condition, make_document, make_rule
from support.policies.strategies import json_policies, raw_contexts
from support.property_tests import examples
from support.simulations import (
    count_rows,
    deciding_policy_and_rule,
    effect_name,
    evaluate_draft,
    make_member,
    make_scenario,
    make_simulation,
    policy_sets,
    remove_rule,
    write_contexts,
)

SOME = settings(
    max_examples=examples(10, many=25),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)
CONTEXTS = st.lists(raw_contexts(), min_size=0, max_size=12)
BASIC = make_condition("trust_tier", "eq", "BASIC")


def trial_drawn(data: st.DataObject) -> Scenario:
    """A draft beside up to two others; it joins them, or takes another version's place."""
    draft = make_member(
        "draft", {**data.draw(json_policies()), "mode": data.draw(st.sampled_from(["ENFORCE"] * 4 + ["MONITOR"]))}
    )
    others = [make_member(f"other{n}", data.draw(json_policies(3))) for n in range(data.draw(st.integers(0, 2)))]
    replaced = make_member("draft", data.draw(json_policies(3))) if data.draw(st.booleans()) else None
    return make_scenario(draft, *others, replaced=replaced)


@pytest.mark.more_in_soak
@SOME
@given(data=st.data(), raw=CONTEXTS)
def test_new_decisions_agree_with_evaluator(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, raw: list[dict[str, Any]]
) -> None:
    """Effect, deciding policy and rule, and every rule that matches, in the order in which a decision names them."""
    scenario, path = trial_drawn(data), tmp_path_factory.mktemp("past") / "c.parquet"
    values = write_contexts(path, raw)
    after = policy_sets(scenario)[1]

    with make_simulation(path, scenario) as simulation:
        found = count_rows(simulation.decide().rows(), "allowed", "policy", "rule", "matched_rules")

    decisions = [after(each) for each in values]
    assert found == Counter((d.allowed, *deciding_policy_and_rule(d), d.matched_rules) for d in decisions)


@pytest.mark.more_in_soak
@SOME
@given(data=st.data(), raw=CONTEXTS)
def test_comparison_is_difference_of_two_policy_sets(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, raw: list[dict[str, Any]]
) -> None:
    """Transitions, flips by two attributes, and who decided before and after."""
    scenario, path = trial_drawn(data), tmp_path_factory.mktemp("past") / "c.parquet"
    values = write_contexts(path, raw)
    before, after = policy_sets(scenario)

    with make_simulation(path, scenario) as simulation:
        compared = simulation.compare(["trust_tier", "claims.count"])
        frames = {name: frame.rows() for name, frame in vars(compared).items()}

    pairs = [(each, before(each), after(each)) for each in values]
    moved = [(v, b, a, effect_name(b.allowed), effect_name(a.allowed)) for v, b, a in pairs]
    flipped = [each for each in moved if each[3] != each[4]]
    assert count_rows(frames["transitions"], "from", "to") == Counter((old, new) for *_, old, new in moved)
    assert count_rows(frames["flips"], "from", "to", "trust_tier", "claims.count") == Counter(
        (old, new, v.get("trust_tier"), v.get("claims.count")) for v, _, _, old, new in flipped
    )
    whys = ("policy_before", "rule_before", "policy_after", "rule_after")
    assert count_rows(frames["why"], "from", "to", *whys) == Counter(
        (old, new, *deciding_policy_and_rule(b), *deciding_policy_and_rule(a)) for _, b, a, old, new in flipped
    )
    for row in frames["examples"]:
        _, b, a, old, new = moved[row["number"]]
        assert (row["from"], row["to"], *(row[name] for name in whys)) == (
            old,
            new,
            *deciding_policy_and_rule(b),
            *deciding_policy_and_rule(a),
        )


ALONE = ("hits", "decisive", "would_allow", "would_deny")


@pytest.mark.more_in_soak
@SOME
@given(data=st.data(), raw=CONTEXTS)
def test_coverage_and_marginal_agree_with_evaluator(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, raw: list[dict[str, Any]]
) -> None:
    scenario, path = trial_drawn(data), tmp_path_factory.mktemp("past") / "c.parquet"
    values = write_contexts(path, raw)
    policy = scenario.draft.policy
    said = [Evaluator(policy)(each) for each in values]
    now = evaluate_draft(scenario, policy, values)

    with make_simulation(path, scenario) as simulation:
        covered, marginal = simulation.coverage().rows(), simulation.marginal().rows()
        isolated = [simulation.isolate(each.id).segments.rows() for each in policy.enforced_rules]

    effects = [{**hit, **flipped} for hit, flipped in zip(covered, marginal, strict=True)]
    assert isolated == [[{name: each[name] for name in ALONE}] if each["hits"] else [] for each in effects]
    assert [(row["rule"], row["hits"], row["decisive"]) for row in covered] == [
        (each.id, sum(each.id in d.matched for d in said), sum(d.matched[:1] == (each.id,) for d in said))
        for each in policy.enforced_rules
    ]
    for row in marginal:
        then = evaluate_draft(scenario, remove_rule(policy, row["rule"]), values)
        flips = Counter(zip(now, then, strict=True))
        assert (row["would_allow"], row["would_deny"]) == (flips[False, True], flips[True, False])
    assert [row["rule"] for row in marginal] == [each.id for each in policy.enforced_rules]


def test_more_than_64_rules_are_distinguished(tmp_path: Path) -> None:
    """The 65th rule and the 130th have words of their own; one of them decides where those before do not match."""
    rules = [
        make_rule(f"r{n:03}", "DENY" if n % 2 else "ALLOW", make_condition("claims.amount", "gte", 130 - n), n)
        for n in range(130)
    ]
    scenario = make_scenario(make_member("draft", make_document(*rules)))
    values = write_contexts(tmp_path / "c.parquet", [{"claims.amount": n} for n in (1, 30, 64, 65, 66, 67, 129, 130)])

    with make_simulation(tmp_path / "c.parquet", scenario) as simulation:
        found = count_rows(simulation.decide().rows(), "allowed", "matched_rules")
        marginal = {row["rule"]: (row["would_allow"], row["would_deny"]) for row in simulation.marginal().rows()}

    after = policy_sets(scenario)[1]
    assert found == Counter((d.allowed, d.matched_rules) for d in map(after, values))
    now = evaluate_draft(scenario, scenario.draft.policy, values)
    for name in ("r000", "r063", "r064", "r065", "r066", "r129"):
        then = evaluate_draft(scenario, remove_rule(scenario.draft.policy, name), values)
        flips = Counter(zip(now, then, strict=True))
        assert marginal[name] == (flips[False, True], flips[True, False])


def test_first_policy_with_match_decides_unless_denied(tmp_path: Path) -> None:
    """And where none matches the first; a rule that two policies have is named once."""
    write_contexts(tmp_path / "c.parquet", [{"trust_tier": "BASIC"}, {}])
    silent = make_member(
        "silent",
        make_document(make_rule("r", "DENY", make_condition("status", "eq", "REVOKED")), default_effect="ALLOW"),
    )
    first = make_member(
        "first",
        make_document(make_rule("yes", "ALLOW", BASIC), make_rule("too", "ALLOW", BASIC, 1), default_effect="ALLOW"),
    )
    draft = make_member("draft", make_document(make_rule("too", "ALLOW", BASIC), default_effect="ALLOW"))

    with make_simulation(tmp_path / "c.parquet", make_scenario(draft, silent, first)) as simulation:
        found = count_rows(simulation.decide().rows(), "policy", "rule", "matched_rules")

    assert found == {("first", "yes", ("yes", "too")): 1, ("silent", None, ()): 1}


def test_draft_without_enforced_rules_is_its_default(tmp_path: Path) -> None:
    write_contexts(tmp_path / "c.parquet", [{"trust_tier": "BASIC"}, {}])
    idle = [make_rule("off", "DENY", BASIC, enabled=False), make_rule("seen", "DENY", BASIC, mode="MONITOR")]
    draft = make_member("draft", make_document(*idle, default_effect="DENY"))

    with make_simulation(tmp_path / "c.parquet", make_scenario(draft)) as simulation:
        assert simulation.decide().rows() == [
            {"allowed": False, "policy": "draft", "rule": None, "matched_rules": [], "count": 2}
        ]
        assert (simulation.coverage().rows(), simulation.marginal().rows()) == ([], [])
        assert simulation.compare().transitions.rows() == [{"from": "ALLOW", "to": "DENY", "count": 2}]


def test_empty_history_has_no_flips(tmp_path: Path) -> None:
    write_contexts(tmp_path / "c.parquet", [])
    draft = make_member("draft", make_document(make_rule("r", "DENY", make_condition("key.age_days", "gt", 5))))

    with make_simulation(tmp_path / "c.parquet", make_scenario(draft)) as simulation:
        compared = simulation.compare(["trust_tier"])
        assert simulation.load() == 0
        assert [frame.rows() for frame in vars(compared).values()] == [[], [], [], []]
        assert [(row["hits"], row["decisive"]) for row in simulation.coverage().rows()] == [(0, 0)]


def test_frame_has_its_sql(tmp_path: Path) -> None:
    write_contexts(tmp_path / "c.parquet", [{"trust_tier": "BASIC"}] * 3)
    with make_simulation(
        tmp_path / "c.parquet", make_scenario(make_member("draft", make_document(make_rule("r", "DENY", BASIC))))
    ) as simulation:
        frame = simulation.compare().transitions

        assert simulation.session.frame(frame.sql).rows() == frame.rows()
        assert frame.df().to_dict("records") == frame.rows()
        assert frame.arrow().to_pylist() == frame.rows()


def test_rows_are_not_cached_if_contexts_are_distinct(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is the same; only what is held in memory is not."""
    monkeypatch.setattr("attestlab.simulation.history.MAX_CACHED_CONTEXTS", 10)
    write_contexts(tmp_path / "many.parquet", [{"claims.amount": n / 8} for n in range(800)])
    write_contexts(tmp_path / "few.parquet", [{"claims.amount": n % 8} for n in range(800)])
    scenario = make_scenario(
        make_member("draft", make_document(make_rule("r", "ALLOW", make_condition("claims.amount", "lt", 4))))
    )

    with (
        make_simulation(tmp_path / "many.parquet", scenario) as many,
        make_simulation(tmp_path / "few.parquet", scenario) as few,
    ):
        assert [s.compare().transitions.rows() for s in (many, few)] == [
            [{"from": "ALLOW", "to": "ALLOW", "count": 32}, {"from": "ALLOW", "to": "DENY", "count": 768}],
            [{"from": "ALLOW", "to": "ALLOW", "count": 400}, {"from": "ALLOW", "to": "DENY", "count": 400}],
        ]
        assert (many.is_cached, few.is_cached) == (False, True)


def test_counterfactual_of_row_and_of_context(tmp_path: Path) -> None:
    (values, _) = write_contexts(tmp_path / "c.parquet", [{"key.age_days": 91.0}, {}])
    scenario = make_scenario(
        make_member(
            "draft",
            make_document(make_rule("r", "DENY", make_condition("key.age_days", "gt", 90)), default_effect="ALLOW"),
        )
    )
    with make_simulation(tmp_path / "c.parquet", scenario) as simulation:
        expected = find_counterfactual(policy_sets(scenario)[1], values)

        assert simulation.counterfactual(0) == simulation.counterfactual(values) == expected
        assert expected.changes is not None
        with pytest.raises(NotFound):
            simulation.counterfactual(2)


@pytest.mark.parametrize("by", [["trust_teir"], ["status", "trust_tier", "risk_rating", "key.status"]])
def test_segments_must_be_few_known_attributes(tmp_path: Path, by: list[str]) -> None:
    with pytest.raises(ValidationFailed):
        make_simulation(
            tmp_path / "c.parquet",
            make_scenario(make_member("draft", bind_document(make_document(make_rule("r", "DENY", BASIC))))),
            by=by,
        )


@pytest.mark.parametrize("of", [{"key.age_days": "old"}, {"key.age_dys": 3}, {"trust_tier": 7}, 1.5, None])
def test_invalid_counterfactual_argument_is_rejected(tmp_path: Path, of: Any) -> None:
    write_contexts(tmp_path / "c.parquet", [{}])
    with make_simulation(
        tmp_path / "c.parquet", make_scenario(make_member("draft", make_document(make_rule("no", "DENY", BASIC))))
    ) as it:
        with pytest.raises(ValidationFailed, match=r"not valid|neither a decision id"):
            it.counterfactual(of)
        for number in (-1, 1 << 63, 10**40):
            with pytest.raises(NotFound):
                it.counterfactual(number)


def test_column_may_be_named_file_row_number(tmp_path: Path) -> None:
    """DuckDB adds one of that name, and an attribute may have it too."""
    registry = PLATFORM.with_own([Attribute("file_row_number", AttributeType.NUMBER)])
    late = make_document(make_rule("r", "DENY", make_condition("file_row_number", "gt", 7)), default_effect="ALLOW")
    draft = make_member("d", bind_document(late, registry))
    pq.write_table(pa.table({"file_row_number": [7.0, 8.0, 9.0]}), tmp_path / "c.parquet")

    past = ContextsHistory(str(tmp_path / "c.parquet"))
    with Simulation(QuerySession(open_connection()), past, make_scenario(draft), registry) as simulation:
        (example,) = simulation.compare().examples.rows()

    assert (example["number"], example["count"], example["context"]) == (1, 2, {"file_row_number": 8.0})
