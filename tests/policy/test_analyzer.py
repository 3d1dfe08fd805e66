"""Analysis of policies: properties of all contexts are proven, counterexamples come with a witness."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from attestlab.core.errors import Unavailable
from attestlab.policy.analysis.analyzer import AnalysisFinding, FindingKind, analyze, compare, find_dead_rules
from attestlab.policy.analysis.partitions import partition, representatives
from attestlab.policy.analysis.smt_encoding import SmtEncoding
from attestlab.policy.evaluation.evaluator import Evaluator, compile_form
from attestlab.policy.language.ast import Policy, to_normal_form
from attestlab.policy.language.context import Values
from support.policies.documents import bind_document, make_condition, make_document, make_rule
from support.policies.strategies import json_policies
from support.property_tests import examples

BASIC, YOUNG = make_condition("trust_tier", "eq", "BASIC"), make_condition("key.age_days", "lt", 90)
OLD = make_condition("key.age_days", "gte", 90)


def found(*rules: dict[str, Any], **more: Any) -> list[AnalysisFinding]:
    """The findings of a policy of these rules."""
    return analyze(bind_document(make_document(*rules, **more)))


def codes_and_rules(findings: list[AnalysisFinding]) -> list[tuple[str, str | None, tuple[str, ...]]]:
    """Without the witnesses."""
    return [(finding.kind.value, finding.rule_id, finding.by) for finding in findings]


def every_context(policies: list[Policy]) -> list[Values] | None:
    """One context of each class there is; None where there are too many to try."""
    each = representatives(partition(policies))
    if math.prod(len(values) for values in each.values()) > 20_000:
        return None
    return [
        {path: value for path, value in zip(each, picked, strict=True) if value is not None}
        for picked in product(*each.values())
    ]


@pytest.mark.more_in_soak
@settings(max_examples=examples(20, many=60), deadline=None, suppress_health_check=list(HealthCheck))
@given(raw=json_policies(most=5))
def test_findings_agree_with_exhaustive_search(raw: dict[str, Any]) -> None:
    policy = bind_document(raw)
    contexts = every_context([policy])
    if contexts is None:
        return
    decisions = [(Evaluator(policy)(values), values) for values in contexts]
    rules = {each.id: each for each in policy.rules}
    dead = {name for name, each in rules.items() if not any(map(compile_form(to_normal_form(each)), contexts))}
    deciding = {decision.matched[0] for decision, _ in decisions if decision.matched}
    met = {
        frozenset((one, other))
        for decision, _ in decisions
        for one in decision.matched
        for other in decision.matched
        if rules[one].effect != rules[other].effect and rules[one].priority == rules[other].priority
    }

    findings = analyze(policy)

    of_kind = {kind: [f for f in findings if f.kind is kind] for kind in FindingKind}
    assert {f.rule_id for f in of_kind[FindingKind.DEAD]} == dead
    assert find_dead_rules(policy) == [each.id for each in policy.rules if each.id in dead]
    assert {f.rule_id for f in of_kind[FindingKind.SHADOWED]} == {
        each.id for each in policy.enforced_rules if each.id not in dead | deciding
    }
    assert {frozenset((f.rule_id, by)) for f in of_kind[FindingKind.CONTRADICTING] for by in f.by} == met
    assert bool(of_kind[FindingKind.DEFAULT_UNREACHABLE]) is all(decision.matched for decision, _ in decisions)


@pytest.mark.more_in_soak
@settings(max_examples=examples(20, many=60), deadline=None, suppress_health_check=list(HealthCheck))
@given(one=json_policies(most=3), other=json_policies(most=3))
def test_comparison_agrees_with_exhaustive_search(one: dict[str, Any], other: dict[str, Any]) -> None:
    old, new = bind_document(one), bind_document(other)

    comparison = compare(old, new)

    if comparison.witness is not None:
        assert Evaluator(old)(comparison.witness).allowed is not Evaluator(new)(comparison.witness).allowed
    elif (contexts := every_context([old, new])) is not None:
        assert comparison.equivalent
        assert all(Evaluator(old)(values).allowed is Evaluator(new)(values).allowed for values in contexts)


def test_unmatchable_rule_is_dead() -> None:
    assert codes_and_rules(found(make_rule("r", "DENY", {"all": [YOUNG, OLD]}))) == [("dead", "r", ())]


def test_no_number_lies_between_neighbouring_doubles() -> None:
    """Over the real numbers this rule is alive; no context holds what it asks for."""
    gap = {
        "all": [
            make_condition("claims.amount", "gt", 90),
            make_condition("claims.amount", "lt", math.nextafter(90, 91)),
        ]
    }

    assert codes_and_rules(found(make_rule("r", "DENY", gap))) == [("dead", "r", ())]


def test_allow_rule_on_absence_is_dead() -> None:
    assert codes_and_rules(found(make_rule("r", "ALLOW", make_condition("risk_rating", "exists", False)))) == [
        ("dead", "r", ())
    ]


def test_rules_can_shadow_only_together() -> None:
    findings = found(
        make_rule("young", "DENY", YOUNG, 1),
        make_rule("old", "DENY", OLD, 2),
        make_rule("elsewhere", "DENY", make_condition("status", "eq", "REVOKED"), 3),
        make_rule("known", "ALLOW", make_condition("key.age_days", "exists", True), 4),
    )

    assert ("shadowed", "known", ("young", "old")) in codes_and_rules(findings)


def test_monitored_rule_shadows_no_rule() -> None:
    assert found(make_rule("w", "DENY", BASIC, 1, mode="MONITOR"), make_rule("a", "ALLOW", BASIC, 2)) == []


def test_contradiction_names_both_rules_with_witness() -> None:
    (finding,) = found(make_rule("a", "ALLOW", BASIC, 1), make_rule("d", "DENY", YOUNG, 1))

    assert (finding.kind, finding.rule_id, finding.by) == (FindingKind.CONTRADICTING, "d", ("a",))
    assert finding.witness is not None
    assert finding.witness["trust_tier"] == "BASIC"


def test_unreachable_default_is_reported() -> None:
    findings = found(
        make_rule("y", "DENY", make_condition("status", "exists", True)),
        make_rule("n", "DENY", make_condition("status", "exists", False)),
    )

    assert ("default_unreachable", None, ("n", "y")) in codes_and_rules(findings)


def test_equivalent_conditions_compare_as_equivalent() -> None:
    one = bind_document(make_document(make_rule("d", "DENY", {"not": {"any": [BASIC, YOUNG]}}), default_effect="ALLOW"))
    two = bind_document(
        make_document(make_rule("d", "DENY", {"all": [{"not": BASIC}, {"not": YOUNG}]}), default_effect="ALLOW")
    )

    assert compare(one, two).equivalent


def test_proof_times_out() -> None:
    policy = bind_document(make_document(make_rule("r", "DENY", BASIC)))

    with pytest.raises(Unavailable, match="took too long"):
        SmtEncoding([policy], budget_s=0).match(policy.rules[0])


def test_moved_threshold_has_witness_between() -> None:
    def with_bound(days: int) -> Policy:
        return bind_document(
            make_document(make_rule("d", "DENY", make_condition("key.age_days", "gte", days)), default_effect="ALLOW")
        )

    witness = compare(with_bound(90), with_bound(91)).witness

    assert witness is not None
    assert 90 <= float(witness["key.age_days"]) < 91
