"""The SMT encoding of policies for z3, and the interpretation of its models.

Numbers, texts and enums are partitioned into the classes that the rules distinguish (`partitions`); missing is one
more class. The encoding is exact, whereas a solver over the reals would offer witnesses between two neighbouring
doubles. A class is encoded by its place in the order (place <= i, one boolean each; place 0 is missing), so that a
comparison is one literal.

z3 is loaded for the first proof, not at server start.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from time import monotonic
from typing import Protocol

from attestlab.core.errors import Unavailable
from attestlab.core.extras import naming_extras
from attestlab.policy.analysis.partitions import class_index, partition
from attestlab.policy.evaluation.evaluator import compile_form
from attestlab.policy.language.ast import And, Effect, Literal, NormalForm, Policy, Rule, to_normal_form
from attestlab.policy.language.attributes import AttributeValue
from attestlab.policy.language.context import Values

BUDGET_S = 20.0  # of all queries with one encoding; a policy of a thousand rules takes eight seconds
_TOO_LONG = "The proof took too long; analyze a smaller policy, or retry when the server is idle."


class _Formula(Protocol):
    """z3's `BoolRef`. The package has no types; these protocols have the part of its interface that is used here."""

    def __eq__(self, other: object) -> _Formula:  # type: ignore[override]  # the formula that both are equal
        ...

    def get_id(self) -> int: ...


class _Model(Protocol):
    def __getitem__(self, boolean: _Formula) -> _Formula | None: ...


class _Solver(Protocol):
    def add(self, *formulas: _Formula) -> None: ...
    def set(self, name: str, value: int) -> None: ...
    def check(self, *formulas: _Formula) -> object: ...
    def model(self) -> _Model: ...
    def unsat_core(self) -> Iterable[_Formula]: ...


class _Z3(Protocol):
    """The module itself; `object` stands for its contexts."""

    sat: object
    unsat: object
    Context: Callable[[], object]
    SolverFor: Callable[[str, object], _Solver]
    Bool: Callable[[str, object], _Formula]
    BoolVal: Callable[[bool, object], _Formula]
    Not: Callable[[_Formula], _Formula]
    And: Callable[[Sequence[_Formula]], _Formula]
    Or: Callable[[Sequence[_Formula]], _Formula]
    Xor: Callable[[_Formula, _Formula], _Formula]
    Implies: Callable[[_Formula, _Formula], _Formula]
    If: Callable[[_Formula, _Formula, _Formula], _Formula]
    is_true: Callable[[_Formula | None], bool]


