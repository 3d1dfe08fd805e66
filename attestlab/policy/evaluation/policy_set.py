"""Policy sets: every enforced policy must allow (POLICY, Semantics 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from attestlab.core.crypto.canonical_json import canonical_trusted, sha256_hex
from attestlab.policy.evaluation.evaluator import Decision, Evaluator
from attestlab.policy.language.ast import Effect, Mode, Policy
from attestlab.policy.language.context import Values


@dataclass(frozen=True)
class PolicySetMember:
    """A policy of a set; one in shadow is evaluated and reported, but not enforced."""

    id: str
    digest: str
    policy: Policy
    in_shadow: bool = False

    @cached_property
    def evaluator(self) -> Evaluator:
        """The evaluator, compiled at the first decision and cached."""
        return Evaluator(self.policy)

    def compile(self) -> None:
        """Compile the policy now, so that its first decision takes no longer than the next."""
        _ = self.evaluator

    @property
    def is_enforced(self) -> bool:
        """Whether the policy's effect counts in the decision."""
        return not self.in_shadow and self.policy.mode is Mode.ENFORCE


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """The result of one policy of a set."""

    member: PolicySetMember
    decision: Decision

    def reasons(self) -> list[str]:
        """Return the reasons of a denial: the deciding rule's first, then those of the other matching DENY rules."""
        rules = {rule.id: rule for rule in self.member.policy.rules}
        denying = [rules[name].reason for name in self.decision.matched if rules[name].effect is Effect.DENY]
        return denying or [f"No rule of the policy {self.member.policy.name} matched, and its default is DENY."]


@dataclass(frozen=True, slots=True)
class SetDecision:
    """The decision of a policy set; `results` has those of all policies, including policies that are not enforced."""

    allowed: bool
    results: tuple[PolicyResult, ...]

    @property
    def deciding_result(self) -> PolicyResult | None:
        """The first result that denies; else the first with a matching rule, else the first."""
        enforced_rules = [results for results in self.results if results.member.is_enforced]
        against = [results for results in enforced_rules if not results.decision.allowed]
        matching = [results for results in enforced_rules if results.decision.matched]
        return next(iter([*against, *matching, *enforced_rules]), None)

    @property
    def matched_policy(self) -> str | None:
        """The name of the deciding policy; None if no policy is enforced."""
        return None if self.deciding_result is None else self.deciding_result.member.policy.name

    @property
    def matched_rule(self) -> str | None:
        """The id of the deciding rule; None if a default decides."""
        return next(iter(self.deciding_result.decision.matched), None) if self.deciding_result else None

    @property
    def matched_rules(self) -> tuple[str, ...]:
        """The ids of all matching enforced rules, each once; those of the deciding policy first."""
        first = [results for results in [self.deciding_result] if results]
        rest = [results for results in self.results if results.member.is_enforced and results not in first]
        return tuple(dict.fromkeys(name for results in [*first, *rest] for name in results.decision.matched))

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons of a denial; empty if the decision allows."""
        against = [results for results in self.results if results.member.is_enforced and not results.decision.allowed]
        return tuple(dict.fromkeys(reason for results in against for reason in results.reasons()))

    @property
    def reason(self) -> str | None:
        """The reason in one sentence; None if no policy is enforced."""
        deciding_result = self.deciding_result
        if deciding_result is None or not self.allowed:
            return next(iter(self.reasons), None)
        policy = deciding_result.member.policy
        if self.matched_rule is None:
            return f"No rule of the policy {policy.name} matched, and its default is ALLOW."
        return next(rule.reason for rule in policy.rules if rule.id == self.matched_rule)


class PolicySet:
    """The policies that apply to one action and target, in a fixed order."""

    def __init__(self, members: Iterable[PolicySetMember] = ()) -> None:
        self.members = tuple(members)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the versions in the set and of which are enforced: it identifies the policies behind a
        decision.
        """
        return sha256_hex(
            canonical_trusted([[member.id, member.digest, member.is_enforced] for member in self.members])
        )

    def __call__(self, values: Values) -> SetDecision:
        """Evaluate all policies; without an enforced policy the decision is ALLOW."""
        results = tuple([PolicyResult(member, member.evaluator(values)) for member in self.members])
        return SetDecision(all(each.decision.allowed for each in results if each.member.is_enforced), results)
