"""Decisions of one policy, and of several together."""

from __future__ import annotations

from typing import Any

import pytest

from attestlab.policy.evaluation.evaluator import Evaluator
from attestlab.policy.evaluation.policy_set import PolicySet, PolicySetMember
from attestlab.policy.language.ast import Effect
from support.policies.documents import bind_document, make_condition, make_document, make_rule

YOUNG = make_condition("key.age_days", "lt", 90)
BASIC = make_condition("trust_tier", "eq", "BASIC")
NOW = {"key.age_days": 5.0, "trust_tier": "BASIC"}


def member(name: str, *rules: dict[str, Any], in_shadow: bool = False, **more: Any) -> PolicySetMember:
    """A policy of a set."""
    return PolicySetMember(name, "0" * 64, bind_document(make_document(*rules, name=name, **more)), in_shadow)


def test_first_match_decides_and_all_matches_are_reported() -> None:
    policy = bind_document(
        make_document(
            make_rule("third", "ALLOW", BASIC, 3),
            make_rule("first", "DENY", YOUNG, 1),
            make_rule("never", "ALLOW", {"not": BASIC}),
        )
    )

    assert Evaluator(policy)(NOW) == (Effect.DENY, ("first", "third"), ())


def test_deny_precedes_allow_at_equal_priority() -> None:
    policy = bind_document(make_document(make_rule("a", "ALLOW", BASIC, 1), make_rule("b", "DENY", BASIC, 1)))

    assert Evaluator(policy)(NOW).matched == ("b", "a")


def test_monitored_rule_is_reported_but_not_enforced() -> None:
    policy = bind_document(
        make_document(make_rule("w", "DENY", BASIC, mode="MONITOR"), make_rule("a", "ALLOW", BASIC, 5))
    )

    assert Evaluator(policy)(NOW) == (Effect.ALLOW, ("a",), ("w",))


def test_policy_without_enabled_rules_returns_its_default() -> None:
    for default in Effect:
        policy = bind_document(
            make_document(make_rule("off", "DENY", BASIC, enabled=False), default_effect=default.value)
        )

        assert Evaluator(policy)(NOW) == (default, (), ())


def test_missing_attribute_never_causes_allow() -> None:
    """Not even by way of `ne`, `not`, or asking whether something exists."""
    for when in (
        make_condition("risk_rating", "ne", "HIGH"),
        {"not": make_condition("risk_rating", "eq", "HIGH")},
        make_condition("risk_rating", "not_in", ["HIGH"]),
        make_condition("risk_rating", "exists", False),
        {"not": make_condition("risk_rating", "exists", True)},
    ):
        assert not Evaluator(bind_document(make_document(make_rule("a", "ALLOW", when))))({}).allowed


def test_missing_attribute_matches_negated_deny_comparison() -> None:
    for when in (make_condition("risk_rating", "ne", "LOW"), make_condition("risk_rating", "exists", False)):
        policy = bind_document(make_document(make_rule("d", "DENY", when), default_effect="ALLOW"))

        assert not Evaluator(policy)({}).allowed
    positive = bind_document(
        make_document(make_rule("d", "DENY", make_condition("risk_rating", "eq", "HIGH")), default_effect="ALLOW")
    )
    assert Evaluator(positive)({}).allowed


def test_empty_policy_set_allows() -> None:
    decision = PolicySet()(NOW)

    assert (decision.allowed, decision.matched_rules, decision.reasons) == (True, (), ())


def test_every_policy_must_allow_and_denying_one_decides() -> None:
    policies = PolicySet(
        [
            member("wide", make_rule("w1", "ALLOW", BASIC)),
            member(
                "strict",
                make_rule("s1", "DENY", YOUNG, reason="The key is too young."),
                make_rule("s2", "ALLOW", BASIC, 2),
            ),
        ]
    )
    decision = policies(NOW)

    assert not decision.allowed
    assert decision.matched_rules == ("s1", "s2", "w1")
    assert decision.reasons == ("The key is too young.",)
    assert decision.deciding_result is not None
    assert decision.deciding_result.member.id == "strict"


def test_denying_default_overrides_match_of_another_policy() -> None:
    """Every matching rule is named; that none of them decided is said beside it."""
    for order in (1, -1):
        members = [
            member("closed", make_rule("a-allow", "ALLOW", {"not": BASIC})),
            member("open", make_rule("b", "ALLOW", BASIC)),
        ]
        decision = PolicySet(members[::order])(NOW)

        assert (decision.allowed, decision.matched_rules) == (False, ("b",))
        assert (decision.matched_policy, decision.matched_rule) == ("closed", None)
        assert decision.reason == "No rule of the policy closed matched, and its default is DENY."


@pytest.mark.parametrize(
    ("members", "decides", "reason"),
    [
        ([member("p", make_rule("d", "DENY", BASIC, reason="Basic."))], ("p", "d"), "Basic."),
        (
            [member("p", make_rule("d", "DENY", YOUNG)), member("q", make_rule("a", "ALLOW", BASIC))],
            ("p", "d"),
            "Rule d matched.",
        ),
        (
            [
                member("p", make_rule("x", "DENY", {"not": BASIC}), default_effect="ALLOW"),
                member("q", make_rule("a", "ALLOW", BASIC)),
            ],
            ("q", "a"),
            "Rule a matched.",
        ),
        (
            [member("p", make_rule("x", "DENY", {"not": BASIC}), default_effect="ALLOW")],
            ("p", None),
            "No rule of the policy p matched, and its default is ALLOW.",
        ),
        ([member("p", make_rule("d", "DENY", BASIC), in_shadow=True)], (None, None), None),
        ([], (None, None), None),
    ],
)
def test_decision_names_deciding_policy_and_rule(
    members: list[PolicySetMember], decides: tuple[str | None, str | None], reason: str | None
) -> None:
    decision = PolicySet(members)(NOW)

    assert (decision.matched_policy, decision.matched_rule) == decides
    assert decision.reason == reason


def test_denying_default_has_a_reason() -> None:
    decision = PolicySet([member("closed", make_rule("a", "ALLOW", {"not": BASIC}))])(NOW)

    assert decision.reasons == ("No rule of the policy closed matched, and its default is DENY.",)
    assert decision.matched_rules == ()


def test_shadow_and_monitor_are_evaluated_but_not_enforced() -> None:
    policies = PolicySet(
        [
            member("shadow", make_rule("a", "DENY", BASIC), in_shadow=True),
            member("monitor", make_rule("b", "DENY", BASIC), mode="MONITOR"),
        ]
    )
    decision = policies(NOW)

    assert (decision.allowed, decision.matched_rules) == (True, ())
    assert [said.decision.matched for said in decision.results] == [("a",), ("b",)]


def test_set_digest_depends_on_enforced_members() -> None:
    one, two = member("p", make_rule("a", "DENY", BASIC)), member("p", make_rule("a", "DENY", BASIC), in_shadow=True)

    assert PolicySet([one]).digest != PolicySet([two]).digest
    assert PolicySet([one]).digest == PolicySet([one]).digest
