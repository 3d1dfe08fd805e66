"""Simulation over real HTTP, on either database: the response, the signed report, rejected requests."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from threading import Event
from typing import Any
from uuid import UUID

import duckdb
import httpx
import pytest
import rfc8785
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS

from attestlab.core.errors import Unavailable
from attestlab.core.limits.concurrency import ConcurrencyLimit
from attestlab.installation import Installation
from attestlab.lake.service import Lake
from attestlab.orgs.rules import Caller, Plan
from attestlab.policy.formats.toml import parse_body
from attestlab.simulation import service
from attestlab.simulation.shapes import SimulateIn
from attestlab.simulation.signing import SignedReport
from attestlab.simulation.store import reports
from support.in_process_server import serve_in_thread
from support.lake import corrupt_parquet
from support.orgs import TenantClients
from support.policies.documents import make_condition, make_document, make_rule
from support.timeouts import WAIT_TIMEOUT_S

pytestmark = pytest.mark.one_world

RAW = make_document(
    make_rule("young", "DENY", make_condition("key.age_days", "lt", 90), 1),
    make_rule("basic", "ALLOW", make_condition("trust_tier", "eq", "BASIC"), 2),
    name="Minting",
)
ASKED = [{"trust_tier": "BASIC", "key.age_days": age} for age in (10, 50, 100, 400)] + [{"trust_tier": "VERIFIED"}]
AGE = {"rule_id": "young", "attribute": "key.age_days"}
SIMULATE = "/v1/policies/simulate"


@pytest.fixture
def tenant_clients(lab: Installation) -> Iterator[TenantClients]:
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url:
        yield TenantClients(lab, url, tenant)


@pytest.fixture
def key(tenant_clients: TenantClients) -> Iterator[httpx.Client]:
    """A key of a tenant that has asked five times, when nothing was in force."""
    with tenant_clients.with_key() as client:
        for context in ASKED:
            asked = {"action": "MINT", "target_type": "TENANT_DEFAULT", "context": context}
            assert client.post("/v1/policies/evaluate", json=asked).json()["allowed"] is True
        yield client


def simulated(key: httpx.Client, **body: Any) -> dict[str, Any]:
    answer = key.post(SIMULATE, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_draft_is_simulated_over_history(key: httpx.Client) -> None:
    answer = simulated(key, policy=RAW, by=["trust_tier"])

    assert (answer["decided"], answer["self_check"]["unexpected_flips"]) == (5, 0)
    assert answer["transitions"] == [
        {"from": "ALLOW", "to": "ALLOW", "count": 2},
        {"from": "ALLOW", "to": "DENY", "count": 3},
    ]
    assert answer["flips"] == [
        {"from": "ALLOW", "to": "DENY", "count": 2, "segments": {"trust_tier": "BASIC"}},
        {"from": "ALLOW", "to": "DENY", "count": 1, "segments": {"trust_tier": "VERIFIED"}},
    ]
    assert [(each["rule_after"], each["count"]) for each in answer["why"]] == [("young", 2), (None, 1)]
    explained = key.get(f"/v1/policies/decisions/{answer['examples'][0]['decision_id']}").json()
    assert explained["context"] == {"trust_tier": "BASIC", "key.age_days": 10}
    assert [(each["rule"], each["hits"], each["decisive"], each["would_allow"]) for each in answer["rules"]] == [
        ("young", 2, 2, 2),
        ("basic", 4, 2, 0),
    ]
    assert answer["sweep"] is None
    assert answer["truncated"] == []


def test_lists_that_leave_rows_out_are_named(key: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attestlab.simulation.reports.MAX_FLIPS", 1)
    by_tier, alone = simulated(key, policy=RAW, by=["trust_tier"]), simulated(key, policy=RAW)

    assert (len(by_tier["flips"]), len(by_tier["why"]), by_tier["truncated"]) == (1, 1, ["flips", "why"])
    assert (len(alone["flips"]), alone["truncated"]) == (1, ["why"])


def test_response_includes_sweep(key: httpx.Client) -> None:
    one = [AGE]
    lower = {**RAW, "rules": [*RAW["rules"], make_rule("old", "DENY", make_condition("key.age_days", "gt", 300), 1)]}

    swept = simulated(key, policy=RAW, sweep=one)["sweep"]
    both = simulated(key, policy=lower, sweep=[*one, {"rule_id": "old", "attribute": "key.age_days"}])["sweep"]

    assert [(each["values"], each["allowed"]) for each in swept] == [
        ([10], 4), ([50], 3), ([90], 2), ([100], 2), ([400], 1), ([401], 0),
    ]  # fmt: skip
    assert next(each for each in both if each["is_current"])["values"] == [90, 300]
    assert next(each for each in both if each["values"] == [50, 400])["allowed"] == 3


def test_further_sweeps_equal_those_that_are_asked_for_alone(key: httpx.Client) -> None:
    old = {"rule_id": "old", "attribute": "key.age_days"}
    lower = {**RAW, "rules": [*RAW["rules"], make_rule("old", "DENY", make_condition("key.age_days", "gt", 300), 1)]}
    asked = [[AGE], [AGE, old], [old]]

    together = simulated(key, policy=lower, sweeps=asked, points=100)

    alone = [simulated(key, policy=lower, sweep=each, points=100)["sweep"] for each in asked]
    assert (together["sweeps"], together["sweep"]) == (alone, None)
    assert simulated(key, policy=lower)["sweeps"] == []


def test_points_limit_the_sweep(key: httpx.Client) -> None:
    few = simulated(key, policy=RAW, sweep=[AGE], points=1)["sweep"]

    assert [each["values"] for each in few] == [[10], [90], [400], [401]]


def test_response_has_groups_contexts_and_counterfactual(key: httpx.Client) -> None:
    """They are returned unsigned: the report is unchanged."""
    first = simulated(key, policy=RAW)
    (example, *_) = first["examples"]
    answer = simulated(key, policy=RAW, counterfactual=example["decision_id"])

    assert sum(each["count"] for each in answer["groups"]) == answer["decided"]
    assert {each["rule"]: each["count"] for each in answer["groups"] if not each["allowed"]} == {"young": 2, None: 1}
    assert answer["contexts"][0] == {"trust_tier": "BASIC", "key.age_days": 10}
    assert len(answer["contexts"]) == len(answer["examples"])
    assert first["counterfactual"] is None
    assert [each["path"] for each in answer["counterfactual"]["changes"]] == ["key.age_days"]
    report = key.get(f"/v1/policies/simulations/{answer['report_digest']}").json()["report"]
    assert not {"groups", "contexts", "counterfactual", "rules", "sweep"} & set(report)
    assert report["examples"] == answer["examples"]
    unknown = key.post(SIMULATE, json={"policy": RAW, "counterfactual": "dec_" + "0" * 26})
    assert unknown.status_code == 404


def test_operator_selects_one_of_two_thresholds(key: httpx.Client) -> None:
    between = {"all": [make_condition("key.age_days", "gte", 50), make_condition("key.age_days", "lt", 400)]}
    raw = make_document(make_rule("young", "DENY", between), default_effect="ALLOW")

    unnamed = key.post(SIMULATE, json={"policy": raw, "sweep": [AGE]})
    low = simulated(key, policy=raw, sweep=[{**AGE, "op": "gte"}])["sweep"]
    both = simulated(key, policy=raw, sweep=[{**AGE, "op": "gte"}, {**AGE, "op": "lt"}])["sweep"]

    assert (unnamed.status_code, "op (lt, lte, gt, gte)" in unnamed.json()["message"]) == (400, True)
    assert [(each["values"], each["denied"]) for each in low if each["is_current"]] == [([50], 2)]
    assert [(each["values"], each["denied"]) for each in both if each["is_current"]] == [([50, 400], 2)]


def test_report_signature_is_publicly_verifiable(tenant_clients: TenantClients, key: httpx.Client) -> None:
    made = simulated(key, policy=RAW)
    with tenant_clients.anonymous() as anyone:
        (jwk,) = anyone.get("/v1/policies/simulations/jwks.json").json()["keys"]

    kept = key.get(f"/v1/policies/simulations/{made['report_digest']}").json()

    assert sha256(rfc8785.dumps(kept["report"])).hexdigest() == kept["report_digest"] == made["report_digest"]
    verified = JWS()
    verified.deserialize(kept["signature"], JWK(**jwk))
    assert json.loads(verified.payload) == kept["report"]
    assert verified.jose_header == {"alg": "EdDSA", "kid": jwk["kid"], "typ": "simulation-report+jws"}
    assert (kept["report"]["decided"], kept["signature"]) == (5, made["signature"])
    assert {name: made[name] for name in kept["report"]} == kept["report"]


def test_a_report_that_is_drawn_for_a_person_is_no_deed_of_theirs(
    tenant_clients: TenantClients, key: httpx.Client
) -> None:
    lab = tenant_clients.lab
    person, client = tenant_clients.person("admin")
    client.close()
    now = lab.clock.now()
    reader = lab.identity.readers.authenticate(lab.identity.readers.issue(UUID(person), now=now), now=now)

    drawn, made = (make_report(lab, caller) for caller in (reader, replace(reader, only_reads=False)))

    trail = key.get("/v1/audit/events", params={"action": "simulation_report.create"}).json()["items"]
    assert [line["metadata"]["document_digest"] for line in trail] == [parse_body(RAW).digest]
    assert key.get(f"/v1/policies/simulations/{made.digest}").status_code == 200
    assert key.get(f"/v1/policies/simulations/{drawn.digest}").status_code == 404


def make_report(lab: Installation, caller: Caller) -> SignedReport:
    run = lab.simulations.run(parse_body(RAW), SimulateIn.model_validate({"policy": RAW}), caller=caller)
    return lab.simulations.save(run.report, caller=caller)


def test_policy_is_simulated_and_activated_end_to_end(tenant_clients: TenantClients, key: httpx.Client) -> None:
    policy = key.post("/v1/policies", json=RAW).json()
    digest = simulated(key, policy_id=policy["id"])["report_digest"]
    with tenant_clients.owner() as owner:
        answer = owner.post(f"/v1/policies/{policy['id']}/activate", json={"simulation_digest": digest})

    assert (answer.status_code, answer.json()["status"]) == (200, "ACTIVE")
    asked = {"action": "MINT", "target_type": "TENANT_DEFAULT", "context": ASKED[0]}
    assert key.post("/v1/policies/evaluate", json=asked).json()["matched_rules"] == ["young", "basic"]
    again = simulated(key, policy_id=policy["id"])
    assert (again["decided"], again["self_check"]["unexpected_flips"]) == (6, 0)
    assert [(each["from"], each["to"]) for each in again["transitions"]] == [("ALLOW", "ALLOW"), ("DENY", "DENY")]
    assert again["set_before"] == again["set_after"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, ""),
        ({"policy": RAW, "by": ["status", "trust_teir"]}, "/by/1"),
        ({"policy": RAW, "from": "2026-11-21T12:00:00Z", "to": "2026-11-21T12:00:00Z"}, "/to"),
        ({"policy": RAW, "sweep": [{"rule_id": "basic", "attribute": "key.age_days"}]}, "/sweep/0/attribute"),
        ({"policy": RAW, "sweep": [AGE, {"rule_id": "none", "attribute": "key.age_days"}]}, "/sweep/1/rule_id"),
        ({"policy": RAW, "sweep": [{**AGE, "op": "gt"}]}, "/sweep/0/attribute"),
        ({"policy": RAW, "sweep": [{**AGE, "op": "eq"}]}, "/sweep/0/op"),
        ({"policy": RAW, "sweeps": [[AGE], [AGE, {**AGE, "rule_id": "none"}]]}, "/sweeps/1/1/rule_id"),
        ({"policy": RAW, "sweeps": [[AGE], [AGE, AGE]]}, "/sweeps/1/1"),
        ({"policy": RAW, "sweeps": [[]]}, "/sweeps/0"),
        ({"policy": RAW, "sweeps": [[AGE]] * 5}, "/sweeps"),
        ({"policy": {**RAW, "rules": []}}, "/rules"),
        ({"policy": RAW, "from": "yesterday"}, "/from"),
        ({"policy": RAW, "sweep": [AGE], "points": 0}, "/points"),
        ({"policy": RAW, "sweep": [AGE], "points": 1_001}, "/points"),
    ],
)
def test_invalid_simulation_is_rejected_at_its_pointer(key: httpx.Client, body: dict[str, Any], field: str) -> None:
    answer = key.post(SIMULATE, json=body)

    assert answer.status_code == 400, answer.text
    assert field in {each["field"] for each in answer.json()["details"]["fields"]}


def test_timeout_and_excess_simulations_are_503(tenant_clients: TenantClients, key: httpx.Client) -> None:
    """Nothing is kept of it, and the next one runs."""
    simulations = tenant_clients.lab.simulations
    simulations.time_limit_s = 0
    late = key.post(SIMULATE, json={"policy": RAW})
    simulations.time_limit_s = 20
    with simulations.concurrency.acquire(), simulations.concurrency.acquire():
        crowded = key.post(SIMULATE, json={"policy": RAW})

    assert (late.status_code, crowded.status_code) == (503, 503), late.text
    assert all(word in late.json()["message"] for word in ("narrow it by from and to", "rules", "sweep"))
    assert crowded.headers["Retry-After"] == "5"
    assert simulated(key, policy=RAW)["decided"] == 5


@pytest.mark.both_engines
def test_a_long_history_is_simulated_in_a_child_process_with_the_same_results(
    tenant_clients: TenantClients, key: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"policy": RAW, "by": ["status"], "sweeps": [[AGE]]}
    in_thread = simulated(key, **body)
    monkeypatch.setattr(service, "LONG_HISTORY", 4)
    assert tenant_clients.lab.workers._idle == []

    in_child = simulated(key, **body)

    assert len(tenant_clients.lab.workers._idle) == 1
    differing = {"report_id", "made_at", "report_digest", "signature"}
    assert {name for name in in_child if in_child[name] != in_thread[name]} <= differing
    assert key.get(f"/v1/policies/simulations/{in_child['report_digest']}").status_code == 200


class Endless:
    """A lake in which every decision was made a billion times a thousand: a simulation of it runs for hours."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.is_queried = Event()

    def __call__(self, caller: Caller) -> Endless:
        self.caller = caller
        return self

    def history(self) -> duckdb.DuckDBPyConnection:
        found = self.lake(self.caller).history()
        found.execute("ALTER VIEW decided RENAME TO once")
        found.execute("CREATE VIEW decided AS SELECT once.* FROM once, range(1000000000000)")
        self.is_queried.set()
        return found


