"""A file goes in, a signed and logged attestation comes out, and anyone can verify it: over real HTTP."""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from joserfc import jws as joserfc_jws
from joserfc.jwk import KeySet

from attestlab.attestations.schemas.catalogue import CONTENT_TYPES, SCHEMA_IDS
from attestlab.core.crypto import signing
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.crypto.signing import Algorithm
from attestlab.demos.documents import badge_png, diploma_pdf
from support import patient_http
from support.attestations import make_mint_body, mint
from support.claims import make_claims
from support.issuers import register_issuer
from support.server_process import run_json_command

PDF = diploma_pdf("Ada Lovelace", "Master of Science", date(2026, 6, 30))
PNG = badge_png("Ada Lovelace", "Woodworking", date(2026, 6, 30))
HASH = "ab" * 32


def b64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def minted(client: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
    answer = mint(client, body)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.both_engines
@pytest.mark.parametrize(("content", "content_type"), [(PDF, "application/pdf"), (PNG, "image/png")])
def test_file_is_minted_fetched_and_verified_online_and_offline(
    running: Any, client: httpx.Client, issuer: dict[str, Any], tmp_path: Any, content: bytes, content_type: str
) -> None:
    made = minted(client, make_mint_body(issuer, payload_b64url=b64url(content), content_type=content_type))
    got = client.get(f"/v1/attestations/{made['id']}").json()
    online = client.post("/v1/verify", json={"attestation_id": made["id"], "payload_b64url": b64url(content)}).json()
    bundle = tmp_path / "bundle.json"
    bundle.write_bytes(client.get(f"/v1/attestations/{made['id']}/proof-bundle").content)
    document, trust = tmp_path / "document", tmp_path / "log.policy"
    document.write_bytes(content)
    trust.write_text(f"log {running.made['log_vkey']}\nquorum none\n")
    offline = run_json_command("verify", str(bundle), "--file", str(document), "--trust", str(trust), "--json")

    digest = hashlib.sha256(content)
    assert made["document_hash"] == digest.hexdigest() == got["document_hash"]
    assert made["payload_hash"] == b64url(digest.digest())
    assert (got["status"], got["content_type"]) == ("VALID", content_type)
    assert (online["verdict"], online["valid"]) == ("VALID", True)
    assert online["reasons"][0] == "payload_hash_ok"
    assert offline["verdict"] == "VALID"


def test_mint_response_is_complete(client: httpx.Client, issuer: dict[str, Any]) -> None:
    answer = mint(client, make_mint_body(issuer, document_hash=HASH))
    made = answer.json()

    assert answer.status_code == 201
    assert answer.headers["location"] == f"/v1/attestations/{made['id']}"
    assert made["id"] == made["attestation_id"]
    assert made["verify_url"].endswith(f"/a/{made['id']}")
    assert made["checkpoint"].splitlines()[1] == str(made["inclusion_proof"]["tree_size"])
    assert set(made) == {
        *("id", "attestation_id", "issuer_id", "kid", "alg", "schema", "status", "log_index", "payload_hash"),
        *(
            "document_hash",
            "expiry_at",
            "created_at",
            "verify_url",
            "share_url",
            "inclusion_proof",
            "checkpoint",
            "warnings",
        ),
    }


@pytest.mark.filterwarnings("ignore:EdDSA is deprecated:joserfc.errors.SecurityWarning")
@pytest.mark.parametrize("alg", list(Algorithm))
def test_jose_library_verifies_the_signature_of_each_algorithm(client: httpx.Client, alg: Algorithm) -> None:
    issuer = register_issuer(client, alg=alg.value)
    made = minted(client, make_mint_body(issuer, document_hash=HASH))
    got = client.get(f"/v1/attestations/{made['id']}").json()
    keys = KeySet.import_key_set(client.get(f"/v1/issuers/{issuer['id']}/jwks.json").json())

    token = joserfc_jws.deserialize_compact(got["signature"], keys, algorithms=[alg.jose])

    claims_hash = b64url(hashlib.sha256(canonical(got["payload"]["claims"])).digest())
    assert token.payload == canonical(
        {
            "v": 1,
            "id": made["id"],
            "issuer_id": issuer["id"],
            "kid": made["kid"],
            "alg": alg.value,
            "schema": "degree",
            "content_type": "application/json",
            "payload_hash": b64url(hashlib.sha256(canonical(got["payload"])).digest()),
            "document_hash": HASH,
            "claims_hash": claims_hash,
            "expiry_at": None,
            "created_at": made["created_at"],
        }
    )
    assert client.post("/v1/verify", json={"attestation_id": made["id"]}).json()["verdict"] == "VALID"


def test_every_schema_and_content_type_is_minted_in_one_batch(client: httpx.Client, issuer: dict[str, Any]) -> None:
    items = [make_mint_body(issuer, schema=schema, claims=make_claims(schema)) for schema in SCHEMA_IDS]
    items += [make_mint_body(issuer, content_type=content_type) for content_type in CONTENT_TYPES]

    answer = client.post("/v1/attestations/batch", json={"items": items})
    statuses = {item["http_status"] for item in answer.json()["items"]}
    checkpoints = {item["attestation"]["checkpoint"] for item in answer.json()["items"]}

    assert statuses == {201}
    assert len(checkpoints) == 1


@pytest.mark.both_engines
def test_invalid_batch_item_fails_alone(client: httpx.Client, issuer: dict[str, Any]) -> None:
    good, bad = make_mint_body(issuer), make_mint_body(issuer, claims={})

    items = client.post("/v1/attestations/batch", json={"items": [good, bad, good]}).json()["items"]

    assert [item["http_status"] for item in items] == [201, 400, 201]
    assert [sorted(item) for item in items] == [
        ["attestation", "http_status", "index"],
        ["error", "http_status", "index"],
        ["attestation", "http_status", "index"],
    ]
    assert items[1]["error"]["code"] == "VALIDATION_ERROR"
    assert items[1]["error"]["details"]["fields"][0]["field"] == "/items/1/claims/student_name"
    assert items[2]["attestation"]["log_index"] == items[0]["attestation"]["log_index"] + 1


def test_rejected_batch_items_share_the_limit_of_twenty_errors(client: httpx.Client, issuer: dict[str, Any]) -> None:
    wide = {**make_mint_body(issuer), **{f"unknown_{number}": 1 for number in range(60)}}

    answer = client.post("/v1/attestations/batch", json={"items": [wide] * 10})

    details = [item["error"]["details"] for item in answer.json()["items"]]
    assert [len(one["fields"]) for one in details] == [2] * 10
    assert {one["more_faults"] for one in details} == {58}


def test_batch_item_that_is_not_an_object_fails_alone(client: httpx.Client, issuer: dict[str, Any]) -> None:
    items = client.post("/v1/attestations/batch", json={"items": [make_mint_body(issuer), "x", None]}).json()["items"]

    assert [item["http_status"] for item in items] == [201, 400, 400]


@pytest.mark.parametrize("query", [{"schema": "nonsense"}, {"status": "valid"}, {"document_hash": "xyz"}])
def test_impossible_filter_value_is_rejected(client: httpx.Client, query: dict[str, str]) -> None:
    answer = client.get("/v1/attestations", params=query)

    assert (answer.status_code, answer.json()["code"]) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"nope": 1}, "/nope"),
        ({"issuer_id": "x"}, "/issuer_id"),
        ({"alg": "HS256"}, "/alg"),
        ({"alg": "ES256"}, "/alg"),
        ({"schema": "diploma"}, "/schema"),
        ({"claims": {}}, "/claims"),
        ({"claims": {"student_name": 7}}, "/claims/student_name"),
        ({"claims": {"student_name": "A", "graduation_date": "30.6.2026"}}, "/claims/graduation_date"),
        ({"document_hash": "AB" * 32}, "/document_hash"),
        ({"claims": {"student_name": "A", "document": {"sha256": "x"}}}, "/claims/document/sha256"),
        ({"payload_b64url": "a"}, "/payload_b64url"),
        ({"payload_b64url": "YQ=="[:3]}, "/payload_b64url"),
        ({"content_type": "text/html"}, "/content_type"),
        ({"expiry_at": "2020-01-01T00:00:00Z"}, "/expiry_at"),
        ({"expiry_at": "tomorrow"}, "/expiry_at"),
        ({"expiry_from_claims": True}, "/expiry_from_claims"),
        ({"recipient_email": "no-address"}, "/recipient_email"),
        ({"metadata": {"x": "y" * 17_000}}, "/metadata"),
        ({"subject_reference": "a\x00b"}, ""),
        ({"signature": "a.b.c"}, "/signature"),
        ({"id": str(uuid4())}, "/id"),
    ],
)
def test_invalid_mint_is_rejected_by_field_and_changes_nothing(
    client: httpx.Client, issuer: dict[str, Any], change: dict[str, Any], field: str
) -> None:
    newest, size = find_newest(client), client.get("/v1/log/head").json()["tree_size"]

    answer = mint(client, make_mint_body(issuer, **change))

    assert (answer.status_code, answer.json()["code"]) == (400, "VALIDATION_ERROR"), answer.text
    assert any(fault["field"].startswith(field) for fault in answer.json()["details"]["fields"]), answer.text
    assert find_newest(client) == newest
    # An attestation of an earlier test may expire during this one.
    logged = client.get("/v1/log/entries", params={"start": size}).json()["items"]
    assert {each["type"] for each in logged} <= {"attestation.status", "status.list"}


