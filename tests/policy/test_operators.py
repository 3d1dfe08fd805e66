"""Each operator of a policy in every target and document; a failure names the file that lacks it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attestlab.policy.analysis.partitions import partition
from attestlab.policy.evaluation.evaluator import Evaluator
from attestlab.policy.formats.cedar import to_cedar
from attestlab.policy.formats.rego import to_rego
from attestlab.policy.language.ast import Policy
from attestlab.policy.language.attributes import OPERATORS, Op, Operand
from attestlab.policy.language.document import ComparisonDoc
from attestlab.policy.sql.compiler import case_sql
from attestlab.web.openapi.meanings import find_meaning
from support.policies.documents import bind_document, make_condition, make_document, make_rule
from support.policies.reference_evaluator import evaluate_naively

ROOT = Path(__file__).parents[2]
SAMPLES = {Operand.VALUE: 5, Operand.LIST: [5, 7], Operand.PRESENCE: True}


def make_policy(op: Op) -> tuple[dict[str, Any], Policy]:
    condition = make_condition("key.age_days", op, SAMPLES[OPERATORS[op].operand])
    written = make_document(make_rule("r", "ALLOW", condition), default_effect="DENY")
    return written, bind_document(written)


@pytest.mark.parametrize("op", Op)
def test_every_target_has_the_operator(op: Op) -> None:
    _written, policy = make_policy(op)

    for target, file in ((case_sql, "sql/compiler.py"), (to_cedar, "formats/cedar.py"), (to_rego, "formats/rego.py")):
        try:
            assert target(policy)
        except KeyError:
            pytest.fail(f"attestlab/policy/{file} does not spell {op}")
    assert partition([policy])


@pytest.mark.parametrize("op", Op)
@pytest.mark.parametrize("value", [None, 4, 5, 6])
def test_the_naive_reading_has_the_operator(op: Op, value: int | None) -> None:
    written, policy = make_policy(op)
    context = {} if value is None else {"key.age_days": float(value)}
    try:
        naive = evaluate_naively(written, context)
    except KeyError:
        pytest.fail(f"tests/support/policies/reference_evaluator.py does not know {op}")

    assert naive[0] is Evaluator(policy)(context).allowed


@pytest.mark.parametrize("op", Op)
def test_the_operator_is_documented(op: Op) -> None:
    line = next(each for each in (ROOT / "docs/policies.md").read_text().splitlines() if "`{attr, op, value}`" in each)
    meaning = find_meaning(ComparisonDoc, "op")

    assert op in line.replace("`", " ").split(), "name the operator in docs/policies.md"
    assert meaning is not None
    assert meaning.format is not None
    assert op in meaning.format.replace(",", " ").split(), "name the operator under `op` in policy/language/document.py"
