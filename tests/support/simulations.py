"""Drafts on pasts, and what brute force says of them: each context decided by itself, by the production set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from attestlab.lake.context_columns import ARROW
from attestlab.policy.evaluation.evaluator import Evaluator
from attestlab.policy.evaluation.policy_set import PolicySet, PolicySetMember, SetDecision
from attestlab.policy.language.ast import AllOf, AnyOf, Comparison, ConditionTree, Not, Policy, Rule
from attestlab.policy.language.attributes import AttributeType
from attestlab.policy.language.context import ContextNormalizer, Values
from attestlab.simulation.history import ContextsHistory
from attestlab.simulation.query_session import QuerySession
from attestlab.simulation.scenarios import Scenario, ScenarioSets, TargetSets
from attestlab.simulation.simulation import Simulation
from support.policies.documents import REGISTRY, bind_document

ARROW_TYPES = {
    AttributeType.ENUM: ARROW["text"],
    AttributeType.TEXT: ARROW["text"],
    AttributeType.NUMBER: ARROW["number"],
    AttributeType.INTEGER: pa.int64(),
    AttributeType.BOOLEAN: ARROW["truth"],
}
NORMALIZE = ContextNormalizer(REGISTRY)


def make_member(name: str, raw: Mapping[str, Any] | Policy) -> PolicySetMember:
    """A policy as a member of a set."""
    return PolicySetMember(name, name.ljust(64, "0"), raw if isinstance(raw, Policy) else bind_document(raw))


def make_scenario(
    draft: PolicySetMember, *others: PolicySetMember, replaced: PolicySetMember | None = None
) -> Scenario:
    """A draft that stands behind others, or takes the place of one that stands there."""
    before = tuple(each for each in (*others, replaced) if each is not None and each.is_enforced)
    after = tuple(each for each in (*others, draft) if each.is_enforced)
    return Scenario(draft, ScenarioSets.of([TargetSets(None, before, after)], draft))


def write_contexts(path: Path, contexts: Sequence[Mapping[str, Any]]) -> list[Values]:
    """Contexts as a Parquet file, normalised; as evaluators see them."""
    values = [NORMALIZE(context).values for context in contexts]
    columns = {name: pa.array([each.get(name) for each in values], ARROW_TYPES[a.type]) for name, a in REGISTRY.items()}
    pq.write_table(pa.table(columns), path)
    return values


def make_simulation(path: Path, scenario: Scenario, *, by: Sequence[str] = ()) -> Simulation:
    """A simulation of a file."""
    return Simulation(
        QuerySession(duckdb.connect(config={"threads": 1})), ContextsHistory(str(path)), scenario, REGISTRY, by=by
    )


def policy_sets(scenario: Scenario) -> tuple[PolicySet, PolicySet]:
    """The policies before and after."""
    (place,) = scenario.sets.places
    return PolicySet(place.before), PolicySet(place.after)


def deciding_policy_and_rule(decision: SetDecision) -> tuple[str | None, str | None]:
    """Who decided: policy and rule."""
    said = decision.deciding_result
    if said is None:
        return None, None
    return said.member.id, next(iter(said.decision.matched), None)


def effect_name(allowed: bool) -> str:
    return "ALLOW" if allowed else "DENY"


def count_rows(rows: Iterable[Mapping[str, Any]], *names: str) -> Counter[tuple[Any, ...]]:
    """Rows of a frame as counts by some of their columns."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        found[tuple(tuple(v) if isinstance(v, list) else v for v in (row[name] for name in names))] += row["count"]
    return found


def replace_threshold(policy: Policy, rule_id: str, leaf: Comparison, value: float) -> Policy:
    """The same policy with another constant in one leaf."""
    return replace(
        policy, rules=tuple(_moved(rule, leaf, value) if rule.id == rule_id else rule for rule in policy.rules)
    )


def _moved(rule: Rule, leaf: Comparison, value: float) -> Rule:
    def moved(tree: ConditionTree) -> ConditionTree:
        if isinstance(tree, Comparison):
            return replace(tree, value=value) if tree == leaf else tree
        if isinstance(tree, Not):
            return Not(moved(tree.part))
        kind = AllOf if isinstance(tree, AllOf) else AnyOf
        return kind(tuple(moved(part) for part in tree.parts))

    return replace(rule, when=moved(rule.when))


def remove_rule(policy: Policy, rule_id: str) -> Policy:
    """The same policy without a rule."""
    return replace(policy, rules=tuple(rule for rule in policy.rules if rule.id != rule_id))


def evaluate_draft(scenario: Scenario, draft: Policy, values: Sequence[Values]) -> list[bool]:
    """What the policies say with another text in the draft's place."""
    (place,) = scenario.sets.places
    found = [replace(each, policy=draft) if each == scenario.draft else each for each in place.after]
    evaluators = [Evaluator(each.policy) for each in found if each.is_enforced]
    return [all(evaluate(each).allowed for evaluate in evaluators) for each in values]
