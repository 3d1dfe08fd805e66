"""The sample policies pass their own tests, equal their TOML, and have no findings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from attestlab.policy.analysis.analyzer import analyze
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.formats.toml import format_toml, parse_toml
from attestlab.policy.language import policy_tests
from attestlab.policy.language.attributes import PLATFORM
from attestlab.policy.language.document import Document

SAMPLES = sorted((Path(__file__).parents[2] / "data" / "policies").iterdir())


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_sample_passes_its_tests_and_has_no_findings(path: Path) -> None:
    text = path.read_text()
    document = Document.read(json.loads(text)) if path.suffix == ".json" else parse_toml(text)
    policy = bind(document, PLATFORM)

    assert document.tests
    assert policy_tests.find_failing(document, policy, PLATFORM) == []
    assert analyze(policy) == []
    assert parse_toml(format_toml(document)) == document


def test_failing_policy_test_is_named() -> None:
    raw = json.loads((SAMPLES[0]).read_text())
    raw["tests"][0]["allowed"] = False
    raw["tests"][1]["matched_rules"] = []
    document = Document.read(raw)

    assert policy_tests.find_failing(document, bind(document, PLATFORM), PLATFORM) == [
        case["name"] for case in raw["tests"]
    ]
