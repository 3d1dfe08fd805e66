"""Indicators: the caller's claims, bounded, named as such in the factors."""

from __future__ import annotations

import math

import pytest

from attestlab.core.errors import ValidationFailed
from attestlab.risk.media import ScanVerdict, scan
from attestlab.risk.media.findings import MAX_INDICATORS, WEIGHTS


@pytest.mark.parametrize(
    ("indicators", "score", "verdict"),
    [
        ({"face_swap": 1}, 80, ScanVerdict.LIKELY),
        ({"face_swap": True}, 80, ScanVerdict.LIKELY),
        ({"face_swap": 0.5}, 40, ScanVerdict.SUSPECT),
        ({"face_swap": False}, 0, ScanVerdict.CLEAN),
        ({"liveness_failed": True, "lip_sync": 0.9}, 100, ScanVerdict.LIKELY),
        ({"noise_inconsistency": 0.3}, 6, ScanVerdict.CLEAN),
    ],
)
def test_known_indicators_weigh_by_their_value(indicators: dict, score: int, verdict: ScanVerdict) -> None:
    assessment = scan(None, None, indicators)

    assert (assessment.score, assessment.verdict) == (score, verdict)
    assert all(factor.name.startswith("indicator.") for factor in assessment.factors)
    assert {"part": "content", "reason": "none was sent"} in assessment.details["not_examined"]


def test_unknown_indicators_together_do_not_make_media_suspect() -> None:
    assessment = scan(None, None, {f"made_up_{number}": 1 for number in range(MAX_INDICATORS)})

    assert assessment.score == 30
    assert assessment.verdict is ScanVerdict.CLEAN


def test_known_indicators_have_names_that_are_acceptable() -> None:
    assert scan(None, None, dict.fromkeys(WEIGHTS, 1)).score == 100


@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan, math.inf, 10**400, "0.5", None, [1], {}])
def test_value_outside_of_its_range_is_rejected(value: object) -> None:
    with pytest.raises(ValidationFailed, match="from 0 to 1, or a boolean") as raised:
        scan(None, None, {"face_swap": value})

    assert raised.value.fields[0].field == "/indicators/face_swap"


@pytest.mark.parametrize("name", ["", "Face", "a-b", "x" * 65, "é", "a\n"])
def test_name_that_is_no_name_is_rejected(name: str) -> None:
    with pytest.raises(ValidationFailed, match="1 to 64"):
        scan(None, None, {name: 1})


def test_too_many_indicators_are_rejected() -> None:
    with pytest.raises(ValidationFailed, match="17 indicators; the limit is 16"):
        scan(None, None, {f"i{number}": 0 for number in range(MAX_INDICATORS + 1)})
