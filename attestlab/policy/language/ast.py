"""The syntax tree of a policy: typed, checked, with rules in decision order.

Each compiler (evaluator, SQL, z3, Cedar, Rego) reads this tree. `to_normal_form` expresses the two logics (POLICY,
Semantics 2) once for compilers without a three-valued logic: a tree whose only negations are at its literals, each of
which has a result for a missing value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from attestlab.policy.language.attributes import OPERATORS, Attribute, AttributeValue, Op


class Effect(StrEnum):
    """The effect of a rule, a default or a whole policy."""

    ALLOW = "ALLOW"
    DENY = "DENY"


class Mode(StrEnum):
    """MONITOR is evaluated and reported, but never enforced."""

    ENFORCE = "ENFORCE"
    MONITOR = "MONITOR"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of one attribute; `value` is typed, a tuple for `in` and `not_in`."""

    attribute: Attribute
    op: Op
    value: AttributeValue | tuple[AttributeValue, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple[ConditionTree, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[ConditionTree, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: ConditionTree


ConditionTree = Comparison | AllOf | AnyOf | Not


@dataclass(frozen=True, slots=True)
class Rule:
    """An enabled rule."""

    id: str
    effect: Effect
    priority: int
    mode: Mode
    reason: str
    when: ConditionTree

    @property
    def is_enforced(self) -> bool:
        """Whether the rule can decide."""
        return self.mode is Mode.ENFORCE


@dataclass(frozen=True, slots=True)
class Policy:
    """The enabled rules in decision order: by priority, DENY first, then by id.

    The id orders rules that the semantics leaves unordered, so that the order in the document has no effect.
    """

    name: str
    default: Effect
    mode: Mode
    rules: tuple[Rule, ...]

    @property
    def enforced_rules(self) -> tuple[Rule, ...]:
        """The rules that can decide."""
        return tuple(rule for rule in self.rules if rule.is_enforced)

    def attributes(self) -> dict[str, Attribute]:
        """Return every attribute that a rule uses, by path."""
        return {leaf.attribute.path: leaf.attribute for rule in self.rules for leaf in iterate_comparisons(rule.when)}


def decision_order(rule: Rule) -> tuple[int, bool, str]:
    """Return the sort key of a rule: a lower priority number first; at equal priority DENY first."""
    return (rule.priority, rule.effect is not Effect.DENY, rule.id)


def iterate_comparisons(tree: ConditionTree) -> Iterator[Comparison]:
    """Yield the leaves of a tree from left to right."""
    if isinstance(tree, Comparison):
        yield tree
    elif isinstance(tree, Not):
        yield from iterate_comparisons(tree.part)
    else:
        for part in tree.parts:
            yield from iterate_comparisons(part)


@dataclass(frozen=True, slots=True)
class Literal:
    """A total comparison: the result of `leaf`, inverted if `negated`, or `when_missing` if the value is missing."""

    leaf: Comparison
    negated: bool
    when_missing: bool


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[NormalForm, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[NormalForm, ...]


NormalForm = Literal | And | Or


def to_normal_form(rule: Rule) -> NormalForm:
    """Return the rule's condition in negation normal form, with negations only at literals.

    DENY rules use classical logic: if the value is missing, a positive comparison is false and its negation true.
    ALLOW rules use Kleene's logic with unknown collapsed to false: if the value is missing, a comparison and its
    negation are both unknown, so neither can make the condition true. `exists` is a comparison like the others: in an
    ALLOW rule, a missing value never satisfies it.
    """
    return _to_normal_form(rule.when, rule.effect is Effect.DENY, False)


def _to_normal_form(tree: ConditionTree, is_deny: bool, negated: bool) -> NormalForm:
    if isinstance(tree, Comparison):
        return Literal(tree, negated, is_deny and holds_when_missing(tree) is not negated)
    if isinstance(tree, Not):
        return _to_normal_form(tree.part, is_deny, not negated)
    parts = tuple(_to_normal_form(part, is_deny, negated) for part in tree.parts)
    return And(parts) if isinstance(tree, AllOf) is not negated else Or(parts)


def holds_when_missing(leaf: Comparison) -> bool:
    """Whether a comparison holds for a missing value in classical logic: `ne` is not-`eq`, `not_in` is not-`in`."""
    return not leaf.value if leaf.op is Op.EXISTS else OPERATORS[leaf.op].holds_when_missing


def iterate_literals(form: NormalForm) -> Iterator[Literal]:
    """Yield the literals of a form from left to right."""
    if isinstance(form, Literal):
        yield form
    else:
        for part in form.parts:
            yield from iterate_literals(part)
