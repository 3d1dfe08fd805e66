"""The evaluator for single decisions: compiles every rule into one closure over typed values.

It is the fastest evaluator for one context; `sql` is for many. It reports all matching rules, not only the deciding
one, because a denied caller needs all of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import NamedTuple

from attestlab.policy.language.ast import And, Effect, Literal, NormalForm, Policy, to_normal_form
from attestlab.policy.language.attributes import OPERATORS, AttributeValue, Op
from attestlab.policy.language.context import Values

Test = Callable[[Values], bool]
Compare = Callable[[AttributeValue, AttributeValue], bool]


class Decision(NamedTuple):
    """The result of one policy for one context.

    `matched` are the enforced rules that match, the deciding one first; if empty, the default decided. `monitored` are
    the matching rules in MONITOR mode.
    """

    effect: Effect
    matched: tuple[str, ...]
    monitored: tuple[str, ...]

    @property
    def allowed(self) -> bool:
        """Whether the effect is ALLOW."""
        return self.effect is Effect.ALLOW


class Evaluator:
    """One compiled policy. Stateless: keeps nothing of the contexts that it evaluates."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._counting = [(compile_form(to_normal_form(rule)), rule.id) for rule in policy.rules if rule.is_enforced]
        self._monitored = [
            (compile_form(to_normal_form(rule)), rule.id) for rule in policy.rules if not rule.is_enforced
        ]
        self._effects = {rule.id: rule.effect for rule in policy.rules}

    def __call__(self, values: Values) -> Decision:
        """Return the policy's own effect, even if the policy is in MONITOR mode; the policy set ignores those."""
        matched = tuple([name for test, name in self._counting if test(values)])
        monitored = tuple([name for test, name in self._monitored if test(values)])
        return Decision(self._effects[matched[0]] if matched else self.policy.default, matched, monitored)


def compile_form(form: NormalForm) -> Test:
    """Compile a whole condition into one closure."""
    if isinstance(form, Literal):
        return _compile_literal(form)
    tests = [compile_form(part) for part in form.parts]
    return _compile_and(tests) if isinstance(form, And) else _compile_or(tests)


def _compile_and(tests: list[Test]) -> Test:
    """Compile in halves: a loop would cost as much as the tests in it, and a chain could nest too deep."""
    if len(tests) == 1:
        return tests[0]
    first, second = _compile_and(tests[: len(tests) // 2]), _compile_and(tests[len(tests) // 2 :])
    return lambda values: first(values) and second(values)


def _compile_or(tests: list[Test]) -> Test:
    if len(tests) == 1:
        return tests[0]
    first, second = _compile_or(tests[: len(tests) // 2]), _compile_or(tests[len(tests) // 2 :])
    return lambda values: first(values) or second(values)


def _compile_literal(atom: Literal) -> Test:
    leaf = atom.leaf
    path, missing = leaf.attribute.path, atom.when_missing
    if leaf.op is Op.EXISTS:
        return _existence_test(path, bool(leaf.value) is not atom.negated, missing)
    if leaf.op in _COMPARES and not isinstance(leaf.value, tuple):
        return _comparison_test(path, _COMPARES[leaf.op], leaf.value, atom.negated, missing)
    if leaf.op in _MEMBERSHIPS:
        members = frozenset(leaf.value) if isinstance(leaf.value, tuple) else frozenset((leaf.value,))
        return _membership_test(path, members, _MEMBERSHIPS[leaf.op] is not atom.negated, missing)
    holds, wanted, expected = OPERATORS[leaf.op].holds, leaf.value, not atom.negated
    return lambda values: holds(values[path], wanted) is expected if path in values else missing


def _existence_test(path: str, present: bool, missing: bool) -> Test:
    return lambda values: present if path in values else missing


def _membership_test(path: str, members: frozenset[AttributeValue], inside: bool, missing: bool) -> Test:
    """Compile a membership test.

    None is a member of no set, so a separate test for a missing value is needed only if its result differs.
    """
    if inside:
        return (lambda v: v.get(path) in members) if not missing else (lambda v: path not in v or v[path] in members)
    return (lambda v: v.get(path) not in members) if missing else (lambda v: path in v and v[path] not in members)


# Operators that have a faster test than the `holds` of their meaning.
_MEMBERSHIPS = {Op.EQ: True, Op.IN: True, Op.NE: False, Op.NOT_IN: False}
_COMPARES: dict[Op, Compare] = {
    Op.LT: operator.lt, Op.LTE: operator.le, Op.GT: operator.gt, Op.GTE: operator.ge,
}  # fmt: skip
_CONTRARY: dict[Compare, Compare] = {
    operator.lt: operator.ge,
    operator.le: operator.gt,
    operator.gt: operator.le,
    operator.ge: operator.lt,
}


def _comparison_test(path: str, compare: Compare, bound: AttributeValue, negated: bool, missing: bool) -> Test:
    holds = _CONTRARY[compare] if negated else compare
    return lambda values: holds(values[path], bound) if path in values else missing
