"""All evaluators agree: closures, both forms of SQL, z3 and the explanation equal a naive reference of POLICY.

A batch is one policy with many contexts, decided by DuckDB in one query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from attestlab.policy.analysis.smt_encoding import SmtEncoding
from attestlab.policy.evaluation.evaluator import Evaluator
from attestlab.policy.evaluation.explanation import explain
from attestlab.policy.language.ast import Policy
from attestlab.policy.language.attributes import AttributeValue
from attestlab.policy.language.context import ContextNormalizer, Values
from attestlab.policy.sql.compiler import COLUMN_TYPES, case_sql, decided_sql, literal, mask_sql, quote_column
from support.policies.documents import REGISTRY, bind_document, make_document
from support.policies.reference_evaluator import evaluate_naively
from support.policies.strategies import json_conditions, json_policies, json_rules, raw_contexts
from support.property_tests import examples

NORMALISED = ContextNormalizer(REGISTRY)
MANY = settings(
    max_examples=examples(120, many=1_000),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)
SOME = settings(MANY, max_examples=examples(40, many=100))


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with a table of typed contexts, one column an attribute."""
    connection = duckdb.connect(config={"threads": 1})
    columns = ", ".join(f"{quote_column(path)} {COLUMN_TYPES[a.type]}" for path, a in REGISTRY.items())
    connection.execute(f"CREATE TABLE contexts (i INTEGER, {columns})")
    with connection:
        yield connection


def decided_by_sql(
    connection: duckdb.DuckDBPyConnection, policy: Policy, contexts: Sequence[Values]
) -> list[tuple[bool, bool, list[str], list[str]]]:
    """For each context: what CASE says, what the mask says, the rules in the mask, the watched ones."""
    watched = [rule for rule in policy.rules if not rule.is_enforced]
    masks = [*mask_sql(policy.enforced_rules), *mask_sql(watched)]
    words = [f"w{index}" for index in range(len(masks))]
    counting = words[: len(mask_sql(policy.enforced_rules))]
    listed = ", ".join([f"{mask} AS {word}" for mask, word in zip(masks, words, strict=True)] or ["0 AS none"])
    rows = connection.execute(
        f"SELECT by_case, {decided_sql(policy, counting)}, {', '.join(words) or '0'} "
        f"FROM (SELECT i, {case_sql(policy)} AS by_case, {listed} FROM ({rows_of(contexts)})) ORDER BY i"
    ).fetchall()
    return [
        (
            by_case,
            by_mask,
            named(found[: len(counting)], [rule.id for rule in policy.enforced_rules]),
            named(found[len(counting) :], [rule.id for rule in watched]),
        )
        for by_case, by_mask, *found in rows
    ]


def rows_of(contexts: Sequence[Values]) -> str:
    """The contexts as VALUES, typed like the table."""
    rows = ", ".join(f"({i}, {', '.join(spelt(c.get(path)) for path in REGISTRY)})" for i, c in enumerate(contexts))
    names = ", ".join(["i", *map(quote_column, REGISTRY)])
    return f"SELECT * FROM contexts UNION ALL SELECT * FROM (VALUES {rows}) AS t({names})"


def spelt(value: AttributeValue | None) -> str:
    return "NULL" if value is None else literal(value)


def named(words: Sequence[int], names: Sequence[str]) -> list[str]:
    return [name for i, name in enumerate(names) if words and words[i // 64] >> i % 64 & 1]


@pytest.mark.more_in_soak
@MANY
@given(raw=json_policies(), contexts=st.lists(raw_contexts(), min_size=1, max_size=6))
def test_evaluator_and_sql_agree_with_naive_reference(
    database: duckdb.DuckDBPyConnection, raw: dict[str, Any], contexts: list[dict[str, Any]]
) -> None:
    """Random policies with random contexts, wrong and missing values among them; a thousand in the soak."""
    policy = bind_document(raw)
    evaluate = Evaluator(policy)
    contexts = [*contexts, {}]
    values = [NORMALISED(context).values for context in contexts]

    expected = [evaluate_naively(raw, context) for context in contexts]
    assert [(d.allowed, list(d.matched), list(d.monitored)) for d in map(evaluate, values)] == expected
    assert decided_by_sql(database, policy, values) == [(e[0], *e) for e in expected]


@pytest.mark.more_in_soak
@SOME
@given(raw=json_policies(), contexts=st.lists(raw_contexts(), min_size=1, max_size=3))
def test_z3_agrees_with_evaluator_on_one_context(raw: dict[str, Any], contexts: list[dict[str, Any]]) -> None:
    """The formulas that proofs rest on mean the policy, for values of every class and for missing ones."""
    policy = bind_document(raw)
    world, evaluate = SmtEncoding([policy]), Evaluator(policy)

    for values in (NORMALISED(context).values for context in [*contexts, {}]):
        assert world.decides(policy, values) is evaluate(values).allowed


@pytest.mark.more_in_soak
@MANY
@given(raw=json_policies(), context=raw_contexts())
def test_explanation_marks_matching_rules(raw: dict[str, Any], context: dict[str, Any]) -> None:
    """The tree that is shown to people is no other opinion."""
    policy, values = bind_document(raw), NORMALISED(context).values

    shown = [each.rule.id for each in explain(policy, values) if each.matched and each.rule.is_enforced]
    assert tuple(shown) == Evaluator(policy)(values).matched


@pytest.mark.more_in_soak
@SOME
@given(data=st.data(), context=raw_contexts())
def test_de_morgan_holds_in_deny_rules(data: st.DataObject, context: dict[str, Any]) -> None:
    """Classical logic: not-all is any-not, and not-any is all-not."""
    parts = data.draw(st.lists(json_conditions(), min_size=1, max_size=3))
    values = NORMALISED(context).values
    for word, other in (("all", "any"), ("any", "all")):
        one = make_document({"id": "r", "effect": "DENY", "priority": 1, "when": {"not": {word: parts}}})
        two = make_document({"id": "r", "effect": "DENY", "priority": 1, "when": {other: [{"not": p} for p in parts]}})
        assert Evaluator(bind_document(one))(values) == Evaluator(bind_document(two))(values)


@pytest.mark.more_in_soak
@SOME
@given(data=st.data(), context=raw_contexts(), more=raw_contexts())
def test_adding_a_value_never_unmatches_an_allow_rule(
    data: st.DataObject, context: dict[str, Any], more: dict[str, Any]
) -> None:
    """Absence never grants: whatever a missing attribute turns out to be, a rule that matched still does."""
    policy = bind_document(make_document(data.draw(json_rules(0, effect="ALLOW"))))
    known = NORMALISED(context).values
    completed = {**NORMALISED(more).values, **known}

    before, after = Evaluator(policy)(known), Evaluator(policy)(completed)
    assert set(before.matched) <= set(after.matched)


@pytest.mark.more_in_soak
@SOME
@given(raw=json_policies(), context=raw_contexts(), data=st.data())
def test_written_rule_order_has_no_effect(raw: dict[str, Any], context: dict[str, Any], data: st.DataObject) -> None:
    """Rules of one priority may be permuted, and so may all: priority, DENY first and the id settle the order."""
    values = NORMALISED(context).values
    permuted = {**raw, "rules": data.draw(st.permutations(raw["rules"]))}

    assert Evaluator(bind_document(raw))(values) == Evaluator(bind_document(permuted))(values)