def find_newest(client: httpx.Client) -> list[str]:
    """Return the id of the newest attestation, if there is one."""
    answer = client.get("/v1/attestations", params={"limit": 1}).raise_for_status()
    return [each["id"] for each in answer.json()["items"]]


def test_unknown_issuers_keys_and_packs_are_not_found(client: httpx.Client, issuer: dict[str, Any]) -> None:
    for change in ({"issuer_id": str(uuid4())}, {"kid": "other"}, {"pack_id": str(uuid4())}):
        assert mint(client, make_mint_body(issuer, **change)).status_code == 404


def test_mint_requires_an_idempotency_key_and_a_scope(
    running: Any, client: httpx.Client, issuer: dict[str, Any]
) -> None:
    body = make_mint_body(issuer)
    without_key = client.post("/v1/attestations/mint", json=body)
    without_credentials = patient_http.post(running.url + "/v1/attestations/mint", json=body)
    with_the_other_header = patient_http.post(
        running.url + "/v1/attestations/mint",
        json=body,
        headers={"Authorization": f"ApiKey {running.made['api_key']}", "Idempotency-Key": str(uuid4())},
    )

    assert without_key.json()["details"]["fields"][0]["field"] == "/Idempotency-Key"
    assert (without_credentials.status_code, without_credentials.json()["code"]) == (401, "AUTH_REQUIRED")
    assert with_the_other_header.status_code == 201


