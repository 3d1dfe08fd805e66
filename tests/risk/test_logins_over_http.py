"""Logins over real HTTP: what the server keeps between them, on either database."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan, Scope
from support.login_pasts import learn_all
from support.orgs import TenantClients
from support.risk import get, list_ids, post

pytestmark = pytest.mark.one_world

HOME: dict[str, Any] = {"ip": "192.0.2.10", "device_id": "laptop", "country": "PT", "user_agent": "Firefox/140.0"}


def evaluate(key: httpx.Client, subject: str = "ada", outcome: str = "failure", **changes: Any) -> Any:
    return post(key, "ato/evaluate", {"subject_id": subject, "outcome": outcome, **HOME, **changes})


@pytest.mark.parametrize(("failures", "score", "level"), [(4, 10, "normal"), (5, 50, "elevated"), (10, 70, "high")])
@pytest.mark.both_engines
def test_failures_within_an_hour_climb_the_ladder(
    key: httpx.Client, clock: FixedClock, failures: int, score: int, level: str
) -> None:
    for _ in range(failures):
        clock.advance(timedelta(minutes=1))
        last = evaluate(key)

    assert last["score"] >= score
    assert last["level"] == level or last["score"] > score
    assert sum(factor["contribution"] for factor in last["factors"]) == last["score"]


def test_high_score_becomes_a_signal_that_explains_itself(key: httpx.Client, clock: FixedClock) -> None:
    for _ in range(20):
        clock.advance(timedelta(minutes=1))
        last = evaluate(key)

    assert last["level"] == "critical"
    signal = get(key, f"signals/{last['signal_id']}")
    assert (signal["source"], signal["signal_type"], signal["entity_id"]) == ("login", "ato", "ada")
    assert signal["details"]["factors"] == last["factors"]
    assert signal["details"]["level"] == "critical"
    assert signal["case_id"] is not None


@pytest.mark.both_engines
def test_failures_of_another_hour_user_or_tenant_do_not_count(
    key: httpx.Client, tenant_clients: TenantClients, clock: FixedClock
) -> None:
    for _ in range(4):
        evaluate(key)
    other = tenant_clients.lab.orgs.create_tenant("Other", plan=Plan.ENTERPRISE)
    with tenant_clients.with_key(tenant=other) as stranger:
        assert evaluate(stranger)["score"] == 10
    assert evaluate(key, "grace")["score"] < 50
    clock.advance(timedelta(hours=1))

    assert evaluate(key)["score"] < 50


def test_denied_device_scores_100(key: httpx.Client) -> None:
    entry = {"list": "deny", "entity_type": "device", "entity_id": "laptop", "reason": "stolen"}
    post(key, "lists", entry, status=201)

    scored = evaluate(key, outcome="success")

    assert (scored["score"], scored["level"], scored["factors"][-1]["name"]) == (100.0, "critical", "deny_list")


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": "maybe"},
        {"ip": "not an address"},
        {"country": "QQ"},
        {"country": "PRT"},
        {"subject_id": "(null)"},
        {"subject_id": ""},
        {"user_agent": "x" * 513},
        {"occurred_at": "2020-01-01T00:00:00Z"},
    ],
)
def test_unacceptable_login_is_rejected_and_teaches_nothing(key: httpx.Client, changes: dict[str, Any]) -> None:
    body = {"subject_id": "ada", "outcome": "failure", **HOME, **changes}

    assert key.post("/v1/risk/ato/evaluate", json=body).status_code == 400
    assert list_ids(key) == []


@pytest.mark.parametrize(
    "absent",
    [{"country": code} for code in ("ZZ", "XX", "T1", "A1", "EU", "unknown")]
    + [{"ip": "0.0.0.0"}, {"ip": "::"}, {"ip": "unknown"}]
    + [{"device_id": "unknown"}, {"device_id": "00000000-0000-0000-0000-000000000000"}, {"user_agent": "-"}],
    ids=lambda absent: "-".join([*absent, *absent.values()]),
)
def test_a_placeholder_scores_as_a_missing_value(key: httpx.Client, clock: FixedClock, absent: dict[str, str]) -> None:
    """Of users with a history, to whom an unknown value is a strange one."""
    (name,) = absent
    for _ in range(10):
        clock.advance(timedelta(days=1))
        for user in ("ada", "bob"):
            evaluate(key, user, "success")
    elsewhere = {"ip": "203.0.113.9", "device_id": "phone", "country": "BR", "user_agent": "curl/8"}

    placeholder = evaluate(key, "ada", "success", **{**elsewhere, **absent})
    missing = evaluate(key, "bob", "success", **{**elsewhere, name: None})

    assert placeholder["factors"] == missing["factors"]


def test_a_country_in_lower_case_is_the_same_country(key: httpx.Client, clock: FixedClock) -> None:
    for _ in range(10):
        clock.advance(timedelta(days=1))
        evaluate(key, outcome="success")

    assert evaluate(key, outcome="success", country="pt")["factors"] == evaluate(key, outcome="success")["factors"]


def test_the_device_unknown_of_many_users_is_no_device_farm(key: httpx.Client, clock: FixedClock) -> None:
    for number in range(12):
        clock.advance(timedelta(hours=1))
        changes = {"device_id": "unknown", "ip": f"198.51.{number}.7"}
        last = evaluate(key, f"user-{number}", "success", **changes)

    assert "device_farm" not in {factor["name"] for factor in last["factors"]}


def test_a_login_from_kosovo_is_scored(key: httpx.Client) -> None:
    """The table of addresses knows XK, which is no code of ISO 3166-1."""
    assert evaluate(key, outcome="success", country="XK")["level"] == "normal"


def test_late_login_is_scored_by_its_own_time(key: httpx.Client, clock: FixedClock) -> None:
    two_hours_ago = format_time(clock.now() - timedelta(hours=2))
    for _ in range(6):
        evaluate(key)

    assert evaluate(key, occurred_at=two_hours_ago)["score"] < 50


def load(key: httpx.Client, *bodies: dict[str, Any], status: int = 200, **headers: str) -> Any:
    """The answer to a request that loads a past."""
    text = "\n".join(json.dumps(body) for body in bodies)
    headers = {"Content-Type": "application/x-ndjson", **headers}
    answer = key.post("/v1/risk/ato/backfill", content=text, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()


def past(clock: FixedClock, days: float, **changes: Any) -> dict[str, Any]:
    """The body of a login some days ago."""
    at = format_time(clock.now() - timedelta(days=days))
    return {"subject_id": "ada", "outcome": "success", **HOME, "occurred_at": at, **changes}


@pytest.mark.both_engines
def test_a_past_is_accepted_line_by_line_and_each_login_counts_once(
    lab: Installation, tenant_clients: TenantClients, key: httpx.Client, clock: FixedClock
) -> None:
    bodies = [past(clock, 1_826), past(clock, 2), past(clock, 1_828), past(clock, 3, country="QQ"), past(clock, -1)]
    bodies += [past(clock, 2, outcome="maybe"), past(clock, 2, colour="red"), past(clock, 2, ip=7)]
    bodies += [
        {"subject_id": "ada", "outcome": "failure"},
        past(clock, 4, backfill=True),
        past(clock, 5, subject_id=""),
    ]

    answer = load(key, *bodies)
    again = load(key, *bodies[::-1])

    assert (answer["accepted"], again["accepted"]) == (3, 3)
    named = {each["line"]: each["message"].split(":")[0] for each in answer["rejected"]}
    expected = {3: "/occurred_at", 4: "/country", 5: "/occurred_at", 6: "/outcome", 7: "/colour", 8: "/ip"}
    assert named == expected | {9: "/occurred_at", 11: "/subject_id"}
    assert get(key, "ato/backfill") == {"accepted": 3, "learnt": 0}
    learn_all(lab, lab.orgs.service_caller(tenant_clients.tenant.tenant_id))
    assert get(key, "ato/backfill") == {"accepted": 3, "learnt": 3}
    assert list_ids(key) == []


def test_a_repeated_request_gets_the_first_answer(key: httpx.Client, clock: FixedClock) -> None:
    bodies = [past(clock, 10), past(clock, 9, outcome="maybe")]
    sent = {"Idempotency-Key": "past-1"}

    assert load(key, *bodies, **sent) == load(key, *bodies, **sent)
    load(key, *bodies[:1], status=422, **sent)


def test_a_login_of_the_past_is_learnt_without_a_signal(
    lab: Installation, tenant_clients: TenantClients, key: httpx.Client, clock: FixedClock
) -> None:
    tries = [evaluate(key, **past(clock, 300 - n / 1_440, outcome="failure"), backfill=True) for n in range(25)]
    learn_all(lab, lab.orgs.service_caller(tenant_clients.tenant.tenant_id))
    again = evaluate(key, **past(clock, 300 - 25 / 1_440, outcome="failure"), backfill=True)

    assert {each["score"] for each in tries} == {tries[0]["score"]}
    assert (again["level"], again["signal_id"], list_ids(key)) == ("critical", None, [])
    missing = key.post("/v1/risk/ato/evaluate", json={"subject_id": "ada", "outcome": "failure", "backfill": True})
    assert (missing.status_code, missing.json()["details"]["fields"][0]["field"]) == (400, "/occurred_at")


def test_loading_needs_the_scope_that_writes(tenant_clients: TenantClients, clock: FixedClock) -> None:
    with tenant_clients.with_key(Scope.RISK_READ) as reader:
        load(reader, past(clock, 10), status=403)
        assert get(reader, "ato/backfill") == {"accepted": 0, "learnt": 0}


def flag_laptop_abroad(key: httpx.Client, clock: FixedClock) -> dict[str, Any]:
    """Let a user log in at home for days; returns a laptop far away from which two others and the user failed."""
    for _ in range(10):
        evaluate(key, outcome="success")
        clock.advance(timedelta(days=1))
    evaluate(key, outcome="success")
    clock.advance(timedelta(minutes=30))
    abroad = {"ip": "198.51.100.7", "device_id": "new-laptop", "country": "AU", "user_agent": "Chrome/141.0 Windows"}
    for subject in ("eve", "mallory", "ada", "ada", "ada", "ada"):
        evaluate(key, subject, **abroad)
    clock.advance(timedelta(hours=2))
    return abroad


@pytest.mark.both_engines
def test_a_passed_challenge_ends_the_flag(key: httpx.Client, clock: FixedClock) -> None:
    """Whether it was the owner, only the owner's second factor can tell; until then each return was accused."""
    abroad = flag_laptop_abroad(key, clock)
    before = [evaluate(key, outcome="success", **abroad)["score"] for _ in range(2)]

    clock.advance(timedelta(minutes=1))
    event = {"event_type": "challenge.passed", "entity_type": "user", "entity_id": "ada"}
    post(key, "events", event, status=200)
    clock.advance(timedelta(minutes=1))

    assert min(before) >= 60
    assert evaluate(key, outcome="success", **abroad)["score"] == 10


def test_a_passed_challenge_of_another_user_ends_nothing(key: httpx.Client, clock: FixedClock) -> None:
    abroad = flag_laptop_abroad(key, clock)
    evaluate(key, outcome="success", **abroad)

    post(key, "events", {"event_type": "challenge.passed", "entity_type": "user", "entity_id": "ben"}, status=200)

    assert evaluate(key, outcome="success", **abroad)["score"] >= 60


@pytest.mark.parametrize(("outcome", "score"), [("legitimate", 10), ("fraud", 60)])
def test_a_case_that_was_legitimate_ends_the_flag(
    key: httpx.Client, clock: FixedClock, outcome: str, score: float
) -> None:
    abroad = flag_laptop_abroad(key, clock)
    flagged = evaluate(key, outcome="success", **abroad)
    case_id = get(key, f"signals/{flagged['signal_id']}")["case_id"]

    post(key, f"cases/{case_id}/resolve", {"outcome": outcome}, status=200)
    clock.advance(timedelta(minutes=1))

    assert (evaluate(key, outcome="success", **abroad)["score"] >= 60) == (score >= 60)
