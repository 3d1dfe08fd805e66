"""The tests that stand in a policy: data that says what the policy alone must answer.

A test that asks about something else than it says would pass by accident, and an activation counts it. So
one whose context is not taken as it is written is refused where a version is written, and fails where a
version that was stored before is switched on; deciding and explaining never read tests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

from attestlab.core.errors import MAX_REPORTED_ERRORS, FieldError
from attestlab.policy.evaluation.evaluator import Evaluator
from attestlab.policy.language.ast import Policy
from attestlab.policy.language.attributes import MAX_SUGGESTIONS, Registry, find_nearest
from attestlab.policy.language.context import ContextNormalizer
from attestlab.policy.language.document import Document, PolicyTest, invalid_policy, json_pointer


def require_valid(document: Document, registry: Registry) -> None:
    """Refuse tests that do not ask what they seem to; null, or left out, is how a test says "missing".

    Raises:
        ValidationFailed: a context has an attribute that is not registered or a value that would not be taken, or
            `matched_rules` names no rule of the policy; each with the nearest name.
    """
    normalised, ids = ContextNormalizer(registry), {rule.id: rule for rule in document.rules}
    faults = (
        fault
        for index, case in enumerate(document.tests or ())
        for fault in (*_context_errors(case, index, normalised), *_rule_errors(case, index, ids))
    )
    told = list(islice(faults, MAX_REPORTED_ERRORS))
    if told:
        raise invalid_policy(told)


def _context_errors(case: PolicyTest, index: int, normalised: ContextNormalizer) -> Iterator[FieldError]:
    for each in normalised(case.context).diagnostics:
        place = json_pointer("tests", index, "context", *_keys_of_path(case.context, each.path))
        yield FieldError(place, each.code, f"{each.path}: {each.message}")


def _keys_of_path(context: Mapping[str, Any], path: str) -> list[str]:
    """By which keys a dotted path is spelt in a context; none where it is spelt too long to be told whole."""
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
            message = f"No rule of the policy is called {name}" + (f"; did you mean {close}?" if close else ".")
            yield FieldError(json_pointer("tests", index, "matched_rules", place), "unknown_rule", message)


def find_failing(document: Document, policy: Policy, registry: Registry) -> list[str]:
    """The names of the tests that fail, in the order in which they are written; one that is not sound fails."""
    return list(_iterate_failing(document, Evaluator(policy), ContextNormalizer(registry)))


def _iterate_failing(document: Document, evaluate: Evaluator, normalised: ContextNormalizer) -> Iterator[str]:
    for case in document.tests or ():
        context = normalised(case.context)
        decision = evaluate(context.values)
        named = case.matched_rules is None or sorted(case.matched_rules) == sorted(decision.matched)
        if context.diagnostics or decision.allowed is not case.allowed or not named:
            yield case.name