@pytest.mark.both_engines
def test_repeated_mint_returns_the_same_bytes_and_rejects_another_body(
    client: httpx.Client, issuer: dict[str, Any]
) -> None:
    key, body = str(uuid4()), make_mint_body(issuer)
    first, again = mint(client, body, key=key), mint(client, body, key=key)
    other = mint(client, make_mint_body(issuer, document_hash=HASH), key=key)

    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert (other.status_code, other.json()["details"]["reason"]) == (422, "idempotency_key_reused")


def test_verification_ignores_an_idempotency_key(client: httpx.Client, issuer: dict[str, Any]) -> None:
    made = minted(client, make_mint_body(issuer))
    body, key = {"attestation_id": made["id"]}, {"Idempotency-Key": str(uuid4())}

    first = client.post("/v1/verify", json=body, headers=key)
    again = client.post("/v1/verify", json=body, headers=key)
    other = client.post("/v1/verify", json={**body, "document_hash_hex": HASH}, headers=key)
    malformed = client.post("/v1/verify", json=body, headers={"Idempotency-Key": ""})

    assert [answer.status_code for answer in (first, again, other, malformed)] == [200] * 4
    assert other.json()["reasons"][0].startswith("document_hash")
    assert all("idempotent-replayed" not in answer.headers for answer in (first, again, other))


