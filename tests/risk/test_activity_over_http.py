"""Sources and drift over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time
from attestlab.orgs.rules import Plan
from support.orgs import TenantClients
from support.risk import SIGNAL, add_signal, get

pytestmark = [pytest.mark.one_world]


def backfill(key: httpx.Client, signals: Iterable[dict[str, Any]]) -> None:
    """Record signals in bulk."""
    text = "\n".join(json.dumps({**SIGNAL, **signal}) for signal in signals)
    headers = {"Content-Type": "application/x-ndjson"}
    answer = key.post("/v1/risk/signals/bulk?backfill=true", content=text, headers=headers)
    assert answer.json()["rejected"] == [], answer.text


def drift_of(key: httpx.Client, **window: str) -> dict[tuple[str, str], tuple[float | None, str]]:
    items = get(key, "drift", **window)["items"]
    return {(each["source"], each["signal_type"]): (each["psi"], each["level"]) for each in items}


@pytest.mark.both_engines
def test_drift_compares_a_window_with_the_one_before(key: httpx.Client, clock: FixedClock) -> None:
    now = clock.now()
    before, after = (format_time(now - timedelta(days=days)) for days in (10, 3))
    backfill(key, ({"score": number % 100, "occurred_at": before} for number in range(1_000)))
    backfill(key, ({"score": number % 100, "occurred_at": after} for number in range(1_000)))
    backfill(key, ({"source": "ours", "score": number % 50, "occurred_at": before} for number in range(500)))
    backfill(key, ({"source": "ours", "score": number % 100, "occurred_at": after} for number in range(500)))
    backfill(key, ({"source": "rare", "score": 5, "occurred_at": at} for at in (before, after)))

    report = get(key, "drift")

    items = {each["source"]: each for each in report["items"]}
    assert [each["source"] for each in report["items"]] == ["ours", "login", "rare"]
    assert (items["login"]["psi"], items["login"]["level"]) == (0.0, "stable")
    assert items["ours"]["level"] == "major"
    assert (items["ours"]["counts"], items["ours"]["reference_counts"]) == ([50] * 10, [100] * 5 + [0] * 5)
    assert (items["rare"]["psi"], items["rare"]["level"], sum(items["rare"]["counts"])) == (None, "too_few", 1)
    moments = [report[name] for name in ("reference_from", "from", "to")]
    assert moments == [format_time(now - timedelta(days=days)) for days in (14, 7, 0)]


def test_window_is_rounded_to_whole_hours_and_checked(key: httpx.Client, clock: FixedClock) -> None:
    at = clock.now() - timedelta(days=2)
    window = {"from": format_time(at + timedelta(minutes=10)), "to": format_time(at + timedelta(minutes=70))}

    report = get(key, "drift", **window)

    assert (report["from"], report["to"]) == (format_time(at), format_time(at + timedelta(hours=2)))
    for wrong in ({"from": window["to"], "to": window["from"]}, {"from": "2001-01-01T00:00:00Z"}):
        assert key.get("/v1/risk/drift", params=wrong).status_code == 400


@pytest.mark.both_engines
def test_source_that_stops_is_silent(key: httpx.Client, clock: FixedClock) -> None:
    now = clock.now()
    hours = [format_time(now - timedelta(hours=hour)) for hour in range(52, 3, -1)]
    backfill(key, ({"source": "steady", "occurred_at": at} for at in hours))
    add_signal(key, source="once", occurred_at=hours[0])

    once, steady = get(key, "sources")["items"]

    assert steady == {
        **{"source": "steady", "count": 49, "first_seen": hours[0], "last_seen": hours[-1]},
        **{"typical_gap_s": 3600, "silent_after_s": 7200, "silent": True, "warning": None},
    }
    assert (once["count"], once["typical_gap_s"], once["silent_after_s"], once["silent"]) == (1, None, None, False)
    add_signal(key, source="steady")
    assert [each["silent"] for each in get(key, "sources")["items"]] == [False, False]


def test_sources_are_paged_by_name_and_belong_to_one_tenant(key: httpx.Client, tenant_clients: TenantClients) -> None:
    for source in ("c", "a", "b"):
        add_signal(key, source=source)

    first = get(key, "sources", limit=2)
    second = get(key, "sources", limit=2, cursor=first["next_cursor"])

    assert [each["source"] for each in first["items"] + second["items"]] == ["a", "b", "c"]
    assert second["next_cursor"] is None
    other = tenant_clients.lab.orgs.create_tenant("Other", plan=Plan.ENTERPRISE)
    with tenant_clients.with_key(tenant=other) as stranger:
        assert (get(stranger, "sources")["items"], drift_of(stranger)) == ([], {})
