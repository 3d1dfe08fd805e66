"""Velocity scoring over real HTTP, on either database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time
from attestlab.installation import Installation
from attestlab.risk.velocity import HORIZON, VelocityEventRecord, occurrences, to_microseconds
from support.risk import get, list_ids, post

pytestmark = pytest.mark.one_world

LOGIN = {"entity_type": "user", "entity_id": "ada", "action": "login"}


def record(key: httpx.Client, **changes: Any) -> Any:
    return post(key, "velocity/record", {**LOGIN, **changes})


def test_one_event_scores_11_6_and_twenty_in_a_minute_82_6(key: httpx.Client, clock: FixedClock) -> None:
    first = record(key)
    for _ in range(19):
        clock.advance(timedelta(seconds=3))
        last = record(key)

    assert (round(first["score"], 1), first["windows"]) == (11.6, {"1m": 1, "5m": 1, "1h": 1, "24h": 1})
    assert (round(last["score"], 1), last["windows"]) == (82.6, {"1m": 20, "5m": 20, "1h": 20, "24h": 20})
    assert first["signal_id"] is None
    signal = get(key, f"signals/{last['signal_id']}")
    assert (signal["source"], signal["signal_type"], signal["score"]) == ("velocity", "velocity", last["score"])
    assert signal["details"]["factors"] == last["factors"]
    for scored in (first, last):
        assert round(sum(factor["contribution"] for factor in scored["factors"]), 4) == scored["score"]


@pytest.mark.both_engines
def test_window_holds_exactly_its_seconds(key: httpx.Client, clock: FixedClock) -> None:
    record(key)
    clock.advance(timedelta(seconds=60) - timedelta(milliseconds=1))
    assert record(key)["windows"]["1m"] == 2
    clock.advance(timedelta(milliseconds=1))

    assert record(key)["windows"] == {"1m": 2, "5m": 3, "1h": 3, "24h": 3}


def test_windows_follow_the_time_of_the_occurrence(key: httpx.Client, clock: FixedClock) -> None:
    ten_minutes_ago = format_time(clock.now() - timedelta(minutes=10))
    assert record(key)["windows"]["24h"] == 1

    late = record(key, occurred_at=ten_minutes_ago)

    assert late["windows"] == {"1m": 1, "5m": 1, "1h": 1, "24h": 1}
    assert record(key)["windows"] == {"1m": 2, "5m": 2, "1h": 3, "24h": 3}


@pytest.mark.both_engines
def test_each_entity_and_action_is_counted_by_itself(key: httpx.Client) -> None:
    record(key)

    assert record(key, entity_id="eve")["windows"]["24h"] == 1
    assert record(key, action="mint")["windows"]["24h"] == 1
    assert record(key, entity_type="device")["windows"]["24h"] == 1


def test_occurrence_of_two_days_ago_is_rejected(key: httpx.Client, clock: FixedClock) -> None:
    body = {**LOGIN, "occurred_at": format_time(clock.now() - timedelta(days=2))}
    answer = key.post("/v1/risk/velocity/record", json=body)

    assert (answer.status_code, answer.json()["details"]["fields"][0]["code"]) == (400, "too_old")


def test_denied_entity_scores_100(key: httpx.Client) -> None:
    entry = {"list": "deny", "entity_type": "user", "entity_id": "ada", "reason": "stolen"}
    post(key, "lists", entry, status=201)

    scored = record(key)

    assert (scored["score"], scored["factors"][-1]["name"]) == (100.0, "deny_list")
    assert list_ids(key) == [scored["signal_id"]]


@pytest.mark.both_engines
def test_pruning_deletes_what_no_window_needs(lab: Installation, key: httpx.Client, clock: FixedClock) -> None:
    record(key)
    clock.advance(HORIZON)
    record(key, entity_id="eve")
    clock.advance(timedelta(seconds=1))

    with lab.storage.write() as tx:
        assert lab.risk.prune(tx, at_most=1) is True
        while lab.risk.prune(tx, at_most=20):
            pass

    with lab.storage.read() as connection:
        left = [row.entity_id for row in connection.execute(occurrences.select())]
    assert left == ["eve"]


def test_counts_stay_at_a_thousand(lab: Installation, key: httpx.Client, clock: FixedClock) -> None:
    """So an address with a hundred thousand occurrences a day costs no more than another."""
    tenant_id, now = UUID(key.get("/v1/me").json()["tenant_id"]), to_microseconds(clock.now())
    with lab.storage.write() as tx:
        for number in range(1_010):
            tx.add(occurrences, VelocityEventRecord(tenant_id, "user", "ada", "login", now - number, number))

    assert record(key)["windows"] == dict.fromkeys(["1m", "5m", "1h", "24h"], 1_000)


def test_actions_of_an_entity_are_listed_by_name(key: httpx.Client) -> None:
    for action in ("mint", "Verify", "mint", "login_2"):
        post(key, "velocity/record", {"entity_type": "user", "entity_id": "ada", "action": action.lower()})

    assert list(get(key, "entities/user/ada")["windows"]) == ["login_2", "mint", "verify"]
