"""Risk signals over real HTTP: record, escalate, list, filter; on either database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time
from attestlab.orgs.rules import Plan
from support.orgs import TenantClients
from support.outbox import read_events
from support.risk import SIGNAL, add_signal, get, list_ids

pytestmark = pytest.mark.one_world


def events_of(clients: TenantClients) -> list[tuple[str, Any]]:
    caller = clients.lab.orgs.service_caller(clients.tenant.tenant_id)
    return [(kind, data) for kind, data in read_events(clients.lab, caller) if kind.startswith("risk.")]


@pytest.mark.both_engines
def test_signal_is_recorded_returned_and_published(key: httpx.Client, tenant_clients: TenantClients) -> None:
    answer = key.post("/v1/risk/signals", json=SIGNAL)

    signal = answer.json()
    assert signal.pop("warnings") == []
    assert (answer.status_code, answer.headers["Location"]) == (201, f"/v1/risk/signals/{signal['id']}")
    assert {name: signal[name] for name in SIGNAL} == SIGNAL
    assert (signal["score_unit"], signal["case_id"]) == (0.615, None)
    assert key.get(answer.headers["Location"]).json() == signal
    assert get(key, "signals")["items"] == [signal]
    created = {
        "signal_id": signal["id"],
        "signal_source": "login",
        "signal_type": "geo_anomaly",
        "risk_score": 61,
        "subject_type": "user",
        "subject_id": "ada",
    }
    assert events_of(tenant_clients) == [("risk.signal.created", created)]


def test_score_on_the_unit_scale_is_multiplied_by_100(key: httpx.Client) -> None:
    signal = add_signal(key, score=0.875, score_scale="unit")

    assert (signal["score"], signal["score_unit"]) == (87.5, 0.875)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"score": 100.5}, "/score"),
        ({"score": -1}, "/score"),
        ({"score": 1.5, "score_scale": "unit"}, "/score"),
        ({"score": "61"}, "/score"),
        ({"source": "Log in"}, "/source"),
        ({"signal_type": "x" * 65}, "/signal_type"),
        ({"entity_type": "planet"}, "/entity_type"),
        ({"entity_id": ""}, "/entity_id"),
        ({"entity_id": "a\nb"}, "/entity_id"),
        ({"details": {"text": "x" * 8_192}}, "/details"),
        ({"occurred_at": "2031-01-01T00:00:00Z"}, "/occurred_at"),
        ({"tenant_id": str(uuid4())}, "/tenant_id"),
    ],
)
def test_unacceptable_signal_is_rejected_and_changes_nothing(
    key: httpx.Client, tenant_clients: TenantClients, changes: dict[str, Any], field: str
) -> None:
    answer = key.post("/v1/risk/signals", json={**SIGNAL, **changes})

    assert (answer.status_code, answer.json()["details"]["fields"][0]["field"]) == (400, field)
    assert (get(key, "signals")["items"], events_of(tenant_clients)) == ([], [])


def test_same_idempotency_key_records_one_signal(key: httpx.Client) -> None:
    first, again = (key.post("/v1/risk/signals", json=SIGNAL, headers={"Idempotency-Key": "one"}) for _ in "12")

    assert again.content == first.content
    assert len(list_ids(key)) == 1


@pytest.mark.both_engines
def test_filters_select_by_name_entity_score_and_time(key: httpx.Client, clock: FixedClock) -> None:
    early = add_signal(key, score=10)
    clock.advance(timedelta(hours=1))
    moment = format_time(clock.now())
    velocity = add_signal(key, source="velocity", signal_type="velocity", score=60)
    other = add_signal(key, entity_type="ip", entity_id="192.0.2.7", score=79)

    def found(**parameters: Any) -> list[str]:
        return list_ids(key, **parameters)

    assert found() == [other["id"], velocity["id"], early["id"]]
    assert found(source="velocity") == found(signal_source="velocity") == [velocity["id"]]
    assert found(signal_type="geo_anomaly") == [other["id"], early["id"]]
    assert found(entity_type="ip", entity_id="192.0.2.7") == found(subject_type="ip", subject_id="192.0.2.7")
    assert found(subject_type="ip") == [other["id"]]
    assert (found(min_score=60), found(max_score=60)) == ([other["id"], velocity["id"]], [velocity["id"], early["id"]])
    assert (found(**{"from": moment}), found(to=moment)) == ([other["id"], velocity["id"]], [early["id"]])


@pytest.mark.parametrize(
    "query",
    ["min_score=60.5", "max_score=101", "source=A", "entity_type=planet", "limit=101", "signal_source=a&source=b"],
)
def test_unacceptable_filter_is_rejected(key: httpx.Client, query: str) -> None:
    assert key.get(f"/v1/risk/signals?{query}").status_code == 400


@pytest.mark.both_engines
def test_list_is_paged_without_gap_or_repetition(key: httpx.Client) -> None:
    made = [add_signal(key, entity_id=f"user-{number}")["id"] for number in range(5)]
    seen, cursor = [], None
    while True:
        page = get(key, "signals", limit=2, **({"cursor": cursor} if cursor else {}))
        seen += [item["id"] for item in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
        add_signal(key, entity_id="newer")

    assert seen == made[::-1]


def test_time_of_a_clock_that_is_slightly_ahead_counts_as_now(key: httpx.Client, clock: FixedClock) -> None:
    ahead = format_time(clock.now() + timedelta(seconds=30))

    assert add_signal(key, occurred_at=ahead)["occurred_at"] == format_time(clock.now())


def test_other_tenant_sees_no_signal(key: httpx.Client, tenant_clients: TenantClients) -> None:
    signal = add_signal(key)
    other = tenant_clients.lab.orgs.create_tenant("Other", plan=Plan.FREE)
    with tenant_clients.with_key(tenant=other) as stranger:
        assert list_ids(stranger) == []
        assert stranger.get(f"/v1/risk/signals/{signal['id']}").status_code == 404


def test_member_may_read_and_analyst_may_write(tenant_clients: TenantClients) -> None:
    _, member = tenant_clients.person("member")
    _, analyst = tenant_clients.person("analyst")
    with member, analyst:
        refused = member.post("/v1/risk/signals", json=SIGNAL)
        assert (refused.status_code, refused.json()["code"]) == (403, "PERMISSION_DENIED")
        signal = add_signal(analyst)
        assert list_ids(member) == [signal["id"]]
