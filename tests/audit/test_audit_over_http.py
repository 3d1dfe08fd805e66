"""The audit trail over HTTP: every change and every denied attempt, readable and verifiable by the tenant."""

from __future__ import annotations

import hashlib
from typing import Any

import httpx
import pytest
import rfc8785

from attestlab.core.encoding import format_time
from attestlab.orgs.rules import Plan
from support.attestations import make_mint_body, mint
from support.issuers import register_issuer
from support.server_process import ServerProcess

HASHES = ("integrity_hash", "prev_hash")


def trail(client: httpx.Client, **query: Any) -> list[dict[str, Any]]:
    """Returns the whole trail, newest first, page by page."""
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = client.get("/v1/audit/events", params={**query, **({"cursor": cursor} if cursor else {})})
        assert page.status_code == 200, page.text
        found += page.json()["items"]
        cursor = page.json()["next_cursor"]
        if cursor is None:
            return found


@pytest.mark.both_engines
def test_a_reader_can_recompute_the_chain(server: ServerProcess) -> None:
    """From the responses alone: no event is missing or changed, and the first has no predecessor."""
    with server.client() as client:
        mint(client, make_mint_body(register_issuer(client)))
        lines = trail(client, limit=3)

    before = bytes(32)
    for line in reversed(lines):
        record = rfc8785.dumps({name: value for name, value in line.items() if name not in HASHES})
        assert line["prev_hash"] == before.hex()
        before = hashlib.sha256(before + record).digest()
        assert line["integrity_hash"] == before.hex()
    actions = [line["action"] for line in lines]
    assert {"issuer.create", "key.create", "attestation.mint"} <= set(actions)
    assert actions[-1] == "tenant.create"


@pytest.mark.both_engines
def test_each_filter_selects_exactly_the_matching_events(server: ServerProcess) -> None:
    with server.client() as client:
        issuer = register_issuer(client)
        mint(client, make_mint_body(issuer))
        client.get("/v1/issuers", headers={"X-API-Key": "wrong"})
        every = trail(client)
        for name in ("actor_id", "action", "resource_type", "resource_id", "outcome"):
            for value in {line[name] for line in every}:
                assert trail(client, limit=2, **{name: value}) == [line for line in every if line[name] == value]
        both = {"resource_type": "attestation", "action": "attestation.mint"}
        assert trail(client, **both) == [line for line in every if both.items() <= line.items()] != []
        middle = every[len(every) // 2]["timestamp"]
        newer = [line for line in every if line["timestamp"] >= middle]
        assert trail(client, **{"from": middle}) == newer
        assert trail(client, to=middle) == every[len(newer) :]
        assert trail(client, action="attestation.mint", resource_type="issuer") == []
        kinds = [line for line in every if line["timestamp"] >= middle and line["resource_type"] == "issuer"]
        assert trail(client, limit=1, resource_type="issuer", **{"from": middle}) == kinds


@pytest.mark.parametrize(
    "query",
    [
        {"outcome": "MAYBE"},
        {"limit": 101},
        {"limit": 0},
        {"cursor": "junk"},
        {"from": "yesterday"},
        {"actor": "an-actor"},
        {"action": ""},
    ],
)
def test_an_invalid_query_is_rejected(running: ServerProcess, query: dict[str, Any]) -> None:
    with running.client() as client:
        refused = client.get("/v1/audit/events", params=query)

    assert (refused.status_code, refused.json()["code"]) == (400, "VALIDATION_ERROR")


def test_a_denied_attempt_is_in_the_callers_trail(server: ServerProcess) -> None:
    lab = server.open_lab()
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    lab.close()
    with server.client() as operator, server.client(key=tenant.api_key) as client:
        client.get("/v1/issuers", headers={"X-API-Key": "al_live_" + "0" * 32, "X-Request-Id": "stranger"})
        client.get("/v1/me/nothing")
        theirs = trail(client)
        ours = trail(operator, outcome="FAILURE")

    assert [line for line in theirs if line["outcome"] == "FAILURE"] == []
    (attempt,) = ours
    assert (attempt["action"], attempt["resource_id"]) == ("request.denied", "GET /v1/issuers")
    assert (attempt["actor_type"], attempt["actor_id"]) == ("SERVICE", "stranger")
    assert (attempt["metadata"]["code"], attempt["metadata"]["request_id"]) == ("AUTH_INVALID", "stranger")
    assert {line["tenant_id"] for line in theirs} == {str(tenant.tenant_id)}


def test_times_have_the_common_wire_format(server: ServerProcess) -> None:
    with server.client() as client:
        (newest, *_) = trail(client)

    lab = server.open_lab()
    assert newest["timestamp"] <= format_time(lab.clock.now())
    lab.close()
