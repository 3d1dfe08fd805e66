"""A policy as its compilers read it: typed, checked, in the order in which it decides.

Each compiler (closures, SQL, z3, Cedar, Rego) reads these trees. `to_normal_form`
states the two logics (POLICY, Semantics 2) once for those that have no three-valued logic of their own:
a tree without negations, each atom of which knows its answer for a missing value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from attestlab.policy.language.attributes import Attribute, Op, Value


class Effect(StrEnum):
    """What a rule, a default or a whole policy says."""

    ALLOW = "ALLOW"
    DENY = "DENY"


class Mode(StrEnum):
    """MONITOR is evaluated and told, never counted."""

    ENFORCE = "ENFORCE"
    MONITOR = "MONITOR"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One question about one attribute; `value` is typed, a tuple for `in` and `not_in`."""

    attribute: Attribute
    op: Op
    value: Value | tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Tree


Tree = Comparison | AllOf | AnyOf | Not


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that is enabled."""

    id: str
    effect: Effect
    priority: int
    mode: Mode
    reason: str
    when: Tree

    @property
    def is_enforced(self) -> bool:
        """Whether it can decide."""
        return self.mode is Mode.ENFORCE


@dataclass(frozen=True, slots=True)
class Policy:
    """The enabled rules in the order in which they decide: by priority, DENY first, then by id.

    The id settles what the meaning leaves open, so that no order of writing shows.
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
        """Every attribute that a rule asks about, by path."""
        return {leaf.attribute.path: leaf.attribute for rule in self.rules for leaf in iterate_comparisons(rule.when)}


def decision_order(rule: Rule) -> tuple[int, bool, str]:
    """A lower priority number comes first; at equal priority DENY does."""
    return (rule.priority, rule.effect is not Effect.DENY, rule.id)


def iterate_comparisons(tree: Tree) -> Iterator[Comparison]:
    """The leaves, from left to right."""
    if isinstance(tree, Comparison):
        yield tree
    elif isinstance(tree, Not):
        yield from iterate_comparisons(tree.part)
    else:
        for part in tree.parts:
            yield from iterate_comparisons(part)


@dataclass(frozen=True, slots=True)
class Literal:
    """A question that is total: of a value `leaf` (the contrary if `negated`), `when_missing` without one."""

    leaf: Comparison
    negated: bool
    when_missing: bool


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Form, ...]


Form = Literal | And | Or


def to_normal_form(rule: Rule) -> Form:
    """The rule's condition without negations.

    DENY is classical: without a value a positive question is false, its contrary true.
    ALLOW is Kleene's logic with unknown collapsed to false: without a value a question is
    unknown and so is its contrary, so neither can be what makes the condition hold.
    Whether a value exists is a question like the others: in an ALLOW rule absence is no answer.
    """
    return _to_normal_form(rule.when, rule.effect is Effect.DENY, False)


def _to_normal_form(tree: Tree, is_deny: bool, negated: bool) -> Form:
    if isinstance(tree, Comparison):
        return Literal(tree, negated, is_deny and _holds_when_missing(tree) is not negated)
    if isinstance(tree, Not):
        return _to_normal_form(tree.part, is_deny, not negated)
    parts = tuple(_to_normal_form(part, is_deny, negated) for part in tree.parts)
    return And(parts) if isinstance(tree, AllOf) is not negated else Or(parts)


def _holds_when_missing(leaf: Comparison) -> bool:
    """What classical logic says of a missing value: `ne` is not-`eq`, `not_in` is not-`in`."""
    if leaf.op is Op.EXISTS:
        return not leaf.value
    return leaf.op in {Op.NE, Op.NOT_IN}


def iterate_literals(form: Form) -> Iterator[Literal]:
    """The atoms, from left to right."""
    if isinstance(form, Literal):
        yield form
    else:
        for part in form.parts:
            yield from iterate_literals(part)