def test_external_key_signs_the_given_signing_input(client: httpx.Client, issuer: dict[str, Any]) -> None:
    private = signing.generate(Algorithm.ES256)
    kid = f"external-{uuid4()}"
    public = b64url(signing.spki(private.public_key()))
    added = client.post(
        f"/v1/issuers/{issuer['id']}/keys", json={"kid": kid, "alg": "ES256", "public_key_b64url": public}
    )
    body = make_mint_body(issuer, kid=kid, alg="ES256")

    unsigned = mint(client, body).json()["details"]
    signed = unsigned["signing_input_b64url"]
    token = f"{signed}.{b64url(signing.sign(Algorithm.ES256, private, signed.encode()))}"
    done = mint(client, {**body, "id": unsigned["id"], "created_at": unsigned["created_at"], "signature": token})
    twice = mint(client, {**body, "id": unsigned["id"], "created_at": unsigned["created_at"], "signature": token})
    forged = mint(client, {**body, "id": str(uuid4()), "created_at": unsigned["created_at"], "signature": token})

    assert (added.status_code, added.json()["custody"]) == (201, "external")
    assert (done.status_code, done.json()["id"]) == (201, unsigned["id"])
    assert twice.status_code == 409
    assert forged.status_code == 400
    assert client.get(f"/v1/attestations/{unsigned['id']}").json()["custody"] == "external"


@pytest.mark.both_engines
def test_list_follows_the_order_of_the_log(client: httpx.Client, issuer: dict[str, Any]) -> None:
    """
    The holder of an external key chooses the id; that must not move it behind a cursor that was handed out.
    """
    private, kid = signing.generate(Algorithm.ED25519), f"external-{uuid4()}"
    public = b64url(signing.spki(private.public_key()))
    client.post(f"/v1/issuers/{issuer['id']}/keys", json={"kid": kid, "alg": "Ed25519", "public_key_b64url": public})
    named = [f"{digit}0000000-0000-4000-8000-{uuid4().hex[:12]}" for digit in "f0"]
    for attestation_id in named:
        body = make_mint_body(issuer, kid=kid, alg="Ed25519", id=attestation_id)
        unsigned = mint(client, body).json()["details"]
        signed = unsigned["signing_input_b64url"]
        token = f"{signed}.{b64url(signing.sign(Algorithm.ED25519, private, signed.encode()))}"
        assert mint(client, {**body, "created_at": unsigned["created_at"], "signature": token}).status_code == 201
        minted(client, make_mint_body(issuer))

    pages = [client.get("/v1/attestations", params={"issuer_id": issuer["id"], "limit": 1}).json()]
    while cursor := pages[-1]["next_cursor"]:
        query = {"issuer_id": issuer["id"], "limit": 1, "cursor": cursor}
        pages.append(client.get("/v1/attestations", params=query).json())

    indexes = [page["items"][0]["log_index"] for page in pages]
    assert indexes == sorted(indexes, reverse=True)
    assert len(indexes) >= 4


def test_document_hash_precedence_is_claims_field_file(client: httpx.Client, issuer: dict[str, Any]) -> None:
    in_claims = {"student_name": "Ada", "document": {"sha256": "cd" * 32}}
    of_file = hashlib.sha256(b"file").hexdigest()
    file = {"payload_b64url": b64url(b"file")}

    both = minted(client, make_mint_body(issuer, claims=in_claims, document_hash=HASH, **file))
    field = minted(client, make_mint_body(issuer, document_hash=HASH, **file))
    alone = minted(client, make_mint_body(issuer, **file))
    none = minted(client, make_mint_body(issuer))

    assert [made["document_hash"] for made in (both, field, alone, none)] == ["cd" * 32, HASH, of_file, None]
    assert any("differ" in warning for warning in both["warnings"])


def test_expiry_is_signed_and_decides_the_verdict(client: httpx.Client, issuer: dict[str, Any]) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    claims = {"full_name": "Ada Lovelace", "expiry_date": "2030-05-01"}

    short = minted(client, make_mint_body(issuer, expiry_at=soon))
    dated = minted(client, make_mint_body(issuer, schema="passport", claims=claims, expiry_from_claims=True))
    while (verified := client.post("/v1/verify", json={"attestation_id": short["id"]}).json())["valid"]:
        pass

    assert (verified["verdict"], verified["reasons"]) == ("EXPIRED", ["attestation_expired"])
    assert client.get(f"/v1/attestations/{short['id']}").json()["status"] == "EXPIRED"
    assert dated["expiry_at"] == "2030-05-01T23:59:59.999Z"