def is_free(few: ConcurrencyLimit) -> bool:
    """Whether nothing runs."""
    try:
        with few.acquire(), few.acquire():
            return True
    except Unavailable:
        return False


@pytest.mark.both_engines
@pytest.mark.own_world
@pytest.mark.parametrize("patience_s", [0.01, 1], ids=["at once", "while it is computed"])
def test_simulation_ends_when_client_disconnects(
    tenant_clients: TenantClients, key: httpx.Client, patience_s: float
) -> None:
    """Long before its own end or its limit; nothing is stored, and the next client is served."""
    simulations = tenant_clients.lab.simulations
    simulations.time_limit_s = 10 * WAIT_TIMEOUT_S
    endless, whole = Endless(simulations.lake), simulations.lake
    simulations.lake = endless  # type: ignore[assignment]
    with pytest.raises(httpx.ReadTimeout):
        key.post(SIMULATE, json={"policy": RAW}, timeout=httpx.Timeout(WAIT_TIMEOUT_S, read=patience_s))
    assert endless.is_queried.wait(WAIT_TIMEOUT_S)
    left_at = time.monotonic()
    while not is_free(simulations.concurrency) and time.monotonic() < left_at + WAIT_TIMEOUT_S:
        time.sleep(0.01)

    assert time.monotonic() - left_at < WAIT_TIMEOUT_S
    simulations.lake = whole
    assert simulated(key, policy=RAW)["decided"] == 5
    with tenant_clients.lab.storage.read() as connection:
        assert len(connection.execute(reports.select()).all()) == 1


