"""Counterfactuals: the fewest changes that reverse a decision, of mutable attributes only."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attestlab.policy.analysis.partitions import partition
from attestlab.policy.evaluation.counterfactual import find_counterfactual
from attestlab.policy.evaluation.policy_set import PolicySet, PolicySetMember
from attestlab.policy.language.context import ContextNormalizer, Values
from support.policies.documents import REGISTRY, bind_document, make_condition, make_document, make_rule
from support.policies.strategies import json_policies, raw_contexts
from support.property_tests import examples

NORMALISED = ContextNormalizer(REGISTRY)


def policy_set(*documents: dict[str, Any]) -> PolicySet:
    """A set of policies that count."""
    return PolicySet(PolicySetMember(str(n), "0" * 64, bind_document(raw)) for n, raw in enumerate(documents))


def fewest_by_trying_all(policies: PolicySet, values: Values, most: int = 2) -> int | None:
    """Every change of up to `most` attributes, tried one by one."""
    cells = partition([member.policy for member in policies.members if member.is_enforced])
    mutable = [path for path in cells if REGISTRY[path].mutable]
    before = policies(values).allowed
    for count in range(1, most + 1):
        for chosen in combinations(mutable, count):
            for picked in product(*(cells[path] for path in chosen)):
                changed = {**values, **{path: cell.value for path, cell in zip(chosen, picked, strict=True)}}
                if policies(changed).allowed is not before:
                    return count
    return None


@pytest.mark.more_in_soak
@settings(max_examples=examples(30, many=100), deadline=None, suppress_health_check=list(HealthCheck))
@given(raws=st.lists(json_policies(most=3), min_size=1, max_size=2), context=raw_contexts())
def test_counterfactual_is_minimal_and_reverses_decision(raws: list[dict[str, Any]], context: dict[str, Any]) -> None:
    policies, values = policy_set(*raws), NORMALISED(context).values

    found = find_counterfactual(policies, values)

    fewest = fewest_by_trying_all(policies, values)
    assert found.complete
    if fewest is not None:
        assert found.changes is not None
        assert len(found.changes) == fewest
    if found.changes is not None:
        changed = {**values, **{change.path: change.after for change in found.changes}}
        assert policies(changed).allowed is not policies(values).allowed
        assert all(NORMALISED({c.path: c.after}).values == {c.path: c.after} for c in found.changes)


def test_counterfactual_has_nearest_value_and_bounds() -> None:
    policies = policy_set(
        make_document(make_rule("old", "DENY", make_condition("key.age_days", "gte", 90)), default_effect="ALLOW")
    )

    changes = find_counterfactual(policies, {"key.age_days": 400.0}).changes

    assert changes is not None
    (change,) = changes
    assert (change.path, change.before, change.after) == ("key.age_days", 400.0, 89.0)
    assert (change.above, change.below) == (0.0, 90.0)


def test_immutable_attributes_are_not_proposed() -> None:
    policies = policy_set(
        make_document(make_rule("where", "DENY", make_condition("jurisdiction", "eq", "CH")), default_effect="ALLOW")
    )

    assert find_counterfactual(policies, {"jurisdiction": "CH"}).changes is None


def test_aborted_search_is_not_complete() -> None:
    """Forty attributes of which all must change at once are more than can be tried; the answer says so."""
    from attestlab.policy.evaluation.binder import bind
    from attestlab.policy.language.attributes import Attribute, AttributeType
    from attestlab.policy.language.document import Document

    registry = REGISTRY.with_own([Attribute(f"x{n}", AttributeType.BOOLEAN) for n in range(40)])
    pairs = [
        {"any": [{"attr": f"x{n}", "op": "eq", "value": n % 2 == 0}, make_condition("size", "eq", "S")]}
        for n in range(40)
    ]
    twins = [
        {"any": [make_condition("is_resident", "eq", n == 0), {"attr": f"x{n}", "op": "eq", "value": True}]}
        for n in range(40)
    ]
    raw = make_document(make_rule("a", "ALLOW", {"all": [*pairs, *twins, {"not": make_condition("size", "eq", "S")}]}))
    policies = PolicySet([PolicySetMember("p", "0" * 64, bind(Document.read(raw), registry))])

    found = find_counterfactual(policies, {f"x{n}": False for n in range(40)} | {"is_resident": False, "size": "M"})

    assert found.changes is None
