"""Issuers and their keys over real HTTP, on both engines."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from attestlab.core.crypto import signing
from attestlab.core.crypto.signing import Algorithm
from support.issuers import register_issuer
from support.server_process import ServerProcess


@pytest.fixture(scope="module")
def client(running: ServerProcess) -> Iterator[httpx.Client]:
    with running.client() as opened:
        yield opened


def b64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def add_key(client: httpx.Client, issuer: dict[str, Any], **key: Any) -> httpx.Response:
    return client.post(f"/v1/issuers/{issuer['id']}/keys", json={"kid": f"k-{uuid4()}", "alg": "Ed25519", **key})


@pytest.mark.both_engines
def test_a_new_issuer_is_active_self_signed_and_low(client: httpx.Client) -> None:
    issuer = register_issuer(client, jurisdiction="ch", primary_color="#AABBCC", logo_url="https://x.example/l.png")
    got = client.get(f"/v1/issuers/{issuer['id']}")

    assert got.json() == issuer
    assert (issuer["status"], issuer["trust_tier"], issuer["risk_rating"]) == ("ACTIVE", "SELF_SIGNED", "LOW")
    assert (issuer["trust_level"], issuer["jurisdiction"], issuer["primary_color"]) == ("SELF_SIGNED", "CH", "#aabbcc")
    assert [key["status"] for key in issuer["keys"]] == ["active"]


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": "a\nb"},
        {"domain": "no dots"},
        {"domain": "-x.example"},
        {"jurisdiction": "XX"},
        {"primary_color": "red"},
        {"logo_url": "http://x.example/l.png"},
        {"logo_url": "javascript:alert(1)"},
        {"alg": "RS1"},
        {"kid": "with space"},
        {"status": "REVOKED"},
        {"trust_tier": "ENTERPRISE"},
        {"tenant_id": str(uuid4())},
    ],
)
def test_invalid_profile_is_rejected(client: httpx.Client, change: dict[str, Any]) -> None:
    body = {"name": "N", "domain": "n.example", "alg": "Ed25519", **change}

    assert client.post("/v1/issuers", json=body).status_code == 400


def test_profile_update_keeps_omitted_fields(client: httpx.Client) -> None:
    issuer = register_issuer(client, display_name="Old", jurisdiction="CH")
    changed = client.patch(f"/v1/issuers/{issuer['id']}", json={"display_name": "New", "jurisdiction": None}).json()

    assert (changed["display_name"], changed["jurisdiction"], changed["name"]) == ("New", None, issuer["name"])
    assert client.patch(f"/v1/issuers/{issuer['id']}", json={"status": "REVOKED"}).status_code == 400
    assert client.patch(f"/v1/issuers/{uuid4()}", json={"name": "x"}).status_code == 404


@pytest.mark.parametrize("alg", list(Algorithm))
def test_keys_of_every_algorithm_are_managed_or_external(client: httpx.Client, alg: Algorithm) -> None:
    issuer = register_issuer(client)
    public = signing.spki(signing.generate(alg).public_key())
    managed = add_key(client, issuer, alg=alg.value)
    external = add_key(client, issuer, alg=alg.value, public_key_b64url=b64url(public))
    jwks = client.get(f"/v1/issuers/{issuer['id']}/jwks.json").json()["keys"]

    assert (managed.status_code, managed.json()["custody"]) == (201, "managed")
    assert (external.status_code, external.json()["custody"]) == (201, "external")
    assert external.json()["public_key"] == b64url(public)
    assert {key["alg"] for key in jwks} == {"EdDSA", alg.jose}
    assert not any("d" in key for key in jwks)


def _with_the_last_bit_flipped(raw: bytes) -> bytes:
    return raw[:-1] + bytes([raw[-1] ^ 1])


RSA_OF_A_PRIME = signing.spki(rsa.RSAPublicNumbers(65537, 2**2203 - 1).public_key())  # the Mersenne prime M2203
REFUSED = {
    "small order": ("Ed25519", bytes(32)),
    "not canonical": ("Ed25519", b"\xee" + b"\xff" * 30 + b"\x7f"),
    "short": ("Ed25519", bytes(31)),
    "RSA 1024": ("RS256", signing.spki(rsa.generate_private_key(65537, 1024).public_key())),
    "RSA, a prime modulus": ("RS256", RSA_OF_A_PRIME),
    "RSA, 3^1292": ("PS256", signing.spki(rsa.RSAPublicNumbers(65537, 3**1292).public_key())),
    "private, PKCS #8": ("ES256", signing.dump_private(signing.generate(Algorithm.ES256))),
    "another kind": ("ES256", signing.spki(signing.generate(Algorithm.ED25519).public_key())),
    "another curve": ("ES256", signing.spki(ec.generate_private_key(ec.SECP384R1()).public_key())),
    "bytes behind": ("ES256", signing.spki(signing.generate(Algorithm.ES256).public_key()) + b"\0"),
    "off the curve": (
        "ES256",
        _with_the_last_bit_flipped(signing.spki(signing.generate(Algorithm.ES256).public_key())),
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_weak_or_malformed_key_is_rejected(client: httpx.Client, why: str) -> None:
    alg, public = REFUSED[why]
    answer = add_key(client, register_issuer(client), alg=alg, public_key_b64url=b64url(public))

    assert answer.status_code == 400
    assert answer.json()["details"]["fields"][0]["field"] == "/public_key_b64url"


@pytest.mark.parametrize("alg", [Algorithm.ED25519, Algorithm.ES256, Algorithm.RS512])
def test_pasted_private_key_is_reported_as_exposed(client: httpx.Client, alg: Algorithm) -> None:
    issuer = register_issuer(client)
    pem = signing.generate(alg).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    added = add_key(client, issuer, alg=alg.value, public_key_b64url=pem)
    rotation = {"new_kid": f"k-{uuid4()}", "alg": alg.value, "new_public_key_b64url": pem}
    rotated = client.post(f"/v1/issuers/keys/{issuer['keys'][0]['kid']}/rotate", json=rotation)

    for answer, field in ((added, "/public_key_b64url"), (rotated, "/new_public_key_b64url")):
        assert answer.status_code == 400
        assert answer.json()["details"]["fields"] == [
            {"field": field, "code": "private_key", "message": signing.PRIVATE}
        ]
        assert pem.splitlines()[1] not in answer.text


@pytest.mark.both_engines
def test_a_kid_is_unique_in_a_tenant(client: httpx.Client) -> None:
    kid = f"k-{uuid4()}"
    first, second = (add_key(client, register_issuer(client), kid=kid) for _ in range(2))

    assert (first.status_code, second.status_code) == (201, 409)


@pytest.mark.both_engines
def test_keys_and_issuers_are_log_entries_in_a_chain(client: httpx.Client) -> None:
    issuer = register_issuer(client)
    size = client.get("/v1/log/head").json()["tree_size"]
    client.patch(f"/v1/issuers/{issuer['id']}", json={"jurisdiction": "NL"})
    entries = client.get("/v1/log/entries", params={"start": size - 2, "limit": 10}).json()["items"]

    assert [entry["type"] for entry in entries] == ["issuer.status", "key.status", "issuer.status"]


@pytest.mark.both_engines
def test_issuers_page_newest_first(client: httpx.Client) -> None:
    made = [register_issuer(client)["id"] for _ in range(3)]
    first = client.get("/v1/issuers", params={"limit": 2}).json()
    second = client.get("/v1/issuers", params={"limit": 1, "cursor": first["next_cursor"]}).json()
    counted = client.get("/v1/issuers", params={"limit": 1, "offset": 2}).json()

    assert [item["id"] for item in first["items"] + second["items"]] == made[::-1]
    assert counted["items"] == second["items"]


def test_an_unknown_issuers_keys_are_not_found(client: httpx.Client) -> None:
    for path in ("/v1/issuers/{}", "/v1/issuers/{}/keys", "/v1/issuers/{}/jwks.json"):
        assert client.get(path.format(uuid4())).status_code == 404
    assert client.get("/v1/issuers/nonsense").status_code == 400
