"""Exports to Cedar and Rego agree with our evaluator, judged by two independent engines."""

from __future__ import annotations

import json
from typing import Any

import cedarpy
import pytest
import regopy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attestlab.core.errors import ValidationFailed
from attestlab.policy.evaluation.evaluator import Evaluator
from attestlab.policy.formats.cedar import MAX_CEDAR_RULES, to_cedar, to_cedar_context
from attestlab.policy.formats.rego import PACKAGE, to_rego
from attestlab.policy.language.ast import Policy
from attestlab.policy.language.context import ContextNormalizer, Values
from support.policies.documents import REGISTRY, bind_document, make_condition, make_document, make_rule
from support.policies.strategies import HOSTILE_TEXTS, json_policies, raw_contexts
from support.property_tests import examples

NORMALISED = ContextNormalizer(REGISTRY)
SOME = settings(max_examples=examples(30, many=100), deadline=None, suppress_health_check=list(HealthCheck))


def by_cedar(policy: Policy, contexts: list[Values]) -> list[tuple[bool, set[str]]]:
    """Allowed and the rules that match, as Cedar has it."""
    text = to_cedar(policy)
    requests = [
        {"principal": 'User::"u"', "action": f'Action::"{action}"', "resource": 'Thing::"t"',
         "context": to_cedar_context(values, REGISTRY)}
        for values in contexts for action in ("decide", "match")
    ]  # fmt: skip
    answers = cedarpy.is_authorized_batch(requests, text, [])
    assert not any(answer.diagnostics.errors for answer in answers)
    names = [each.id for each in policy.enforced_rules]
    return [
        (bool(decide.allowed), {names[int(reason.removeprefix("policy")) - 1] for reason in match.diagnostics.reasons})
        for decide, match in zip(answers[::2], answers[1::2], strict=True)
    ]


def by_rego(policy: Policy, contexts: list[Values]) -> list[tuple[bool, set[str]]]:
    """Allowed and the rules that match, as Rego has it."""
    interpreter = regopy.Interpreter()
    interpreter.add_module("policy", to_rego(policy))
    answers = []
    for values in contexts:
        # As text: handed over as a dict, an escaped character of a constant is two to this engine and one in the input.
        interpreter.set_input_term(json.dumps(values, ensure_ascii=False))
        said = interpreter.query(f"data.{PACKAGE}").results[0].expressions[0]
        answers.append((said["allow"], set(said["matched"])))
    return answers


def by_us(policy: Policy, contexts: list[Values]) -> list[tuple[bool, set[str]]]:
    return [(decision.allowed, set(decision.matched)) for decision in map(Evaluator(policy), contexts)]


@pytest.mark.more_in_soak
@SOME
@given(raw=json_policies(), raws=st.lists(raw_contexts(), min_size=1, max_size=3))
def test_cedar_agrees_on_decision_and_matches(raw: dict[str, Any], raws: list[dict[str, Any]]) -> None:
    """Where its numbers fit into Cedar's at all; those that do not are refused, not rounded (tested below)."""
    policy, contexts = bind_document(raw), [NORMALISED(each).values for each in [*raws, {}]]
    try:
        answers = by_cedar(policy, contexts)
    except ValidationFailed:
        return

    assert answers == by_us(policy, contexts)


@pytest.mark.more_in_soak
@SOME
@given(raw=json_policies(), raws=st.lists(raw_contexts(), min_size=1, max_size=3))
def test_rego_agrees_on_decision_and_matches(raw: dict[str, Any], raws: list[dict[str, Any]]) -> None:
    policy, contexts = bind_document(raw), [NORMALISED(each).values for each in [*raws, {}]]

    assert by_rego(policy, contexts) == by_us(policy, contexts)


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_text_is_escaped(text: str) -> None:
    policy = bind_document(make_document(make_rule("r", "ALLOW", make_condition("note", "eq", text))))
    contexts: list[Values] = [{"note": text}, {"note": text + "x"}]

    assert by_cedar(policy, contexts) == by_rego(policy, contexts) == [(True, {"r"}), (False, set())]


@pytest.mark.parametrize("number", [1e-7, 1e300, 0.12345])
def test_number_beyond_cedar_decimal_is_rejected(number: float) -> None:
    policy = bind_document(make_document(make_rule("r", "ALLOW", make_condition("claims.amount", "gt", number))))

    with pytest.raises(ValidationFailed, match="four digits"):
        to_cedar(policy)
    with pytest.raises(ValidationFailed, match="four digits"):
        to_cedar_context({"claims.amount": number}, REGISTRY)


def test_cedar_export_limit_is_accepted_and_more_is_rejected() -> None:
    def of(count: int) -> Policy:
        return bind_document(
            make_document(
                *[make_rule(f"r{n}", "ALLOW", make_condition("claims.amount", "eq", n), n) for n in range(count)]
            )
        )

    assert by_cedar(of(MAX_CEDAR_RULES), [{"claims.amount": float(MAX_CEDAR_RULES - 1)}]) == [
        (True, {f"r{MAX_CEDAR_RULES - 1}"})
    ]
    with pytest.raises(ValidationFailed, match="at most"):
        to_cedar(of(MAX_CEDAR_RULES + 1))


def test_exported_policy_without_enabled_rules_is_its_default() -> None:
    for default in ("ALLOW", "DENY"):
        policy = bind_document(
            make_document(
                make_rule("r", "DENY", make_condition("note", "eq", "x"), enabled=False), default_effect=default
            )
        )

        assert by_cedar(policy, [{}]) == by_rego(policy, [{}]) == [(default == "ALLOW", set())]