@pytest.mark.both_engines
def test_list_is_newest_first_filtered_and_stable(client: httpx.Client, issuer: dict[str, Any]) -> None:
    other = register_issuer(client)
    made = [minted(client, make_mint_body(other))["id"] for _ in range(5)]
    first = client.get("/v1/attestations", params={"issuer_id": other["id"], "limit": 2}).json()
    minted(client, make_mint_body(other))
    rest = client.get(
        "/v1/attestations", params={"issuer_id": other["id"], "limit": 100, "cursor": first["next_cursor"]}
    ).json()

    shown = [item["id"] for item in first["items"] + rest["items"]]
    assert shown == made[::-1]
    assert rest["next_cursor"] is None
    assert client.get("/v1/attestations", params={"limit": 101}).status_code == 400
    assert client.get("/v1/attestations", params={"cursor": "abc"}).status_code == 400
    assert client.get("/v1/attestations", params={"issuer_id": other["id"], "status": "REVOKED"}).json()["items"] == []


@pytest.mark.both_engines
def test_another_tenants_attestation_is_not_found(running: Any, client: httpx.Client, issuer: dict[str, Any]) -> None:
    made = minted(client, make_mint_body(issuer))
    database = ("--data", str(running.data), "--database-url", running.database_url)
    stranger = run_json_command("tenant", "create", f"Stranger {uuid4()}", *database, "--json")
    with running.client(key=stranger["api_key"]) as theirs:
        for path in ("/v1/attestations/{}", "/v1/attestations/{}/proof-bundle", "/v1/issuers/{}"):
            known = made["issuer_id"] if "issuers" in path else made["id"]
            unknown = str(uuid4())
            answers = [theirs.get(path.format(wanted), headers={"X-Request-Id": "r"}) for wanted in (known, unknown)]
            assert [answer.status_code for answer in answers] == [404, 404]
            assert answers[0].text.replace(known, unknown) == answers[1].text


def test_a_single_attestation_carries_a_strong_etag(client: httpx.Client, issuer: dict[str, Any]) -> None:
    path = f"/v1/attestations/{minted(client, make_mint_body(issuer))['id']}"
    tag = client.get(path).headers["etag"]

    assert tag.startswith('"')
    assert client.get(path, headers={"If-None-Match": tag}).status_code == 304


def test_the_catalogue_is_public_json_schema(running: Any) -> None:
    listed = patient_http.get(running.url + "/v1/schemas").json()["items"]
    one = patient_http.get(running.url + "/v1/schemas/degree").json()

    assert [item["id"] for item in listed] == list(SCHEMA_IDS)
    assert next(item["schema"] for item in listed if item["id"] == "degree") == one
    assert patient_http.get(running.url + "/v1/schemas/nope").status_code == 404


def test_schema_catalogue_is_paged(running: Any) -> None:
    found: list[str] = []
    query: dict[str, Any] = {"limit": 15}
    while query.get("cursor", "") is not None:
        page = patient_http.get(running.url + "/v1/schemas", params=query).json()
        found += [item["id"] for item in page["items"]]
        query["cursor"] = page["next_cursor"]

    assert found == list(SCHEMA_IDS)
    refused = patient_http.get(running.url + "/v1/schemas", params={"limit": 101})
    assert (refused.status_code, refused.json()["details"]["fields"][0]["field"]) == (400, "/limit")


@pytest.mark.both_engines
def test_the_log_finds_an_attestation_by_id_document_and_leaf(client: httpx.Client, issuer: dict[str, Any]) -> None:
    digest = hashlib.sha256(str(uuid4()).encode()).hexdigest()
    made = minted(client, make_mint_body(issuer, document_hash=digest))
    named = (
        {"attestation_id": made["id"]},
        {"document_hash": digest},
        {"hash": made["inclusion_proof"]["leaf_hash"]},
    )

    found = [client.get("/v1/log/lookup", params=params).json() for params in named]

    assert {item["log_index"] for item in found} == {made["log_index"]}


def test_the_description_of_the_interface_is_openapi(client: httpx.Client) -> None:
    from openapi_spec_validator import validate

    described = client.get("/openapi.json").json()

    validate(described)
    assert json.dumps(described).count("/v1/attestations/mint")
