"""Explanations of decisions: evaluates the rules again and returns the truth value of each leaf.

Traverses the written tree instead of the compiled one, so that an explanation has the shape of the author's text;
slower than deciding, and rarely requested.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from attestlab.policy.language.ast import (
    AllOf,
    Comparison,
    ConditionTree,
    Effect,
    Not,
    Policy,
    Rule,
    holds_when_missing,
)
from attestlab.policy.language.attributes import OPERATORS, AttributeValue
from attestlab.policy.language.context import Values


class TruthValue(StrEnum):
    """The truth value of a leaf or a condition; only the conditions of ALLOW rules can be unknown."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ExplainedNode:
    """A node of a condition. A leaf has `attr`, `op`, `value`, and `actual` unless it is missing; others have
    `parts`.
    """

    kind: str
    truth: TruthValue
    parts: tuple[ExplainedNode, ...] = ()
    attr: str | None = None
    op: str | None = None
    value: AttributeValue | tuple[AttributeValue, ...] | None = None
    actual: AttributeValue | None = None

    def json(self) -> dict[str, object]:
        """Return JSON values; in a leaf without `actual` the attribute is missing."""
        if self.kind != "leaf":
            return {"kind": self.kind, "truth": self.truth.value, "parts": [part.json() for part in self.parts]}
        value = list(self.value) if isinstance(self.value, tuple) else self.value
        actual = {} if self.actual is None else {"actual": self.actual}
        return {"kind": "leaf", "truth": self.truth.value, "attr": self.attr, "op": self.op, "value": value, **actual}


@dataclass(frozen=True, slots=True)
class ExplainedRule:
    """A rule with the truth value of its condition; it matches only if that is true, not if it is unknown."""

    rule: Rule
    when: ExplainedNode

    @property
    def matched(self) -> bool:
        """Whether the rule matches."""
        return self.when.truth is TruthValue.TRUE


def explain(policy: Policy, values: Values) -> tuple[ExplainedRule, ...]:
    """Explain every enabled rule, in decision order."""
    return tuple(ExplainedRule(rule, explain_tree(rule.when, values, rule.effect)) for rule in policy.rules)


def find_missing(policy: Policy, values: Values) -> tuple[str, ...]:
    """Return the attributes that rules use and the context lacks."""
    return tuple(sorted(path for path in policy.attributes() if path not in values))


def explain_tree(tree: ConditionTree, values: Values, effect: Effect) -> ExplainedNode:
    """Explain one node: DENY in classical logic, ALLOW in Kleene's."""
    if isinstance(tree, Comparison):
        actual = values.get(tree.attribute.path)
        truth = _comparison_truth(tree, actual, effect)
        return ExplainedNode("leaf", truth, (), tree.attribute.path, tree.op.value, tree.value, actual)
    if isinstance(tree, Not):
        part = explain_tree(tree.part, values, effect)
        return ExplainedNode("not", _NOT[part.truth], (part,))
    parts = tuple(explain_tree(part, values, effect) for part in tree.parts)
    truths = {part.truth for part in parts}
    if isinstance(tree, AllOf):
        return ExplainedNode("all", _combine(truths, TruthValue.FALSE, TruthValue.TRUE), parts)
    return ExplainedNode("any", _combine(truths, TruthValue.TRUE, TruthValue.FALSE), parts)


_NOT = {TruthValue.TRUE: TruthValue.FALSE, TruthValue.FALSE: TruthValue.TRUE, TruthValue.UNKNOWN: TruthValue.UNKNOWN}


def _combine(truths: set[TruthValue], decides: TruthValue, otherwise: TruthValue) -> TruthValue:
    if decides in truths:
        return decides
    return TruthValue.UNKNOWN if TruthValue.UNKNOWN in truths else otherwise


def _comparison_truth(leaf: Comparison, actual: AttributeValue | None, effect: Effect) -> TruthValue:
    if actual is None:
        if effect is Effect.ALLOW:
            return TruthValue.UNKNOWN
        return TruthValue.TRUE if holds_when_missing(leaf) else TruthValue.FALSE
    return TruthValue.TRUE if OPERATORS[leaf.op].holds(actual, leaf.value) else TruthValue.FALSE
