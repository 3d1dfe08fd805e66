"""Counterfactuals: the fewest attribute changes that reverse a decision.

Only attributes that a person can change (`mutable`) are changed. The search tries one change, then two, and so on, and
prunes with a three-valued look-ahead: while some attributes are open, a rule matches, cannot match, or may match.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from attestlab.policy.analysis.partitions import EquivalenceClass, class_index, partition
from attestlab.policy.evaluation.evaluator import Test, compile_form
from attestlab.policy.evaluation.policy_set import PolicySet
from attestlab.policy.language.ast import And, Effect, Literal, NormalForm, Policy, to_normal_form
from attestlab.policy.language.attributes import Attribute, AttributeValue
from attestlab.policy.language.context import Values

MAX_SEARCH_STEPS = 20_000  # look-aheads before the search stops; a few microseconds each


@dataclass(frozen=True, slots=True)
class ValueChange:
    """Another value of one attribute; `above` and `below` are the open bounds of equally sufficient values."""

    path: str
    before: AttributeValue | None
    after: AttributeValue
    above: float | None = None
    below: float | None = None


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The changes; None if there are none, or, if not `complete`, if none was found in time."""

    changes: tuple[ValueChange, ...] | None
    complete: bool = True


def find_counterfactual(policies: PolicySet, values: Values) -> Counterfactual:
    """Find a smallest set of changes after which the policies decide the opposite."""
    counting = [member.policy for member in policies.members if member.is_enforced]
    return _Search(counting, values, wanted=not policies(values).allowed).run()


class _OutOfSteps(Exception):
    """The search has used all of its steps."""


class _Search:
    def __init__(self, policies: list[Policy], values: Values, *, wanted: bool) -> None:
        self._attributes: dict[str, Attribute] = {p: a for policy in policies for p, a in policy.attributes().items()}
        self._cells = partition(policies)
        self._looks = [_LookAhead(policy) for policy in policies]
        self._values, self._wanted, self._steps = values, wanted, 0

    def run(self) -> Counterfactual:
        paths = [path for path, attribute in self._attributes.items() if attribute.mutable]
        try:
            for count in range(1, len(paths) + 1):
                for chosen in combinations(paths, count):
                    found = self._settle(dict(self._values), chosen)
                    if found is not None:
                        return Counterfactual(tuple(self._change(path, found[path]) for path in chosen))
        except _OutOfSteps:
            return Counterfactual(None, complete=False)
        return Counterfactual(None)

    def _settle(self, values: Values, open_paths: tuple[str, ...]) -> dict[str, EquivalenceClass] | None:
        """Find values for the open attributes that produce the opposite decision; None if there are none."""
        self._steps += 1
        if self._steps > MAX_SEARCH_STEPS:
            raise _OutOfSteps
        if not self._may_become(values, frozenset(open_paths)):
            return None
        if not open_paths:
            return {}
        path, rest = open_paths[0], open_paths[1:]
        for cell in self._others(path):
            found = self._settle({**values, path: cell.value}, rest)
            if found is not None:
                return {path: cell, **found}
        return None

    def _may_become(self, values: Values, open_paths: frozenset[str]) -> bool:
        """Whether the opposite decision is still possible: all policies allow, or one denies."""
        outcomes = [look.outcomes(values, open_paths) for look in self._looks]
        if self._wanted:
            return all(Effect.ALLOW in possible for possible in outcomes)
        return any(Effect.DENY in possible for possible in outcomes)

    def _others(self, path: str) -> Iterator[EquivalenceClass]:
        """Yield the other equivalence classes, the nearest first."""
        cells = self._cells[path]
        here = class_index(self._values.get(path), cells)
        for index in sorted(range(len(cells)), key=lambda index: abs(index - (here or 0))):
            if index != here:
                yield cells[index]

    def _change(self, path: str, cell: EquivalenceClass) -> ValueChange:
        before = self._values.get(path)
        after = cell.value
        if cell.below is not None and isinstance(before, int | float) and before >= cell.below:
            after = _value_below(cell, cell.below)  # the nearer end for a value above
        return ValueChange(path, before, after, _finite_or_none(cell.above), _finite_or_none(cell.below))


def _finite_or_none(bound: float | None) -> float | None:
    return None if bound is None or bound in {float("inf"), float("-inf")} else bound


def _value_below(cell: EquivalenceClass, below: float) -> AttributeValue:
    near = below - 1
    is_inside = near < below and (cell.above is None or near > cell.above)
    return (int(near) if type(cell.value) is int else near) if is_inside else cell.value


class _LookAhead:
    """Determines which effects of one policy are possible while some attributes are open."""

    def __init__(self, policy: Policy) -> None:
        self._rules = [(_prepare(to_normal_form(rule)), rule.effect) for rule in policy.enforced_rules]
        self._default = policy.default

    def outcomes(self, values: Values, open_paths: frozenset[str]) -> set[Effect]:
        """Return the possible effects; an overestimate while attributes are open, exact if none is."""
        possible: set[Effect] = set()
        for form, effect in self._rules:
            truth = _evaluate_partially(form, values, open_paths)
            if truth is not False:
                possible.add(effect)
            if truth or len(possible) == 2:
                return possible
        return {*possible, self._default}


@dataclass(frozen=True, slots=True)
class _CompiledLiteral:
    path: str
    test: Test


@dataclass(frozen=True, slots=True)
class _Junction:
    """A conjunction or disjunction of parts."""

    is_all: bool
    parts: tuple[_CompiledLiteral | _Junction, ...]


def _prepare(form: NormalForm) -> _CompiledLiteral | _Junction:
    if isinstance(form, Literal):
        return _CompiledLiteral(form.leaf.attribute.path, compile_form(form))
    return _Junction(isinstance(form, And), tuple(_prepare(part) for part in form.parts))


def _evaluate_partially(form: _CompiledLiteral | _Junction, values: Values, open_paths: frozenset[str]) -> bool | None:
    """Evaluate a form; None if the result depends on open attributes."""
    if isinstance(form, _CompiledLiteral):
        return None if form.path in open_paths else form.test(values)
    undecided = False
    for part in form.parts:
        truth = _evaluate_partially(part, values, open_paths)
        if truth is not None and truth is not form.is_all:
            return truth
        undecided = undecided or truth is None
    return None if undecided else form.is_all
