"""The context normalizer: values are typed or missing, with a diagnostic for everything rejected."""

from __future__ import annotations

from typing import Any

import pytest

from attestlab.policy.language.context import MAX_DIAGNOSTICS, ContextNormalizer
from support.policies.documents import REGISTRY
from support.policies.strategies import HOSTILE_TEXTS

NORMALISED = ContextNormalizer(REGISTRY)


@pytest.mark.parametrize(
    "context",
    [
        {"key.age_days": 5, "key.status": "ACTIVE"},
        {"key": {"age_days": 5.0, "status": "active"}},
        {"key": {"age_days": 5}, "key.status": "Active"},
    ],
)
def test_dotted_and_nested_paths_are_equal(context: dict[str, Any]) -> None:
    typed = NORMALISED(context)

    assert typed.values == {"key.age_days": 5.0, "key.status": "active"}
    assert typed.diagnostics == ()


@pytest.mark.parametrize(
    ("context", "code"),
    [
        ({"key.age_days": True}, "wrong_type"),
        ({"key.age_days": "5"}, "wrong_type"),
        ({"key.age_days": [5]}, "wrong_type"),
        ({"key.age_days": {"days": 5}}, "wrong_type"),
        ({"key.age_days": float("nan")}, "out_of_domain"),
        ({"key.age_days": float("inf")}, "out_of_domain"),
        ({"key.age_days": -1}, "out_of_domain"),
        ({"key.age_days": 10**400}, "out_of_domain"),
        ({"claims.count": 1.5}, "wrong_type"),
        ({"claims.count": False}, "wrong_type"),
        ({"claims.count": 6}, "out_of_domain"),
        ({"is_resident": 1}, "wrong_type"),
        ({"trust_tier": "GOLD"}, "out_of_domain"),
        ({"trust_tier": 1}, "wrong_type"),
        ({"note": "a\x00"}, "out_of_domain"),
        ({"note": "\ud800"}, "out_of_domain"),
        ({"note": "x" * 2_000}, "out_of_domain"),
        ({"trust_teir": "BASIC"}, "unknown_attribute"),
        ({"key": 3}, "unknown_attribute"),
        ({"key": {"age_days": 1}, "key.age_days": 1}, "given_twice"),
    ],
)
def test_rejected_value_is_missing_with_diagnostic(context: dict[str, Any], code: str) -> None:
    typed = NORMALISED(context)

    assert typed.values == {}
    assert [diagnostic.code for diagnostic in typed.diagnostics] == [code]


def test_one_invalid_value_does_not_affect_others() -> None:
    typed = NORMALISED({"trust_tier": "basic", "status": 7, "key": {"status": "rotated", "colour": "red"}})

    assert typed.values == {"trust_tier": "BASIC", "key.status": "rotated"}
    assert [d.path for d in typed.diagnostics] == ["status", "key.colour"]


def test_null_is_missing_without_diagnostic() -> None:
    assert NORMALISED({"status": None, "trust_tier": "BASIC"}).diagnostics == ()


def test_negative_zero_and_whole_floats_are_normalized() -> None:
    typed = NORMALISED({"claims.amount": -0.0, "claims.count": 3.0})

    assert (str(typed.values["claims.amount"]), typed.values["claims.count"]) == ("0.0", 3)
    assert type(typed.values["claims.count"]) is int


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_text_is_unchanged(text: str) -> None:
    assert NORMALISED({"note": text}).values == {"note": text}


def test_junk_context_has_twenty_diagnostics_and_is_fast() -> None:
    junk: dict[str, Any] = {f"x{n}": n for n in range(50_000)}
    deep: dict[str, Any] = {}
    for _ in range(50_000):
        deep = {"a": deep}

    assert len(NORMALISED({**junk, "deep": deep, "status": "ACTIVE"}).diagnostics) == MAX_DIAGNOSTICS
    assert NORMALISED({**junk, "status": "ACTIVE"}).values == {"status": "ACTIVE"}
