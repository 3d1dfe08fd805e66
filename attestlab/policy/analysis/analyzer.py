"""What is true of a policy for every context there could be, proven by z3.

A witness is replayed through the evaluator before it is told: z3 is trusted for speed, not for
the answer.
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
from attestlab.policy.language.ast import And, Effect, Form, Literal, Policy, Rule, iterate_literals, to_normal_form
from attestlab.policy.language.context import Values


class FindingKind(StrEnum):
    """What is wrong with a rule or a default."""

    DEAD = "dead"
    SHADOWED = "shadowed"
    CONTRADICTING = "contradicting"
    DEFAULT_UNREACHABLE = "default_unreachable"


@dataclass(frozen=True, slots=True)
class AnalysisFinding:
    """`by` are the rules that together shadow it, or that contradict it; `witness` is a context that shows it.

    A dead rule, a shadowed one and an unreachable default have no witness: there is no context.
    """

    kind: FindingKind
    rule_id: str | None
    by: tuple[str, ...] = ()
    witness: Values | None = None


@dataclass(frozen=True, slots=True)
class PolicyComparison:
    """Whether two policies always decide alike; if not, a context on which they differ."""

    equivalent: bool
    witness: Values | None = None


def analyze(policy: Policy) -> list[AnalysisFinding]:
    """All findings: dead rules, shadowed ones, contradictions, then the default.

    dead: no context matches. shadowed: each context that matches is decided by rules before it,
    `by` is enough of them. contradicting: a DENY and ALLOW rules of one priority can
    match at once, and only the tie decides. Rules that are only watched can be dead, nothing else.

    Raises:
        Unavailable: it took more than twenty seconds.
        IntegrityFailed: a witness does not hold in the evaluator; the proof is worth nothing then.
    """
    return _Analysis(policy).findings()


def find_dead_rules(policy: Policy) -> list[str]:
    """The ids of the rules that no context matches, in their order: of what `analyze` finds, what is had soonest.

    Nothing but a rule itself makes it dead, so each is asked about in a small world of its own; a context that
    one of them was found to match settles others without being asked.

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
    """Whether both decide alike on every context; the effect is compared, not which rule decides.

    Raises:
        Unavailable: it took more than twenty seconds.
        IntegrityFailed: the witness does not hold in the evaluators.
    """
    world = SmtEncoding([old, new])
    witness = world.difference(old, new)
    if witness is None:
        return PolicyComparison(True)
    _require_witness(Evaluator(old)(witness).effect is not Evaluator(new)(witness).effect)
    return PolicyComparison(False, witness)


def _require_witness(holds: bool) -> None:
    if not holds:
        raise IntegrityFailed("A witness of the solver does not hold in the evaluator; tell the maintainers.")


class _Analysis:
    """One policy under examination; contexts that the solver found are kept, for they settle later questions."""

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
        return [*found, *self._shadowed(alive), *self._contradicting(alive), *self._unreachable_default()]

    def _is_dead(self, rule: Rule) -> bool:
        """No context matches the rule."""
        witness = self._world.match(rule)
        if witness is None:
            return True
        _require_witness(compile_form(to_normal_form(rule))(witness))
        self._seen.append(witness)
        return False

    def _shadowed(self, alive: Sequence[Rule]) -> Iterator[AnalysisFinding]:
        """Rules of which every match is decided by rules before them; those that were seen deciding are not asked."""
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

    def _contradicting(self, alive: Sequence[Rule]) -> Iterator[AnalysisFinding]:
        """DENY rules that can match together with ALLOW rules of the same priority."""
        for _, tied in groupby(alive, key=lambda rule: rule.priority):
            rules = list(tied)
            allowing = [rule for rule in rules if rule.effect is Effect.ALLOW]
            for rule in (rule for rule in rules if rule.effect is Effect.DENY):
                yield from self._contradicted(rule, allowing)

    def _contradicted(self, rule: Rule, allowing: Sequence[Rule]) -> Iterator[AnalysisFinding]:
        """All ALLOW rules that can match with `rule`; one that shares no box with it is not asked about."""
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
            # Plain conjunctions whose boxes meet do match together: one witness settles them all.
            settled = {name for name, other in left.items() if name in matched or self._surely_meet(rule, other)}
            found += settled
            left = {name: other for name, other in left.items() if name not in settled}
        if found:
            yield AnalysisFinding(FindingKind.CONTRADICTING, rule.id, tuple(sorted(found)), first)

    def _unreachable_default(self) -> Iterator[AnalysisFinding]:
        """Some rule matches whatever the context."""
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
        """For each attribute the places, as bits, that a match leaves to it; exact for a conjunction of leaves."""
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


def _conjuncts(form: Form) -> Iterator[Literal]:
    """The atoms that hold whenever the form does."""
    if isinstance(form, Literal):
        yield form
    elif isinstance(form, And):
        for part in form.parts:
            yield from _conjuncts(part)


def _is_conjunction(rule: Rule) -> bool:
    form = to_normal_form(rule)
    return sum(1 for _ in _conjuncts(form)) == sum(1 for _ in iterate_literals(form))


def _boxes_intersect(one: dict[str, int], other: dict[str, int]) -> bool:
    """Whether no attribute is asked to be in two places at once."""
    return all(bits & other.get(path, -1) for path, bits in one.items())