class SmtEncoding:
    """The variables, and the rules as formulas over them; used by one thread.

    All queries together take at most `budget_s` seconds.
    """

    def __init__(self, policies: Sequence[Policy], *, budget_s: float = BUDGET_S) -> None:
        with naming_extras():
            import z3

        self._z3: _Z3 = z3
        self._until = monotonic() + budget_s
        self._context = z3.Context()
        self._cells = partition(policies)
        self._up_to = {path: self._booleans(path) for path in self._cells}
        self._named: dict[int, tuple[_Formula, _Formula]] = {}  # by a rule's id(): boolean and negation
        self._atoms: dict[Literal, _Formula] = {}
        self._solver = self._build_solver()

    def _build_solver(self) -> _Solver:
        solver = self._z3.SolverFor("QF_FD", self._context)
        for booleans in self._up_to.values():
            solver.add(*(self._z3.Implies(low, high) for low, high in pairwise(booleans)))
        return solver

    def _booleans(self, path: str) -> list[_Formula]:
        """Return the booleans: boolean i is true if the place is at most i; the last would always be true, and is
        omitted.
        """
        return [self._z3.Bool(f"{path}<={index}", self._context) for index in range(len(self._cells[path]))]

    def difference(self, old: Policy, new: Policy) -> Values | None:
        """Return a context on which the two policies decide differently, or None."""
        return self._witness([self._z3.Xor(self._allows(old), self._allows(new))])

    def decides(self, policy: Policy, values: Values) -> bool:
        """Evaluate the formula of `policy` for one context: z3 as an evaluator."""
        places = {path: self._place(path, values.get(path)) for path in self._cells}
        facts = [boolean if place <= index else self._z3.Not(boolean)
                 for path, place in places.items() for index, boolean in enumerate(self._up_to[path])]  # fmt: skip
        return self._witness([self._allows(policy), *facts]) is not None

    def match(self, rule: Rule, *, without: Iterable[Rule] = (), together_with: Sequence[Rule] = ()) -> Values | None:
        """Return a context that matches `rule`, none of `without`, and, if given, one of `together_with`; or None."""
        asked = [self._letter(rule), *map(self._negation_of, without)]
        return self._witness([*asked, self._any(map(self._letter, together_with))] if together_with else asked)

    def no_match(self, rules: Sequence[Rule]) -> Values | None:
        """Return a context that none of the rules matches, or None."""
        return self._witness([self._negation_of(rule) for rule in rules])

    def refuted_by(self, rules: Sequence[Rule]) -> tuple[Rule, ...]:
        """Return a sufficient subset of the excluded `rules` that made the last query unsatisfiable (its unsat
        core).
        """
        core = {each.get_id() for each in self._solver.unsat_core()}
        return tuple(rule for rule in rules if self._negation_of(rule).get_id() in core)

    def places(self, atom: Literal) -> list[bool]:
        """Whether the literal is true at each place of its attribute; place 0 is missing."""
        path, test = atom.leaf.attribute.path, compile_form(atom)
        return [test({}), *(test({path: cell.value}) for cell in self._cells[path])]

    def _letter(self, rule: Rule) -> _Formula:
        """Return the boolean that is true if a rule matches."""
        if id(rule) not in self._named:
            letter = self._z3.Bool(f"rule {len(self._named)}", self._context)
            self._solver.add(letter == self._form(to_normal_form(rule)))
            self._named[id(rule)] = (letter, self._z3.Not(letter))
        return self._named[id(rule)][0]

    def _negation_of(self, rule: Rule) -> _Formula:
        """Return the formula that a rule does not match."""
        self._letter(rule)
        return self._named[id(rule)][1]

    def _allows(self, policy: Policy) -> _Formula:
        """Return the formula that a policy allows."""
        effect = self._constant(policy.default is Effect.ALLOW)
        for rule in reversed(policy.enforced_rules):
            effect = self._z3.If(self._letter(rule), self._constant(rule.effect is Effect.ALLOW), effect)
        return effect

    def _witness(self, formulas: Sequence[_Formula]) -> Values | None:
        """Return a context that satisfies all formulas, or None if there is none."""
        left_ms = int(1000 * (self._until - monotonic()))
        if left_ms <= 0:
            raise Unavailable(_TOO_LONG)
        self._solver.set("timeout", left_ms)
        answer = self._solver.check(*formulas)
        if answer == self._z3.sat:
            return self._context_of(self._solver.model())
        if answer == self._z3.unsat:
            return None
        raise Unavailable(_TOO_LONG)

    def _context_of(self, model: _Model) -> Values:
        """Convert a model to a context. An attribute's place is the first index whose boolean is true; all later
        ones are.
        """
        values: Values = {}
        for path, booleans in self._up_to.items():
            place = bisect_left(booleans, True, key=lambda boolean: self._z3.is_true(model[boolean]))
            if place:
                values[path] = self._cells[path][place - 1].value
        return values

    def _place(self, path: str, value: AttributeValue | None) -> int:
        found = class_index(value, self._cells[path])
        return 0 if found is None else found + 1

    def _form(self, form: NormalForm) -> _Formula:
        if isinstance(form, Literal):
            return self._atom(form)
        parts = [self._form(part) for part in form.parts]
        return self._z3.And(parts) if isinstance(form, And) else self._z3.Or(parts)

    def _atom(self, atom: Literal) -> _Formula:
        """Encode the places at which the literal is true, as runs."""
        if atom not in self._atoms:
            path = atom.leaf.attribute.path
            self._atoms[atom] = self._any(self._run(path, low, high) for low, high in _runs_of_true(self.places(atom)))
        return self._atoms[atom]

    def _run(self, path: str, low: int, high: int) -> _Formula:
        """Low <= place <= high."""
        up_to = self._up_to[path]
        bounds = [self._z3.Not(up_to[low - 1])] if low else []
        bounds += [up_to[high]] if high < len(up_to) else []
        return self._z3.And(bounds) if len(bounds) == 2 else bounds[0] if bounds else self._constant(True)

    def _any(self, formulas: Iterable[_Formula]) -> _Formula:
        listed = list(formulas)
        return self._z3.Or(listed) if listed else self._constant(False)

    def _constant(self, truth: bool) -> _Formula:
        return self._z3.BoolVal(truth, self._context)


def _runs_of_true(holds: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of each maximal run of true."""
    start = 0
    for truth, stretch in groupby(holds):
        end = start + len(list(stretch))
        if truth:
            yield start, end - 1
        start = end