def test_damaged_part_changes_no_report(tenant_clients: TenantClients, key: httpx.Client) -> None:
    lake = tenant_clients.lab.lake
    lake.export()
    intact = simulated(key, policy=RAW)
    (part,) = lake.folder.glob(f"decisions/{tenant_clients.tenant.tenant_id}/*.parquet")

    corrupt_parquet(part)
    damaged = simulated(key, policy=RAW)
    part.write_bytes(b"garbage")
    unreadable = simulated(key, policy=RAW)

    assert [report["decided"] for report in (intact, damaged, unreadable)] == [5, 5, 5]
    assert damaged["transitions"] == unreadable["transitions"] == intact["transitions"]


@pytest.mark.both_engines
def test_reports_of_other_tenants_are_not_found(tenant_clients: TenantClients, key: httpx.Client) -> None:
    digest = simulated(key, policy=RAW)["report_digest"]
    policy = key.post("/v1/policies", json=RAW).json()["id"]
    with tenant_clients.with_key(tenant=tenant_clients.lab.orgs.create_tenant("Other", plan=Plan.ENTERPRISE)) as other:
        assert other.get(f"/v1/policies/simulations/{digest}").status_code == 404
        assert other.post(SIMULATE, json={"policy_id": policy}).status_code == 404
        assert other.post(SIMULATE, json={"policy": RAW, "policy_id": policy}).status_code == 404
        assert simulated(other, policy=RAW)["decided"] == 0
    assert key.get(f"/v1/policies/simulations/{'0' * 64}").status_code == 404


