"""Cases, challenges, lists and settings over real HTTP, on either database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time
from attestlab.orgs.rules import Plan
from attestlab.risk.rules import Entity, EntityType, ListName
from attestlab.risk.signals.recording import NewSignal
from support.orgs import TenantClients, read_audit_trail
from support.outbox import read_events_of_type
from support.risk import add_signal, get, list_ids, post, put_on_list

pytestmark = pytest.mark.one_world

CHALLENGE = {"subject_id": "ada", "reason": "Login from a new country", "risk_score": 91}


def escalations(clients: TenantClients) -> list[dict[str, Any]]:
    with clients.with_key() as key:
        mine = set(list_ids(key, limit=100))
    return [
        data for data in read_events_of_type(clients.lab, "risk.signal.escalated") if str(data["signal_id"]) in mine
    ]


@pytest.mark.both_engines
def test_signal_at_the_threshold_opens_a_case_and_later_ones_join_it(
    key: httpx.Client, tenant_clients: TenantClients
) -> None:
    below = add_signal(key, score=79.9999)
    first = add_signal(key, score=80)
    second = add_signal(key, score=95.5)
    (case,) = get(key, "cases")["items"]

    assert (below["case_id"], first["case_id"], second["case_id"]) == (None, case["id"], case["id"])
    shown = {name: case[name] for name in ("entity_type", "entity_id", "status", "signal_count", "max_score")}
    assert shown == {
        "entity_type": "user",
        "entity_id": "ada",
        "status": "open",
        "signal_count": 2,
        "max_score": 95.5,
    }
    created = read_events_of_type(tenant_clients.lab, "risk.signal.created")
    scores = {data["signal_id"]: data["risk_score"] for data in created}
    assert {scores[each] < 80 for each in scores if str(each) == below["id"]} == {True}
    published = escalations(tenant_clients)
    assert [(event["signal_id"], event["case_id"], event["risk_score"]) for event in published] == [
        (first["id"], case["id"], 80),
        (second["id"], case["id"], 95),
    ]


@pytest.mark.both_engines
def test_case_is_resolved_once_and_the_next_escalation_opens_another(
    key: httpx.Client, tenant_clients: TenantClients
) -> None:
    case_id = add_signal(key, score=90)["case_id"]
    resolved = post(key, f"cases/{case_id}/resolve", {"outcome": "fraud", "note": "Chargeback."})
    again = key.post(f"/v1/risk/cases/{case_id}/resolve", json={"outcome": "legitimate"})

    assert (resolved["status"], resolved["outcome"], resolved["note"]) == ("resolved", "fraud", "Chargeback.")
    assert resolved["resolved_by"] is not None
    assert (again.status_code, again.json()["code"]) == (409, "CONFLICT")
    assert add_signal(key, score=90)["case_id"] not in (None, case_id)
    assert (len(list_ids(key, "cases", status="open")), list_ids(key, "cases", outcome="fraud")) == (1, [case_id])
    trail = [action for action, _ in read_audit_trail(tenant_clients.lab, case_id)]
    assert trail == ["risk_case.open", "risk_case.resolve"]


def test_threshold_of_the_tenant_decides_about_later_signals(key: httpx.Client) -> None:
    assert get(key, "settings") == {"escalation_threshold": 80.0}
    assert key.put("/v1/risk/settings", json={"escalation_threshold": 50.5}).json() == {"escalation_threshold": 50.5}

    assert add_signal(key, score=50)["case_id"] is None
    assert add_signal(key, score=51)["case_id"] is not None
    assert key.put("/v1/risk/settings", json={"escalation_threshold": 101}).status_code == 400
    assert get(key, "settings") == {"escalation_threshold": 50.5}


@pytest.mark.both_engines
def test_challenge_is_recorded_audited_and_listed(key: httpx.Client, tenant_clients: TenantClients) -> None:
    decision = post(key, "challenge", CHALLENGE)

    assert {name: decision[name] for name in ("subject_id", "subject_type", "action", "challenge_required")} == {
        "subject_id": "ada",
        "subject_type": "user",
        "action": "challenge",
        "challenge_required": True,
    }
    assert get(key, "challenges", subject_id="ada")["items"] == [decision]
    assert get(key, "challenges", subject_id="eve")["items"] == []
    assert read_audit_trail(tenant_clients.lab, decision["decision_id"]) == [("risk_challenge.create", "API_KEY")]


@pytest.mark.parametrize(
    "changes", [{"reason": "too short"}, {"risk_score": 101}, {"risk_score": 1.5}, {"subject_id": ""}]
)
def test_unacceptable_challenge_is_rejected(key: httpx.Client, changes: dict[str, Any]) -> None:
    assert key.post("/v1/risk/challenge", json={**CHALLENGE, **changes}).status_code == 400
    assert get(key, "challenges")["items"] == []


def test_allowed_subject_needs_no_challenge_and_opens_no_case(key: httpx.Client) -> None:
    entry = put_on_list(key, "allow")

    assert post(key, "challenge", CHALLENGE)["challenge_required"] is False
    assert post(key, "challenge", {**CHALLENGE, "subject_id": "eve"})["challenge_required"] is True
    assert add_signal(key, score=99)["case_id"] is None
    assert key.delete(f"/v1/risk/lists/{entry['id']}").status_code == 204
    assert post(key, "challenge", CHALLENGE)["challenge_required"] is True
    assert add_signal(key, score=99)["case_id"] is not None


@pytest.mark.both_engines
def test_entry_holds_until_it_expires(key: httpx.Client, clock: FixedClock) -> None:
    put_on_list(key, "allow", expires_at=format_time(clock.now() + timedelta(hours=1)))
    assert len(list_ids(key, "lists", list="allow")) == 1
    clock.advance(timedelta(hours=1))

    assert list_ids(key, "lists") == []
    assert post(key, "challenge", CHALLENGE)["challenge_required"] is True
    past = format_time(clock.now())
    refused = key.post(
        "/v1/risk/lists",
        json={"list": "deny", "entity_type": "ip", "entity_id": "192.0.2.1", "reason": "x", "expires_at": past},
    )
    assert refused.status_code == 400


@pytest.mark.both_engines
def test_entity_is_on_a_list_once(key: httpx.Client, tenant_clients: TenantClients) -> None:
    entry = put_on_list(key, "deny")
    again = key.post("/v1/risk/lists", json={**_as_sent(entry), "reason": "once more"})

    assert (again.status_code, get(key, "lists")["items"]) == (409, [entry])
    assert key.delete(f"/v1/risk/lists/{entry['id']}").status_code == 204
    assert key.delete(f"/v1/risk/lists/{entry['id']}").status_code == 404
    trail = [action for action, _ in read_audit_trail(tenant_clients.lab, entry["id"])]
    assert trail == ["risk_list_entry.add", "risk_list_entry.remove"]


def test_other_tenants_objects_are_not_found(key: httpx.Client) -> None:
    assert key.get(f"/v1/risk/cases/{uuid4()}").status_code == 404
    assert key.post(f"/v1/risk/cases/{uuid4()}/resolve", json={"outcome": "fraud"}).status_code == 404
    assert key.delete(f"/v1/risk/lists/{uuid4()}").status_code == 404


def test_cases_and_lists_of_other_tenants_do_not_matter(key: httpx.Client, tenant_clients: TenantClients) -> None:
    lab = tenant_clients.lab
    other = lab.orgs.service_caller(lab.orgs.create_tenant("Other", plan=Plan.FREE).tenant_id)
    signal = NewSignal("gateway", "behavior", 95.0, Entity(EntityType.USER, "ada"), "{}", lab.clock.now())
    theirs = lab.risk.signals.add(signal, caller=other)
    lab.risk.lists.add(ListName.ALLOW, signal.entity, reason="Known for years.", caller=other)

    assert add_signal(key, score=99)["case_id"] not in (None, str(theirs.case_id))


def _as_sent(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: entry[name] for name in ("list", "entity_type", "entity_id", "reason")}
