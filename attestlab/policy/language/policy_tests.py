"""The tests inside a policy: data with the expected results of the policy alone.

A misspelt test would pass by accident and would count for an activation. So a test whose context is not accepted as
written is rejected when a version is saved, and fails when an older stored version is activated; decisions and
explanations never read tests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice

from attestlab.core.encoding import json_pointer
from attestlab.core.errors import MAX_REPORTED_ERRORS, FieldError
from attestlab.core.suggestions import MAX_SUGGESTIONS, find_nearest
from attestlab.policy.evaluation.evaluator import Evaluator
from attestlab.policy.language.ast import Policy
from attestlab.policy.language.attributes import Registry
from attestlab.policy.language.context import ContextNormalizer
from attestlab.policy.language.document import Document, PolicyTest, invalid_policy


def require_valid(document: Document, registry: Registry) -> None:
    """Reject tests with invalid contexts or unknown rules; null, or omission, is how a test expresses "missing".

    Raises:
        ValidationFailed: a context has an unregistered attribute or a value that would be rejected, or `matched_rules`
            names an unknown rule; each with the nearest name.
    """
    normalised, ids = ContextNormalizer(registry), {rule.id: rule for rule in document.rules}
    faults = (
        fault
        for index, case in enumerate(document.tests or ())
        for fault in (*_context_errors(case, index, normalised), *_rule_errors(case, index, ids))
    )
    errors = list(islice(faults, MAX_REPORTED_ERRORS))
    if errors:
        raise invalid_policy(errors)


def _context_errors(case: PolicyTest, index: int, normalised: ContextNormalizer) -> Iterator[FieldError]:
    for each in normalised(case.context).diagnostics:
        place = json_pointer("tests", index, "context", *_keys_of_path(case.context, each.path))
        yield FieldError(place, each.code, f"{each.path}: {each.message}")


def _keys_of_path(context: Mapping[str, object], path: str) -> list[str]:
    """Return the keys that spell a dotted path in a context; none if the path was truncated."""
    if path in context:
        return [path]
    for key, inner in context.items():
        if isinstance(inner, Mapping) and path.startswith(f"{key}."):
            rest = _keys_of_path(inner, path.removeprefix(f"{key}."))
            if rest:
                return [key, *rest]
    return []


def _rule_errors(case: PolicyTest, index: int, ids: Collection[str]) -> Iterator[FieldError]:
    for place, name in enumerate(case.matched_rules or ()):
        if name not in ids:
            close = find_nearest(name, ids) if place < MAX_SUGGESTIONS else None
            message = f"The policy has no rule {name}" + (f"; did you mean {close}?" if close else ".")
            yield FieldError(json_pointer("tests", index, "matched_rules", place), "unknown_rule", message)


def find_failing(document: Document, policy: Policy, registry: Registry) -> list[str]:
    """Return the names of the failing tests in their written order; an invalid test fails."""
    return list(_iterate_failing(document, Evaluator(policy), ContextNormalizer(registry)))


def _iterate_failing(document: Document, evaluate: Evaluator, normalised: ContextNormalizer) -> Iterator[str]:
    for case in document.tests or ():
        context = normalised(case.context)
        decision = evaluate(context.values)
        named = case.matched_rules is None or sorted(case.matched_rules) == sorted(decision.matched)
        if context.diagnostics or decision.allowed is not case.allowed or not named:
            yield case.name
