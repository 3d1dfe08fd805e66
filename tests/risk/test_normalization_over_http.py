"""Raw events and mappings over real HTTP, on either database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time
from attestlab.risk.normalization import service
from support.bulk_pieces import count_pieces
from support.risk import get, list_ids, post

pytestmark = pytest.mark.one_world

EVENT = {"event_type": "login.suspicious_geo", "entity_type": "user", "entity_id": "ada", "data": {"country": "PT"}}


def send(key: httpx.Client, **changes: Any) -> Any:
    return post(key, "events", {**EVENT, **changes})


def replace_mapping(key: httpx.Client, *items: dict[str, Any]) -> Any:
    answer = key.put("/v1/risk/mappings", json={"items": list(items)})
    assert answer.status_code == 200, answer.text
    return answer.json()


def item(event_type: str, signal_type: str, score: float) -> dict[str, Any]:
    return {"event_type": event_type, "signal_type": signal_type, "score": score}


@pytest.mark.both_engines
def test_known_event_becomes_the_signal_of_its_mapping(key: httpx.Client) -> None:
    answer = send(key)
    signal = answer["signal"]

    assert answer["normalized"] is True
    assert (signal["source"], signal["signal_type"], signal["score"]) == ("login", "geo_anomaly", 65.0)
    assert [(each["name"], each["contribution"]) for each in signal["details"]["factors"]] == [("mapping", 65.0)]
    (event,) = get(key, "events")["items"]
    assert (event["id"], event["data"], event["event_type"]) == (signal["event_id"], EVENT["data"], EVENT["event_type"])


def test_unknown_event_becomes_a_low_signal(key: httpx.Client) -> None:
    answer = send(key, event_type="printer.on_fire")

    assert (answer["normalized"], answer["signal"]["signal_type"], answer["signal"]["score"]) == (
        False,
        "behavior",
        10.0,
    )
    assert answer["signal"]["source"] == "printer"


@pytest.mark.parametrize(
    "changes", [{"event_type": "Login"}, {"event_type": "a..b"}, {"event_type": "x." * 65 + "x"}, {"data": []}]
)
def test_unacceptable_event_is_rejected(key: httpx.Client, changes: dict[str, Any]) -> None:
    assert key.post("/v1/risk/events", json={**EVENT, **changes}).status_code == 400
    assert (list_ids(key), list_ids(key, "events")) == ([], [])


def test_default_mapping_is_version_1(key: httpx.Client) -> None:
    mapping = get(key, "mappings")

    assert mapping["version"] == 1
    assert item("session.hijack_suspect", "ato", 90.0) in mapping["items"]
    assert len(mapping["items"]) == 6


@pytest.mark.both_engines
def test_replaced_mapping_is_the_next_version_and_changes_only_later_signals(key: httpx.Client) -> None:
    before = send(key)["signal"]
    mapping = replace_mapping(key, item("login.suspicious_geo", "travel", 40))
    after = send(key)["signal"]

    assert (mapping["version"], get(key, "mappings")) == (2, mapping)
    assert (after["signal_type"], after["score"], after["details"]["mapping_version"]) == ("travel", 40.0, 2)
    assert get(key, f"signals/{before['id']}") == before


@pytest.mark.parametrize(
    "items",
    [
        [item("Login", "ato", 1)],
        [item("login", "ato", 101)],
        [item("login", "A", 1)],
        [item("login", "ato", 1), item("login", "ato", 2)],
        [item(f"login.n{number}", "ato", 1) for number in range(501)],
    ],
)
def test_unacceptable_mapping_is_rejected(key: httpx.Client, items: list[dict[str, Any]]) -> None:
    assert key.put("/v1/risk/mappings", json={"items": items}).status_code == 400
    assert get(key, "mappings")["version"] == 1


@pytest.mark.both_engines
def test_events_are_normalized_again_into_signals_that_replace_the_first(key: httpx.Client, clock: FixedClock) -> None:
    first = send(key)["signal"]
    unchanged = send(key, event_type="login.failed.repeated")["signal"]
    clock.advance(timedelta(hours=1))
    later = send(key)["signal"]
    replace_mapping(key, item("login.suspicious_geo", "travel", 40), item("login.failed.repeated", "ato", 70))

    done = post(key, "events/normalize", {"to": format_time(clock.now())})

    assert done == {"events": 2, "changed": 1}
    (renewed, *older) = get(key, "signals")["items"]
    assert (renewed["replaces"], renewed["event_id"], renewed["score"]) == (first["id"], first["event_id"], 40.0)
    assert renewed["occurred_at"] == first["occurred_at"]
    assert [each["id"] for each in older] == [later["id"], unchanged["id"], first["id"]]
    assert post(key, "events/normalize", {"to": format_time(clock.now())}) == {"events": 2, "changed": 0}
    assert post(key, "events/normalize", {}) == {"events": 3, "changed": 1}


def test_each_slice_of_events_is_a_piece_of_background_work(key: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices followed each other at once, next to the requests of others."""
    monkeypatch.setattr(service, "EVENTS_PER_SLICE", 2)
    for _ in range(3):
        send(key)
    pieces = count_pieces(monkeypatch)

    assert post(key, "events/normalize", {})["events"] == 3
    assert len(pieces) == 2
