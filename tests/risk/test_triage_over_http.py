"""Many cases at once over real HTTP: outcomes, undo, assignment and groups, on either database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.orgs.rules import Plan
from support.orgs import TenantClients, read_audit_trail
from support.risk import add_signal, get, list_ids, post

pytestmark = pytest.mark.one_world

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def open_cases(key: httpx.Client, count: int, device: str = "pc-7") -> list[str]:
    """Open cases of users whose signals name one device; returns their ids."""
    names = [f"user-{number:03}" for number in range(count)]
    return [add_signal(key, score=90, entity_id=name, details={"device": device})["case_id"] for name in names]


def resolve(key: httpx.Client, ids: list[str], outcome: str = "fraud", **options: Any) -> list[dict[str, Any]]:
    items = [{"id": each, "outcome": outcome, "note": "Chargeback."} for each in ids]
    return list(post(key, "cases/resolve", {"items": items, **options})["items"])


@pytest.mark.both_engines
def test_many_cases_are_resolved_each_on_its_own(key: httpx.Client, tenant_clients: TenantClients) -> None:
    first, second, third = open_cases(key, 3)
    post(key, f"cases/{third}/resolve", {"outcome": "legitimate"})
    unknown = str(uuid4())
    found = resolve(key, [first, unknown, third, second])

    assert [(each["id"], each.get("status"), each.get("error", {}).get("code")) for each in found] == [
        (first, "resolved", None),
        (unknown, None, "NOT_FOUND"),
        (third, None, "CONFLICT"),
        (second, "resolved", None),
    ]
    assert sorted(list_ids(key, "cases", outcome="fraud")) == sorted([first, second])
    assert [action for action, _ in read_audit_trail(tenant_clients.lab, first)] == [
        "risk_case.open",
        "risk_case.resolve",
    ]


def test_a_repeated_resolution_finds_what_is_done_and_changes_nothing(
    key: httpx.Client, tenant_clients: TenantClients
) -> None:
    ids = open_cases(key, 2)
    assert resolve(key, ids) == resolve(key, ids)
    (other,) = resolve(key, ids[:1], "legitimate")

    assert other["error"]["code"] == "CONFLICT"
    assert "resolved as fraud" in other["error"]["message"]
    assert len(read_audit_trail(tenant_clients.lab, ids[0])) == 2


def test_an_idempotency_key_repeats_the_answer(key: httpx.Client) -> None:
    body = {"items": [{"id": open_cases(key, 1)[0], "outcome": "fraud"}], "undo_seconds": 10}
    answers = [key.post("/v1/risk/cases/resolve", json=body, headers={"Idempotency-Key": "k-1"}) for _ in range(2)]

    assert answers[0].content == answers[1].content
    assert [answer.status_code for answer in answers] == [200, 200]


@pytest.mark.both_engines
def test_a_resolution_can_be_undone_until_it_is_a_label(
    key: httpx.Client, tenant_clients: TenantClients, clock: FixedClock
) -> None:
    undone, kept = open_cases(key, 2)
    resolve(key, [undone, kept], undo_seconds=10)
    assert get(key, f"cases/{kept}")["label_at"] is not None
    assert post(key, "cases/reopen", {"ids": [undone]})["items"] == [{"id": undone, "status": "open"}]
    clock.advance(timedelta(seconds=10))
    (late,) = post(key, "cases/reopen", {"ids": [kept]})["items"]

    assert (late["error"]["code"], "label already" in late["error"]["message"]) == ("CONFLICT", True)
    with tenant_clients.lab.storage.write() as tx:
        tenant_clients.lab.risk.prune(tx, at_most=50)
    assert get(key, f"cases/{kept}")["label_at"] is None
    assert (get(key, f"cases/{undone}")["outcome"], get(key, f"cases/{undone}")["note"]) == (None, None)
    actions = [action for action, _ in read_audit_trail(tenant_clients.lab, undone)]
    assert actions == ["risk_case.open", "risk_case.resolve", "risk_case.reopen"]
    assert [action for action, _ in read_audit_trail(tenant_clients.lab, kept)][-1] == "risk_case.label"


def test_only_who_resolved_a_case_opens_it_again(key: httpx.Client, tenant_clients: TenantClients) -> None:
    ids = open_cases(key, 1)
    resolve(key, ids, undo_seconds=10)
    with tenant_clients.with_key() as other:
        (refused,) = post(other, "cases/reopen", {"ids": ids})["items"]

    assert "Another person" in refused["error"]["message"]
    assert get(key, f"cases/{ids[0]}")["status"] == "resolved"


def test_a_case_stays_resolved_once_its_entity_has_a_new_one(key: httpx.Client) -> None:
    ids = open_cases(key, 1)
    resolve(key, ids, undo_seconds=10)
    (newer,) = open_cases(key, 1)
    (refused,) = post(key, "cases/reopen", {"ids": ids})["items"]

    assert (newer != ids[0], refused["error"]["code"]) == (True, "CONFLICT")


@pytest.mark.both_engines
def test_cases_are_grouped_by_what_links_them(key: httpx.Client) -> None:
    ids = open_cases(key, 4)
    alone = add_signal(key, score=99, entity_id="loner", details={"device": "pc-8"})["case_id"]
    (shared, single) = get(key, "cases/groups", by="device")["items"]

    assert (shared["key"], shared["count"], shared["max_score"]) == ("pc-7", 4, 90)
    assert shared["why"] == "4 cases share the device pc-7; their highest score is 90."
    assert (len(shared["sample"]), single["key"], single["sample"][0]["id"]) == (3, "pc-8", alone)
    linked = list_ids(key, "cases", status="open", linked_type="device", linked_id="pc-7")
    assert sorted(linked) == sorted(ids)
    assert get(key, "cases/groups", by="issuer") == {"items": [], "truncated": False}
    assert get(key, "cases/groups", by="device", limit=1)["truncated"] is True


def test_a_case_says_why_it_was_opened(key: httpx.Client) -> None:
    case_id = add_signal(key, score=81)["case_id"]
    assert get(key, f"cases/{case_id}")["why"] == "A signal of login/geo_anomaly scored 81."
    add_signal(key, score=97.5, source="velocity")
    expected = "2 signals reached the threshold; the highest of velocity/geo_anomaly scored 97.5."
    assert get(key, f"cases/{case_id}")["why"] == expected


@pytest.mark.both_engines
def test_a_case_is_assigned_to_a_person_of_the_tenant(key: httpx.Client, tenant_clients: TenantClients) -> None:
    (case_id,) = open_cases(key, 1)
    user_id, _ = tenant_clients.person("analyst", email="sofia@people.example")
    assigned = key.patch(f"/v1/risk/cases/{case_id}", json={"assignee_id": user_id})

    assert (assigned.status_code, assigned.json()["assignee_id"]) == (200, user_id)
    assert list_ids(key, "cases", assignee_id=user_id) == [case_id]
    unknown = key.patch(f"/v1/risk/cases/{case_id}", json={"assignee_id": str(uuid4())})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "NOT_FOUND")
    assert key.patch(f"/v1/risk/cases/{case_id}", json={}).json()["assignee_id"] == user_id
    assert key.patch(f"/v1/risk/cases/{case_id}", json={"assignee_id": None}).json()["assignee_id"] is None


@pytest.mark.parametrize(
    "body",
    [
        {"items": []},
        {"items": [{"id": "no id", "outcome": "fraud"}]},
        {"items": [{"id": UNKNOWN, "outcome": "guilty"}]},
        {"items": [{"id": UNKNOWN, "outcome": "fraud"}], "undo_seconds": 61},
    ],
    ids=["none", "no id", "no outcome", "too long"],
)
def test_an_unacceptable_resolution_is_refused(key: httpx.Client, body: dict[str, Any]) -> None:
    assert key.post("/v1/risk/cases/resolve", json=body).status_code == 400


def test_cases_of_another_tenant_are_unknown(key: httpx.Client, tenant_clients: TenantClients) -> None:
    ids = open_cases(key, 1)
    stranger = tenant_clients.lab.orgs.create_tenant("Stranger", plan=Plan.ENTERPRISE)
    with tenant_clients.with_key(tenant=stranger) as theirs:
        answers = [*resolve(theirs, ids), *post(theirs, "cases/reopen", {"ids": ids})["items"]]

    assert [each["error"]["code"] for each in answers] == ["NOT_FOUND", "NOT_FOUND"]
    assert get(key, f"cases/{ids[0]}")["status"] == "open"


def test_half_of_a_linked_entity_is_refused(key: httpx.Client) -> None:
    answer = key.get("/v1/risk/cases", params={"linked_type": "device"})
    assert (answer.status_code, "send both" in answer.text) == (400, True)
