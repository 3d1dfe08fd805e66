"""Revocations, supersessions and packs, over real HTTP on both engines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.verifier import verify_bundle
from attestlab.core.clock import FixedClock
from attestlab.core.encoding import b64url_encode
from attestlab.installation import Installation
from attestlab.log.note.trust_policy import TrustPolicy
from attestlab.orgs.rules import Plan
from support.attestations import make_mint_body, mint
from support.in_process_server import make_client, serve_in_thread
from support.issuers import register_issuer


def revoke(client: httpx.Client, attestation_id: str, **body: Any) -> httpx.Response:
    return client.post(f"/v1/attestations/{attestation_id}/revoke", json={"reason": "typo in name", **body})


def supersede(
    client: httpx.Client, attestation_id: str, body: dict[str, Any], key: str | None = None
) -> httpx.Response:
    headers = {"Idempotency-Key": key or str(uuid4())}
    return client.post(f"/v1/attestations/{attestation_id}/supersede", json=body, headers=headers)


def verify(client: httpx.Client, attestation_id: str, **query: str) -> dict[str, Any]:
    answer = client.post("/v1/verify", json={"attestation_id": attestation_id}, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.both_engines
def test_revoked_status_is_shown_by_every_route(client: httpx.Client, issuer: dict[str, Any]) -> None:
    made = mint(client, make_mint_body(issuer)).json()

    answer = revoke(client, made["id"])

    shown = client.get(f"/v1/attestations/{made['id']}").json()
    assert answer.status_code == 200
    assert answer.json() == {
        "id": made["id"],
        "attestation_id": made["id"],
        "status": "REVOKED",
        "revoked_at": shown["revoked_at"],
        "revocation_reason": "typo in name",
        "log_index": shown["status_log_index"],
    }
    assert (shown["status"], shown["revocation_reason"]) == ("REVOKED", "typo in name")
    found = verify(client, made["id"])
    assert (found["verdict"], found["valid"], found["reasons"]) == ("REVOKED", False, ["attestation_revoked"])
    listed = client.get("/v1/attestations", params={"status": "REVOKED"}).json()["items"]
    assert made["id"] in [item["id"] for item in listed]


def test_second_revocation_is_a_conflict_with_the_status(client: httpx.Client, issuer: dict[str, Any]) -> None:
    made = mint(client, make_mint_body(issuer)).json()
    revoke(client, made["id"])

    again = revoke(client, made["id"])

    assert (again.status_code, again.json()["code"]) == (409, "CONFLICT")
    assert again.json()["details"]["status"] == "REVOKED"


def test_revocation_is_idempotent_under_its_key(client: httpx.Client, issuer: dict[str, Any]) -> None:
    made, headers = mint(client, make_mint_body(issuer)).json(), {"Idempotency-Key": str(uuid4())}
    path, body = f"/v1/attestations/{made['id']}/revoke", {"reason": "typo"}

    first, second = (client.post(path, json=body, headers=headers) for _ in range(2))

    assert (first.status_code, second.status_code) == (200, 200)
    assert first.content == second.content
    assert second.headers["Idempotent-Replayed"] == "true"


def test_revocation_requires_a_reason_and_an_attestation(client: httpx.Client, issuer: dict[str, Any]) -> None:
    made = mint(client, make_mint_body(issuer)).json()

    for body in ({}, {"reason": ""}, {"reason": "   "}, {"reason": "x" * 1025}, {"reason": 7}):
        assert client.post(f"/v1/attestations/{made['id']}/revoke", json=body).status_code == 400, body
    assert revoke(client, str(uuid4())).status_code == 404


@pytest.mark.both_engines
def test_supersession_returns_both_attestations(client: httpx.Client, issuer: dict[str, Any]) -> None:
    """
    The issuer may be left out: it is the old one's.
    """
    old = mint(client, make_mint_body(issuer)).json()
    body = make_mint_body(issuer)
    del body["issuer_id"]

    answer = supersede(client, old["id"], body)

    result = answer.json()
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"/v1/attestations/{result['new']['id']}"
    assert (result["old"]["id"], result["old"]["status"]) == (old["id"], "SUPERSEDED")
    assert result["old"]["superseded_by_attestation_id"] == result["new"]["id"]
    assert (result["new"]["status"], result["new"]["issuer_id"]) == ("VALID", issuer["id"])
    assert result["new"]["checkpoint"]
    shown = client.get(f"/v1/attestations/{result['new']['id']}").json()
    assert shown["supersedes_attestation_id"] == old["id"]
    found = verify(client, old["id"])
    assert (found["verdict"], found["reasons"]) == ("SUPERSEDED", ["attestation_superseded"])
    assert found["superseded_by_attestation_id"] == result["new"]["id"]
    assert found["latest_attestation_id"] is None


def test_supersession_requires_an_idempotency_key_and_repeats_exactly(
    client: httpx.Client, issuer: dict[str, Any]
) -> None:
    """
    Although by then the old one is SUPERSEDED, and a fresh request would be refused.
    """
    old, key, body = mint(client, make_mint_body(issuer)).json(), str(uuid4()), make_mint_body(issuer)

    bare = client.post(f"/v1/attestations/{old['id']}/supersede", json=body)
    first, second = (supersede(client, old["id"], body, key) for _ in range(2))
    fresh = supersede(client, old["id"], body)

    assert bare.status_code == 400
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert (fresh.status_code, fresh.json()["details"]["status"]) == (409, "SUPERSEDED")


@pytest.mark.both_engines
def test_follow_latest_over_http(client: httpx.Client, issuer: dict[str, Any]) -> None:
    first = mint(client, make_mint_body(issuer)).json()["id"]
    second = supersede(client, first, make_mint_body(issuer)).json()["new"]["id"]
    third = supersede(client, second, make_mint_body(issuer)).json()["new"]["id"]

    found = verify(client, first, follow="latest")

    assert (found["superseded_by_attestation_id"], found["latest_attestation_id"]) == (second, third)
    assert verify(client, third, follow="latest")["latest_attestation_id"] is None
    wrong = client.post("/v1/verify", json={"attestation_id": first}, params={"follow": "all"})
    assert wrong.status_code == 400


def test_supersession_accepts_a_file(client: httpx.Client, issuer: dict[str, Any]) -> None:
    old = mint(client, make_mint_body(issuer)).json()
    body = {**make_mint_body(issuer), "payload_b64url": b64url_encode(b"a corrected diploma")}

    new = supersede(client, old["id"], body).json()["new"]

    answer = client.post(
        "/v1/verify",
        json={"attestation_id": new["id"], "payload_b64url": b64url_encode(b"a corrected diploma")},
    )
    assert (answer.json()["verdict"], answer.json()["reasons"][0]) == ("VALID", "payload_hash_ok")


def test_pack_is_created_listed_and_filters_attestations(client: httpx.Client, issuer: dict[str, Any]) -> None:
    made = client.post("/v1/attestation-packs", json={"name": "Graduates", "description": "of 2026"})
    pack = made.json()
    inside = mint(client, {**make_mint_body(issuer), "pack_id": pack["id"]}).json()

    assert made.status_code == 201
    assert made.headers["Location"] == f"/v1/attestation-packs/{pack['id']}"
    assert client.get(f"/v1/attestation-packs/{pack['id']}").json() == pack
    assert pack in client.get("/v1/attestation-packs").json()["items"]
    listed = client.get("/v1/attestations", params={"pack_id": pack["id"]}).json()["items"]
    assert [(item["id"], item["pack_id"]) for item in listed] == [(inside["id"], pack["id"])]


def test_mint_into_an_unknown_pack_is_a_404(client: httpx.Client, issuer: dict[str, Any]) -> None:
    answer = mint(client, {**make_mint_body(issuer), "pack_id": str(uuid4())})

    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


@pytest.mark.both_engines
def test_packs_page_newest_first(client: httpx.Client) -> None:
    made = [client.post("/v1/attestation-packs", json={"name": f"Pack {n}"}).json()["id"] for n in range(5)]

    first = client.get("/v1/attestation-packs", params={"limit": 3}).json()
    second = client.get("/v1/attestation-packs", params={"limit": 2, "cursor": first["next_cursor"]}).json()

    assert [item["id"] for item in [*first["items"], *second["items"]]] == made[::-1]


def test_bundle_shows_every_final_status(client: httpx.Client, issuer: dict[str, Any]) -> None:
    """
    Offline, by a verifier that pinned the log's key.
    """
    trust = TrustPolicy.without_witnesses(client.get("/v1/log/vkey").json()["vkey"])
    made = {name: mint(client, make_mint_body(issuer)).json()["id"] for name in ("revoked", "superseded", "stays")}
    revoke(client, made["revoked"])
    supersede(client, made["superseded"], make_mint_body(issuer))

    shown = {}
    for name, attestation_id in made.items():
        text = client.get(f"/v1/attestations/{attestation_id}/proof-bundle").content
        report = verify_bundle(Bundle.read(text), trust=trust, now=datetime.now(UTC))
        shown[name] = (report.verdict.value, [reason.value for reason in report.report.reasons[2:]])

    assert shown == {
        "revoked": ("REVOKED", ["attestation_revoked"]),
        "superseded": ("SUPERSEDED", ["attestation_superseded"]),
        "stays": ("VALID", []),  # so young a log has no status list, which alone could say that nothing happened
    }


def test_expiry_over_http(lab: Installation, clock: FixedClock) -> None:
    with (
        serve_in_thread(lab) as url,
        make_client(url, key=lab.orgs.create_tenant("T", plan=Plan.ENTERPRISE).api_key) as client,
    ):
        issuer = register_issuer(client)
        made = mint(client, make_mint_body(issuer, expiry_at="2026-11-21T13:00:00Z")).json()
        before = verify(client, made["id"])["verdict"]
        clock.advance(timedelta(hours=1))

        found, again = verify(client, made["id"]), revoke(client, made["id"])

        assert (before, found["verdict"], found["reasons"]) == ("VALID", "EXPIRED", ["attestation_expired"])
        assert (again.status_code, again.json()["details"]["status"]) == (409, "EXPIRED")
        assert client.get(f"/v1/attestations/{made['id']}").json()["status"] == "EXPIRED"
