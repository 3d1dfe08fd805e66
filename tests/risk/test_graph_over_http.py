"""The entity graph over real HTTP: links from signals, events, logins and mints; rings; bounds."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time
from attestlab.orgs.rules import Plan, Scope
from attestlab.risk import links
from attestlab.risk.entities import graph as entity_graph
from attestlab.risk.rules import Entity, EntityType
from support.attestations import make_mint_body, mint
from support.issuers import register_issuer
from support.orgs import TenantClients
from support.risk import add_signal, get, post, put_on_list

pytestmark = [pytest.mark.one_world]
MINTER = (Scope.ISSUERS_WRITE, Scope.ATTESTATIONS_MINT, Scope.RISK_READ, Scope.RISK_WRITE)


def read_graph(key: httpx.Client, kind: str, entity_id: str, **query: Any) -> Any:
    return get(key, f"entities/{kind}/{entity_id}/graph", **query)


def names(graph: Any) -> dict[tuple[str, str], int]:
    return {(node["type"], node["id"]): node["distance"] for node in graph["nodes"]}


def kinds(graph: Any) -> dict[tuple[str, str, str], int]:
    return {(edge["source"]["id"], edge["target"]["id"], edge["kind"]): edge["count"] for edge in graph["edges"]}


@pytest.mark.both_engines
def test_graph_shows_linked_entities_their_state_and_rings(key: httpx.Client, clock: FixedClock) -> None:
    first = format_time(clock.now())
    add_signal(key, entity_id="ada", score=90, details={"device_id": "phone", "ip": "192.0.2.7"})
    clock.advance(timedelta(hours=1))
    for user in ("ada", "bob", "eve"):
        event = {"event_type": "login.odd", "entity_type": "user", "entity_id": user, "data": {"device": "phone"}}
        post(key, "events", event)
    put_on_list(key, "deny", entity_type="ip", entity_id="192.0.2.7")

    graph = read_graph(key, "ip", "192.0.2.7")

    assert names(graph) == {
        ("ip", "192.0.2.7"): 0,
        ("device", "phone"): 1,
        ("user", "ada"): 1,
        ("user", "bob"): 2,
        ("user", "eve"): 2,
    }
    assert kinds(graph) == {
        ("phone", "192.0.2.7", "login"): 1,
        ("192.0.2.7", "ada", "login"): 1,
        ("phone", "ada", "login"): 2,
        ("phone", "bob", "login"): 1,
        ("phone", "eve", "login"): 1,
    }
    (ada,) = [node for node in graph["nodes"] if node["id"] == "ada"]
    assert (ada["signal_count"], ada["max_score"], ada["list"]) == (2, 90, None)
    assert [ada["open_case"]] == [case["id"] for case in get(key, "cases")["items"]]
    assert graph["nodes"][0]["list"] == "deny"
    (edge,) = [edge for edge in graph["edges"] if edge["count"] == 2]
    assert (edge["first_seen"], edge["last_seen"]) == (first, format_time(clock.now()))
    (ring,) = graph["rings"]
    assert [user["id"] for user in ring["users"]] == ["ada", "bob", "eve"]
    assert (ring["shared"], ring["density"], graph["truncated"]) == ([{"type": "device", "id": "phone"}], 1.0, False)


def test_depth_bounds_the_distance(key: httpx.Client) -> None:
    for one, other in (("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")):
        add_signal(key, entity_type="session", entity_id=one, details={"user_id": other})
        add_signal(key, entity_type="session", entity_id=other, details={"user_id": one})

    assert set(names(read_graph(key, "user", "a")).values()) == {0, 1, 2}
    assert set(names(read_graph(key, "user", "a", depth=1))) == {("user", "a"), ("session", "b")}
    assert max(names(read_graph(key, "user", "a", depth=3)).values()) == 3
    assert key.get("/v1/risk/entities/user/a/graph?depth=4").status_code == 400


def test_login_links_its_user_address_and_device(key: httpx.Client) -> None:
    login = {"subject_id": "ada", "outcome": "failure", "ip": "192.0.2.7", "device_id": "phone"}
    for _ in range(10):
        post(key, "ato/evaluate", login)

    assert set(names(read_graph(key, "user", "ada"))) == {("user", "ada"), ("device", "phone"), ("ip", "192.0.2.7")}


def test_attestation_is_linked_to_its_issuer(tenant_clients: TenantClients) -> None:
    with tenant_clients.with_key(*MINTER) as key:
        issuer = register_issuer(key)
        attestation = mint(key, make_mint_body(issuer)).json()["id"]
        add_signal(key, entity_type="attestation", entity_id=attestation)

        graph = read_graph(key, "attestation", attestation)
        assert set(names(graph)) == {("attestation", attestation), ("issuer", issuer["id"])}
        assert [edge["kind"] for edge in graph["edges"]] == ["issuance"]
        assert ("attestation", attestation) in names(read_graph(key, "issuer", issuer["id"]))


@pytest.mark.parametrize(
    "details",
    [{"country": "PT"}, {"ip": ""}, {"ip": "a\nb"}, {"ip": None}, {"ip": True}, {"seen": {"ip": "192.0.2.7"}}],
)
def test_details_that_name_no_other_entity_make_no_link(key: httpx.Client, details: dict[str, Any]) -> None:
    add_signal(key, details=details)

    graph = read_graph(key, "user", "ada")
    assert (list(names(graph)), graph["edges"]) == ([("user", "ada")], [])


def test_number_as_an_id_links(key: httpx.Client) -> None:
    add_signal(key, details={"session_id": 17})

    assert ("session", "17") in names(read_graph(key, "user", "ada"))


def test_bulk_links_too_and_a_busy_entity_is_truncated(key: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        json.dumps(
            {**{"source": "login", "signal_type": "ato", "score": 10, "entity_type": "user"}}
            | {"entity_id": f"user-{number:03}", "details": {"ip": "192.0.2.7"}}
        )
        for number in range(150)
    ]
    ndjson = {"Content-Type": "application/x-ndjson"}
    answer = key.post("/v1/risk/signals/bulk", content="\n".join(lines), headers=ndjson)
    assert answer.json()["accepted"] == 150

    graph = read_graph(key, "ip", "192.0.2.7")
    assert (len(graph["nodes"]), len(graph["edges"]), graph["truncated"]) == (101, 100, True)
    monkeypatch.setattr(entity_graph, "MAX_NODES", 5)
    assert len(read_graph(key, "ip", "192.0.2.7")["nodes"]) == 5
    monkeypatch.setattr(entity_graph, "MAX_EDGES", 3)
    assert len(read_graph(key, "ip", "192.0.2.7")["edges"]) == 3
    monkeypatch.setattr(entity_graph, "MAX_LINKS_OF_NODE", 1_000)
    monkeypatch.setattr(links, "MAX_LINKS_READ", 2)
    assert len(read_graph(key, "ip", "192.0.2.7")["nodes"]) == 3


def test_unknown_entity_has_no_graph(key: httpx.Client, tenant_clients: TenantClients) -> None:
    add_signal(key, details={"ip": "192.0.2.7"})
    other = tenant_clients.lab.orgs.create_tenant("Other", plan=Plan.ENTERPRISE)
    with tenant_clients.with_key(tenant=other) as stranger:
        add_signal(stranger, entity_id="bob", details={"device": "phone"})
        assert stranger.get("/v1/risk/entities/user/ada/graph").status_code == 404
        assert set(names(read_graph(stranger, "user", "bob"))) == {("user", "bob"), ("device", "phone")}
    assert key.get("/v1/risk/entities/user/grace/graph").status_code == 404


def test_failed_job_of_a_group_leaves_no_link(tenant_clients: TenantClients) -> None:
    lab, caller = tenant_clients.lab, tenant_clients.lab.orgs.service_caller(tenant_clients.tenant.tenant_id)

    def fail(tx: Any) -> None:
        data, at = {"ip": "192.0.2.7"}, lab.clock.now()
        entity = Entity(EntityType.USER, "ada")
        lab.risk.normalization.record("login.odd", entity, data=data, occurred_at=at, caller=caller, tx=tx)
        raise RuntimeError("after the event")

    with lab.storage.write() as tx, pytest.raises(RuntimeError, match="after the event"):
        tx.attempt_job(fail)

    with lab.storage.read() as connection:
        found = links.list_newest(connection.execute, caller.tenant_id, Entity(EntityType.USER, "ada"), limit=5)
    assert found == []
