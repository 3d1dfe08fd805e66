"""The sample policies are policies: they pass their own tests, say the same in TOML, and nothing is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from attestlab.policy import cases
from attestlab.policy.attributes import PLATFORM
from attestlab.policy.documents import Document
from attestlab.policy.meaning import policy_of
from attestlab.policy.proof import analyze
from attestlab.policy.toml import document_of, toml_of

SAMPLES = sorted((Path(__file__).parents[2] / "data" / "policies").iterdir())


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_passes_its_tests_and_has_no_findings(path: Path) -> None:
    text = path.read_text()
    document = Document.read(json.loads(text)) if path.suffix == ".json" else document_of(text)
    policy = policy_of(document, PLATFORM)

    assert document.tests
    assert cases.failing(document, policy, PLATFORM) == []
    assert analyze(policy) == []
    assert document_of(toml_of(document)) == document


def test_a_test_that_expects_something_else_fails_by_its_name() -> None:
    raw = json.loads((SAMPLES[0]).read_text())
    raw["tests"][0]["allowed"] = False
    raw["tests"][1]["matched_rules"] = []
    document = Document.read(raw)

    assert cases.failing(document, policy_of(document, PLATFORM), PLATFORM) == [case["name"] for case in raw["tests"]]
