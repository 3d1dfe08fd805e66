"""Static analysis of policies for every possible context, with z3.

Each witness is checked with the evaluator before it is reported: z3 is trusted for speed, not for correctness.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from time import monotonic

from attestlab.core.errors import IntegrityFailed
from attestlab.policy.analysis.smt_encoding import BUDGET_S, SmtEncoding
from attestlab.policy.evaluation.evaluator import Evaluator, compile_form
from attestlab.policy.language.ast import (
    And,
    Effect,
    Literal,
    NormalForm,
    Policy,
    Rule,
    iterate_literals,
    to_normal_form,
)
from attestlab.policy.language.context import Values


class FindingKind(StrEnum):
    """The kind of a finding about a rule or a default."""

    DEAD = "dead"
    SHADOWED = "shadowed"
    CONTRADICTING = "contradicting"
    DEFAULT_UNREACHABLE = "default_unreachable"


@dataclass(frozen=True, slots=True)
class AnalysisFinding:
    """A finding. `by` are the rules that together shadow the rule or contradict it; `witness` is a context that
    proves it.

    Dead rules, shadowed rules and unreachable defaults have no witness, because no such context exists.
    """

    kind: FindingKind
    rule_id: str | None
    by: tuple[str, ...] = ()
    witness: Values | None = None


@dataclass(frozen=True, slots=True)
class PolicyComparison:
    """Whether two policies decide every context equally; if not, a context on which they differ."""

    equivalent: bool
    witness: Values | None = None


def analyze(policy: Policy) -> list[AnalysisFinding]:
    """Return all findings: dead rules, shadowed ones, contradictions, then the default.

    dead: no context matches. shadowed: earlier rules decide each context that matches; `by` is a sufficient set of
    them. contradicting: a DENY and ALLOW rules of one priority can match the same context, so that only the tie rule
    decides. Rules in MONITOR mode can be dead, nothing else.

    Raises:
        Unavailable: it took more than twenty seconds.
        IntegrityFailed: the evaluator rejects a witness, so the proof is worthless.
    """
    return _Analysis(policy).findings()


def find_dead_rules(policy: Policy) -> list[str]:
    """Return the ids of dead rules (no context matches), in rule order. The cheapest part of `analyze`.

    Only the rule itself can make it dead, so each has a small separate encoding; a context that matches one rule may
    show that others are not dead, without another proof.

    Raises:
        Unavailable: it took more than twenty seconds.
        IntegrityFailed: see `analyze`.
    """
    until = monotonic() + BUDGET_S
    seen: list[Values] = []
    dead: list[str] = []
    for rule in policy.rules:
        matches = compile_form(to_normal_form(rule))
        if any(map(matches, seen)):
            continue
        witness = SmtEncoding([replace(policy, rules=(rule,))], budget_s=until - monotonic()).match(rule)
        if witness is None:
            dead.append(rule.id)
        else:
            _require_witness(matches(witness))
            seen.append(witness)
    return dead


def compare(old: Policy, new: Policy) -> PolicyComparison:
    """Compare the effects of two policies on every context, whichever rule decides.

    Raises:
        Unavailable: it took more than twenty seconds.
        IntegrityFailed: the evaluators reject the witness.
    """
    world = SmtEncoding([old, new])
    witness = world.difference(old, new)
    if witness is None:
        return PolicyComparison(True)
    _require_witness(Evaluator(old)(witness).effect is not Evaluator(new)(witness).effect)
    return PolicyComparison(False, witness)


def _require_witness(holds: bool) -> None:
    if not holds:
        raise IntegrityFailed("The evaluator rejects a witness of the solver; report this to the maintainers.")


class _Analysis:
    """The analysis of one policy; keeps the solver's witnesses, because they answer later queries."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._world = SmtEncoding([policy])
        self._decide = Evaluator(policy)
        self._seen: list[Values] = []
        self._boxes: dict[int, dict[str, int]] = {}

    def findings(self) -> list[AnalysisFinding]:
        dead = {rule.id for rule in self._policy.rules if self._is_dead(rule)}
        alive = [rule for rule in self._policy.enforced_rules if rule.id not in dead]
        found = [AnalysisFinding(FindingKind.DEAD, rule.id) for rule in self._policy.rules if rule.id in dead]
        rules = [*self._find_shadowed_rules(alive), *self._find_contradicting_rules(alive)]
        return [*found, *rules, *self._find_unreachable_default()]

    def _is_dead(self, rule: Rule) -> bool:
        """Whether no context matches the rule."""
        witness = self._world.match(rule)
        if witness is None:
            return True
        _require_witness(compile_form(to_normal_form(rule))(witness))
        self._seen.append(witness)
        return False

    def _find_shadowed_rules(self, alive: Sequence[Rule]) -> Iterator[AnalysisFinding]:
        """Yield rules whose every match is decided by earlier rules; skips rules that decide a known witness."""
        deciding = {matched[0] for values in self._seen if (matched := self._decide(values).matched)}
        for index, rule in enumerate(alive):
            if rule.id in deciding:
                continue
            before = alive[:index]
            witness = self._world.match(rule, without=before)
            if witness is None:
                yield AnalysisFinding(FindingKind.SHADOWED, rule.id, _rule_ids(self._world.refuted_by(before)))
            else:
                _require_witness(self._decide(witness).matched[:1] == (rule.id,))
                self._seen.append(witness)

    def _find_contradicting_rules(self, alive: Sequence[Rule]) -> Iterator[AnalysisFinding]:
        """Yield DENY rules that can match together with ALLOW rules of the same priority."""
        for _, tied in groupby(alive, key=lambda rule: rule.priority):
            rules = list(tied)
            allowing = [rule for rule in rules if rule.effect is Effect.ALLOW]
            for rule in (rule for rule in rules if rule.effect is Effect.DENY):
                yield from self._find_contradictions(rule, allowing)

    def _find_contradictions(self, rule: Rule, allowing: Sequence[Rule]) -> Iterator[AnalysisFinding]:
        """Yield the finding with all ALLOW rules that can match with `rule`; skips rules whose boxes do not
        intersect.
        """
        left = {other.id: other for other in allowing if self._may_meet(rule, other)}
        found: list[str] = []
        first = None
        while left:
            witness = self._world.match(rule, together_with=list(left.values()))
            if witness is None:
                break
            matched = set(self._decide(witness).matched)
            _require_witness(rule.id in matched and not matched.isdisjoint(left))
            first = first or witness
            # Plain conjunctions with intersecting boxes do match together: one witness proves all of them.
            settled = {name for name, other in left.items() if name in matched or self._surely_meet(rule, other)}
            found += settled
            left = {name: other for name, other in left.items() if name not in settled}
        if found:
            yield AnalysisFinding(FindingKind.CONTRADICTING, rule.id, tuple(sorted(found)), first)

    def _find_unreachable_default(self) -> Iterator[AnalysisFinding]:
        """Yield a finding if some rule matches every context."""
        if any(not self._decide(values).matched for values in self._seen):
            return
        witness = self._world.no_match(self._policy.enforced_rules)
        if witness is None:
            needed = self._world.refuted_by(self._policy.enforced_rules)
            yield AnalysisFinding(FindingKind.DEFAULT_UNREACHABLE, None, _rule_ids(needed))
        else:
            _require_witness(not self._decide(witness).matched)

    def _may_meet(self, rule: Rule, other: Rule) -> bool:
        return _boxes_intersect(self._box(rule), self._box(other))

    def _surely_meet(self, rule: Rule, other: Rule) -> bool:
        return _is_conjunction(rule) and _is_conjunction(other) and self._may_meet(rule, other)

    def _box(self, rule: Rule) -> dict[str, int]:
        """Return the box of a rule: for each attribute, the classes of matching values as bits; exact for
        conjunctions.
        """
        if id(rule) not in self._boxes:
            box: dict[str, int] = {}
            for atom in _conjuncts(to_normal_form(rule)):
                path = atom.leaf.attribute.path
                bits = sum(1 << place for place, holds in enumerate(self._world.places(atom)) if holds)
                box[path] = box.get(path, -1) & bits
            self._boxes[id(rule)] = box
        return self._boxes[id(rule)]


def _rule_ids(rules: Sequence[Rule]) -> tuple[str, ...]:
    return tuple(rule.id for rule in rules)


def _conjuncts(form: NormalForm) -> Iterator[Literal]:
    """Yield the literals that are true whenever the form is."""
    if isinstance(form, Literal):
        yield form
    elif isinstance(form, And):
        for part in form.parts:
            yield from _conjuncts(part)


def _is_conjunction(rule: Rule) -> bool:
    form = to_normal_form(rule)
    return sum(1 for _ in _conjuncts(form)) == sum(1 for _ in iterate_literals(form))


def _boxes_intersect(one: dict[str, int], other: dict[str, int]) -> bool:
    """Whether the boxes share a class for every attribute."""
    return all(bits & other.get(path, -1) for path, bits in one.items())