def test_one_rule_is_looked_at_alone_for_whom(key: httpx.Client) -> None:
    answer = simulated(key, policy=RAW, by=["trust_tier"], rule="young")

    counts = {"hits": 2, "decisive": 2, "would_allow": 2, "would_deny": 0}
    assert answer["alone"] == {
        **{"rule": "young", "effect": "DENY", "priority": 1, **counts},
        "segments": [{"segments": {"trust_tier": "BASIC"}, **counts}],
        "targets": [{"segments": {"target_id": None}, **counts}],
    }
    assert simulated(key, policy=RAW)["alone"] is None


def test_a_rule_that_others_outvote_changes_nothing_alone(key: httpx.Client) -> None:
    answer = simulated(key, policy=RAW | {"default_effect": "ALLOW"}, by=["trust_tier"], rule="basic")

    alone = answer["alone"]
    assert (alone["hits"], alone["decisive"], alone["would_allow"], alone["would_deny"]) == (4, 2, 0, 0)
    assert [(each["hits"], each["would_deny"]) for each in alone["segments"]] == [(4, 0)]


def test_a_rule_that_the_draft_lacks_is_refused_by_name(key: httpx.Client) -> None:
    refused = key.post(SIMULATE, json={"policy": RAW, "rule": "old"})

    assert refused.status_code == 400
    assert "The draft has no enforced rule 'old'" in refused.text
    assert "/rule" in refused.text


def test_segments_of_a_rule_that_are_left_out_are_named(key: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attestlab.simulation.report_queries.MAX_SEGMENT_ROWS", 1)
    answer = simulated(key, policy=RAW, by=["key.age_days"], rule="young")

    assert (len(answer["alone"]["segments"]), answer["truncated"]) == (1, ["alone.segments"])
