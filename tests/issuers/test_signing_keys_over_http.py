"""Rotation, revocation and compromise of keys, over real HTTP on both engines."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import pytest

from attestlab.core.crypto import signing
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import b64url_encode
from support.attestations import make_mint_body, mint
from support.issuers import register_issuer
from support.server_process import ServerProcess


@pytest.fixture
def client(server: ServerProcess) -> Any:
    with server.client() as opened:
        yield opened


def reasons_of(client: httpx.Client, attestation_id: str) -> tuple[str, list[str]]:
    found = client.post("/v1/verify", json={"attestation_id": attestation_id}).json()
    return found["verdict"], [reason for reason in found["reasons"] if reason.startswith("key_")]


def act(client: httpx.Client, kid: str, verb: str, **body: Any) -> httpx.Response:
    return client.post(f"/v1/issuers/keys/{kid}/{verb}", json=body)


@pytest.mark.both_engines
def test_the_life_of_keys(client: httpx.Client) -> None:
    """
    From a managed key to a fresh one, to a prepared one, to an external one; then the worst happens.
    """
    issuer = register_issuer(client, kid="one")
    old = mint(client, make_mint_body(issuer)).json()

    fresh = act(client, "one", "rotate", new_kid="two", alg="Ed25519")
    assert fresh.status_code == 200, fresh.text
    rotation = fresh.json()
    assert set(rotation["old_key"]) == {"kid", "status", "rotated_at"}
    assert (rotation["old_key"]["kid"], rotation["old_key"]["status"]) == ("one", "rotated")
    assert (rotation["new_key"]["kid"], rotation["new_key"]["status"], rotation["new_key"]["alg"]) == (
        "two",
        "active",
        "Ed25519",
    )
    assert rotation["new_key"]["custody"] == "managed"
    assert reasons_of(client, old["id"]) == ("VALID", ["key_rotated"])
    refused = mint(client, make_mint_body(issuer))
    assert (refused.status_code, refused.json()["details"]["key_status"]) == (409, "rotated")
    by_second = mint(client, {**make_mint_body(issuer), "kid": "two"}).json()

    ready = {"kid": "three", "alg": "Ed25519", "status": "pending"}
    prepared = client.post(f"/v1/issuers/{issuer['id']}/keys", json=ready).json()
    assert prepared["status"] == "pending"
    third = act(
        client, "two", "rotate", new_kid="three", alg="Ed25519", new_public_key_b64url=prepared["public_key"]
    ).json()
    assert (third["new_key"]["custody"], third["new_key"]["public_key"]) == ("managed", prepared["public_key"])
    by_third = mint(client, {**make_mint_body(issuer), "kid": "three"}).json()

    public = b64url_encode(signing.spki(signing.generate(Algorithm.ED25519).public_key()))
    fourth = act(client, "three", "rotate", new_kid="four", alg="Ed25519", new_public_key_b64url=public).json()
    assert fourth["new_key"]["custody"] == "external"

    lost = act(client, "three", "compromise", reason="laptop lost", compromised_at="2020-01-01T00:00:00Z")
    assert lost.status_code == 200, lost.text
    assert (lost.json()["status"], lost.json()["affected_attestations"]) == ("compromised", 1)
    assert reasons_of(client, by_third["id"]) == ("INVALID", ["key_compromised"])
    gone = act(client, "two", "revoke", reason="retired").json()
    assert (gone["kid"], gone["status"], gone["affected_attestations"]) == ("two", "revoked", 1)
    assert reasons_of(client, by_second["id"]) == ("VALID", ["key_revoked"])

    published = client.get(f"/v1/issuers/{issuer['id']}/jwks.json").json()["keys"]
    assert {key["kid"]: key["status"] for key in published} == {
        "one": "rotated",
        "two": "revoked",
        "three": "compromised",
        "four": "active",
    }


def test_invalid_key_requests_are_rejected(client: httpx.Client) -> None:
    register_issuer(client, kid="main")
    register_issuer(client, kid="taken")

    answers = {
        "unknown": act(client, str(uuid4()), "rotate", new_kid="x", alg="Ed25519"),
        "other alg": act(client, "main", "rotate", new_kid="x", alg="ES256"),
        "taken": act(client, "main", "rotate", new_kid="taken", alg="Ed25519"),
        "no key": act(client, "main", "rotate", new_kid="x", alg="Ed25519", new_public_key_b64url="AAAA"),
        "no reason": act(client, "main", "revoke"),
        "no time": act(client, "main", "compromise", reason="x", compromised_at="yesterday"),
        "future": act(client, "main", "compromise", reason="x", compromised_at="2999-01-01T00:00:00Z"),
        "unknown to revoke": act(client, "unknown", "revoke", reason="x"),
    }
    act(client, "main", "revoke", reason="done")
    answers["again"] = act(client, "main", "revoke", reason="done")
    answers["not active"] = act(client, "main", "rotate", new_kid="x", alg="Ed25519")

    assert {name: answer.status_code for name, answer in answers.items()} == {
        **{"unknown": 404, "other alg": 400, "taken": 409, "no key": 400, "no reason": 400, "no time": 400},
        **{"future": 400, "unknown to revoke": 404, "again": 409, "not active": 409},
    }


def test_rotation_is_idempotent_under_its_key(client: httpx.Client) -> None:
    issuer = register_issuer(client, kid="main")
    body, headers = {"new_kid": "next", "alg": "Ed25519"}, {"Idempotency-Key": str(uuid4())}

    first, second = (client.post("/v1/issuers/keys/main/rotate", json=body, headers=headers) for _ in range(2))

    assert (first.status_code, first.content) == (200, second.content)
    assert len(client.get(f"/v1/issuers/{issuer['id']}/keys").json()["items"]) == 2
