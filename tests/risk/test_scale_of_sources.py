"""A source that sends scores of 0 to 1 on the scale of 0 to 100: the answers and the list of sources warn."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from support.risk import SIGNAL, add_signal, get

pytestmark = pytest.mark.one_world

WARNING = "All recent scores of 'login' are at most 1 of 100. If its scale is 0 to 1, send score_scale: unit."


def send_bulk(key: httpx.Client, *scores: float, **changes: Any) -> Any:
    lines = "\n".join(json.dumps({**SIGNAL, **changes, "score": score}) for score in scores)
    answer = key.post("/v1/risk/signals/bulk", content=lines, headers={"Content-Type": "application/x-ndjson"})
    assert answer.status_code == 200, answer.text
    return answer.json()


def read_warnings(key: httpx.Client) -> dict[str, str | None]:
    return {each["source"]: each["warning"] for each in get(key, "sources")["items"]}


@pytest.mark.both_engines
def test_scores_of_another_scale_are_warned_about_until_one_is_higher(key: httpx.Client) -> None:
    assert add_signal(key, score=0.97)["warnings"] == [WARNING]
    assert send_bulk(key, 0.5, 1)["warnings"] == [WARNING]
    assert read_warnings(key) == {"login": WARNING}

    assert send_bulk(key, 0.5, 41)["warnings"] == []
    assert add_signal(key, score=0.97)["warnings"] == []
    assert read_warnings(key) == {"login": None}


def test_a_named_scale_high_scores_and_zeros_are_no_mistake(key: httpx.Client) -> None:
    assert add_signal(key, score=0.005, score_scale="unit")["warnings"] == []
    assert add_signal(key, score=41, source="gateway")["warnings"] == []
    assert send_bulk(key, 0, 0, source="session")["warnings"] == []
    assert read_warnings(key)["session"] is None
    assert send_bulk(key, 0.9, 0.2, source="camera")["warnings"] == [WARNING.replace("login", "camera")]
