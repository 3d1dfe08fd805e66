"""The tests that stand in a policy, run: data that says what the policy alone must answer."""

from __future__ import annotations

from collections.abc import Iterator

from attestlab.policy.attributes import Registry
from attestlab.policy.closures import Evaluator
from attestlab.policy.contexts import Normaliser
from attestlab.policy.documents import Document
from attestlab.policy.trees import Policy


def failing(document: Document, policy: Policy, registry: Registry) -> list[str]:
    """The names of the tests that fail, in the order in which they are written."""
    return list(_failing(document, Evaluator(policy), Normaliser(registry)))


def _failing(document: Document, evaluate: Evaluator, normalised: Normaliser) -> Iterator[str]:
    for case in document.tests or ():
        decision = evaluate(normalised(case.context).values)
        named = case.matched_rules is None or sorted(case.matched_rules) == sorted(decision.matched)
        if decision.allowed is not case.allowed or not named:
            yield case.name
