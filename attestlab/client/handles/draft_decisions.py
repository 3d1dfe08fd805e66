"""A decision of one policy or draft on one context, computed in this process; nothing is sent or recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import ClassVar

from attestlab.client.analysis.records import Records
from attestlab.client.handles.base import Handle
from attestlab.client.handles.replays import bind_policy, read_registry
from attestlab.client.json_values import read_facts
from attestlab.client.service_client import ServiceClient
from attestlab.policy.decision_shapes import CounterfactualOut, DiagnosticOut, ExplainedRuleOut
from attestlab.policy.evaluation.counterfactual import find_counterfactual
from attestlab.policy.evaluation.explanation import ExplainedRule, explain, find_missing
from attestlab.policy.evaluation.policy_set import PolicySet, PolicySetMember
from attestlab.policy.language.context import ContextNormalizer
from attestlab.policy.shapes import Effects


class DraftDecisionHandle(Handle):
    """What one policy decides alone, and why: each rule's truth, what is missing, what would reverse the decision.

    Other policies in force may still deny; `lab.policies.evaluate` asks them all, and records the decision.
    """

    shown_fields: ClassVar = ("policy_name", "decision", "matched_rules", "missing")

    policy_name: str
    decision: Effects
    matched_rules: list[str]
    monitored_rules: list[str]
    missing: list[str]
    rules: Records[ExplainedRuleOut]
    diagnostics: Records[DiagnosticOut]
    counterfactual: CounterfactualOut

    @property
    def allowed(self) -> bool:
        """Whether the policy allows."""
        return self.decision == "ALLOW"

    @property
    def matched_rule(self) -> str | None:
        """The rule that decided; None if the default did."""
        return self.matched_rules[0] if self.matched_rules else None


def decide_context(client: ServiceClient, policy: object, context: Mapping[str, object]) -> DraftDecisionHandle:
    """Decide one context with a stored policy or a draft, in this process.

    Raises:
        ValidationFailed: the policy is invalid, the context is no mapping, or a value has no JSON form.
    """
    registry = read_registry(client)
    bound = bind_policy(client, policy, registry)
    normalized = ContextNormalizer(registry)(read_facts(context, name="context"))
    member = PolicySetMember("", "", bound)
    decision = member.evaluator(normalized.values)
    found = find_counterfactual(PolicySet([member]), normalized.values)
    changes = None if found.changes is None else [asdict(each) for each in found.changes]
    answer = {
        "policy_name": bound.name,
        "decision": "ALLOW" if decision.allowed else "DENY",
        "matched_rules": list(decision.matched),
        "monitored_rules": list(decision.monitored),
        "missing": list(find_missing(bound, normalized.values)),
        "rules": [_describe_rule(each) for each in explain(bound, normalized.values)],
        "diagnostics": [asdict(each) for each in normalized.diagnostics],
        "counterfactual": {"changes": changes, "complete": found.complete},
    }
    return DraftDecisionHandle.parse(client, answer)


def _describe_rule(explained: ExplainedRule) -> dict[str, object]:
    rule = explained.rule
    return {
        "id": rule.id,
        "effect": rule.effect.value,
        "mode": rule.mode.value,
        "priority": rule.priority,
        "matched": explained.matched,
        "when": explained.when.json(),
    }
