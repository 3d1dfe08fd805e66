"""Receipts over HTTP: minted, read, listed, searched, verified, revoked and redacted; bad input changes nothing."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pyarrow.parquet as pq
import pytest

from attestlab.attestations.receipt_content import hash_subject
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.canonical_json import canonical, sha256_b64url
from attestlab.core.encoding import b64url_decode
from attestlab.installation import Installation
from attestlab.orgs import quotas, usage
from attestlab.orgs.rules import Plan, Scope
from attestlab.receipts.types.shapes import DeprecateTypeIn
from support.in_process_server import make_client, wait_until
from support.orgs import create_api_key, read_audit_trail
from support.outbox import read_events
from support.receipts import RECEIPTS, ReceiptDesk, add_external_key, create_type, open_desk

pytestmark = pytest.mark.one_world


def used(desk: ReceiptDesk, metric: str) -> int:
    with desk.lab.storage.read() as connection:
        return usage.get_used(connection, desk.caller.tenant_id, metric, desk.lab.clock.now().date())


@pytest.mark.both_engines
def test_a_receipt_is_minted_read_listed_and_verified(desk: ReceiptDesk) -> None:
    answer = desk.client.post(RECEIPTS, json=desk.body())
    receipt = answer.json()
    place = f"{RECEIPTS}/{receipt['receipt_id']}"

    assert (answer.status_code, answer.headers["Location"]) == (201, place)
    assert desk.client.get(place).json() == receipt
    assert desk.client.get(RECEIPTS).json() == {"items": [receipt], "next_cursor": None}
    assert (receipt["receipt_type"], receipt["receipt_version"], receipt["status"]) == ("delivery", "1.0.0", "ACTIVE")
    assert (receipt["subject"], receipt["payload"], receipt["metadata"]) == ("parcel 7", {"n": 3}, {"route": "R-1"})
    assert receipt["tenant_id"] == str(desk.caller.tenant_id)
    assert receipt["log"]["leaf_index"] == receipt["log_index"]
    verified = desk.verify(receipt, payload={"n": 3})
    assert (verified["verdict"], verified["valid"], verified["receipt_id"]) == ("VALID", True, receipt["receipt_id"])
    assert verified["reasons"] == [
        *("payload_hash_ok", "status_current", "governance_ok", "signature_ok", "transparency_proof_ok", "policy_ok")
    ]
    assert (verified["log"]["leaf_index"], verified["log"]["proof_checked"]) == (receipt["log_index"], True)
    assert desk.verify(receipt, payload={"n": 4})["verdict"] == "ALTERED"


def test_what_is_signed_are_hashes_that_anyone_can_compute(desk: ReceiptDesk) -> None:
    receipt = desk.mint()

    signed = b64url_decode(receipt["signature"]["value"].split(".")[1])
    assert signed == canonical(
        {
            "v": 1,
            "kind": "receipt",
            "id": receipt["receipt_id"],
            "issuer_id": desk.issuer["id"],
            "kid": desk.issuer["keys"][0]["kid"],
            "alg": "Ed25519",
            "receipt_type": "delivery",
            "receipt_version": "1.0.0",
            "schema_hash": receipt["schema_hash"],
            "subject_hash": receipt["subject_hash"],
            "payload_hash": sha256_b64url(canonical({"n": 3})),
            "created_at": receipt["issued_at"],
        }
    )
    nonce = b64url_decode(receipt["nonce"])
    assert (len(nonce), hash_subject(nonce, "parcel 7")) == (16, receipt["subject_hash"])
    (entry,) = desk.client.get("/v1/log/entries", params={"start": receipt["log_index"], "limit": 1}).json()["items"]
    assert (entry["entry"]["type"], entry["entry"]["id"]) == ("receipt.minted", receipt["receipt_id"])
    assert "parcel" not in str(entry)


def test_an_external_key_signs_with_the_nonce_that_it_names(desk: ReceiptDesk) -> None:
    key = add_external_key(desk)
    body = desk.body(kid=key.kid)

    unsigned = desk.client.post(RECEIPTS, json=body).json()["details"]
    named = {name: unsigned[name] for name in ("id", "created_at", "nonce")}
    signed = {**body, **named, "signature": key.sign(unsigned["signing_input_b64url"])}
    without_nonce = {name: value for name, value in signed.items() if name != "nonce"}
    first = desk.client.post(RECEIPTS, json=signed)
    faults = {
        "again": desk.client.post(RECEIPTS, json=signed),
        "other subject": desk.client.post(RECEIPTS, json={**signed, "id": str(uuid4()), "subject": "parcel 8"}),
        "no nonce": desk.client.post(RECEIPTS, json=without_nonce),
        "short nonce": desk.client.post(RECEIPTS, json={**signed, "nonce": "AAAAAAAAAAAAAAAAAAAAAAAA"}),
        "managed": desk.client.post(RECEIPTS, json=desk.body(kid=desk.issuer["keys"][0]["kid"], **named)),
    }

    assert (first.status_code, first.json()["receipt_id"], first.json()["nonce"]) == (201, named["id"], named["nonce"])
    assert desk.verify(first.json())["verdict"] == "VALID"
    assert {name: answer.status_code for name, answer in faults.items()} == {
        **{"again": 409, "other subject": 400, "no nonce": 400, "short nonce": 400},
        "managed": 400,
    }


def test_the_newest_active_key_and_version_sign_if_none_is_named(desk: ReceiptDesk) -> None:
    create_type(desk.lab, desk.caller, "1.1.0")
    desk.client.post(f"/v1/issuers/{desk.issuer['id']}/keys", json={"kid": "second", "alg": "ES256"})

    newest, named = desk.mint(), desk.mint(kid=desk.issuer["keys"][0]["kid"], receipt_version="1.0.0")
    of_alg = desk.mint(alg="Ed25519")
    none = desk.client.post(RECEIPTS, json=desk.body(alg="RS256"))

    assert (newest["signature"]["kid"], newest["receipt_version"]) == ("second", "1.1.0")
    assert (named["signature"]["alg"], named["receipt_version"]) == ("Ed25519", "1.0.0")
    assert of_alg["signature"]["kid"] == desk.issuer["keys"][0]["kid"]
    assert (none.status_code, none.json()["details"]["reason"]) == (409, "no_active_key")


def test_a_deprecated_type_mints_nothing_more(desk: ReceiptDesk) -> None:
    receipt = desk.mint()
    prepared = desk.lab.receipts.prepare(_parse(desk.body()), caller=desk.caller)
    desk.lab.receipt_types.deprecate("delivery", DeprecateTypeIn(), caller=desk.caller)

    refused = desk.client.post(RECEIPTS, json=desk.body())
    with pytest.raises(Exception, match="deprecated"):
        desk.lab.receipts.issue(prepared)

    assert (refused.status_code, refused.json()["details"]["reason"]) == (409, "type_deprecated")
    assert desk.verify(receipt)["verdict"] == "VALID"


def _parse(body: dict[str, Any]) -> Any:
    from attestlab.receipts.shapes import ReceiptIn

    return ReceiptIn.model_validate(body)


def test_bad_input_names_its_place_and_stores_nothing(desk: ReceiptDesk, lab: Installation) -> None:
    with open_desk(lab) as other:
        foreign = other.issuer["id"]
    faults: dict[str, tuple[dict[str, Any], int, str | None]] = {
        "no type": ({"receipt_type": None}, 400, "/receipt_type"),
        "bad type": ({"receipt_type": "Delivery!"}, 400, "/receipt_type"),
        "unknown type": ({"receipt_type": "refund"}, 404, None),
        "unknown version": ({"receipt_version": "9.0.0"}, 404, None),
        "bad version": ({"receipt_version": "1"}, 400, "/receipt_version"),
        "no issuer": ({"issuer_id": None}, 400, "/issuer_id"),
        "unknown issuer": ({"issuer_id": str(uuid4())}, 404, None),
        "other tenant's issuer": ({"issuer_id": foreign}, 404, None),
        "unknown key": ({"kid": "unknown"}, 404, None),
        "long key": ({"kid": "k" * 65}, 400, "/kid"),
        "bad alg": ({"alg": "none"}, 400, "/alg"),
        "other alg": ({"kid": desk.issuer["keys"][0]["kid"], "alg": "ES256"}, 400, "/alg"),
        "null subject": ({"subject": None}, 400, "/subject"),
        "long subject": ({"subject": "s" * 257}, 400, "/subject"),
        "no payload": ({"payload": None}, 400, "/payload"),
        "payload of a list": ({"payload": []}, 400, "/payload"),
        "missing member": ({"payload": {}}, 400, "/payload/n"),
        "wrong member": ({"payload": {"n": "3"}}, 400, "/payload/n"),
        "unknown member": ({"payload": {"n": 3, "m": 4}}, 400, "/payload/m"),
        "large payload": ({"payload": {"n": 3, "note": "x" * 65_536}}, 400, "/payload"),
        "large metadata": ({"metadata": {"a": "x" * 16_384}}, 400, "/metadata"),
        "null metadata": ({"metadata": None}, 400, "/metadata"),
        "bad retention": ({"retention_policy": "forever"}, 400, "/retention_policy"),
        "unknown field": ({"recipient": "ada"}, 400, "/recipient"),
        "signature of a managed key": ({"signature": "a.b.c"}, 400, "/signature"),
    }

    for name, (changes, status, pointer) in faults.items():
        answer = desk.client.post(RECEIPTS, json=desk.body(**changes))
        fields = [fault["field"] for fault in answer.json()["details"].get("fields", [])]
        assert (name, answer.status_code, pointer in [None, *fields]) == (name, status, True), answer.text
    missing = desk.client.post(RECEIPTS, json={})
    assert {fault["field"] for fault in missing.json()["details"]["fields"]} == {
        *("/receipt_type", "/issuer_id", "/payload")
    }
    assert desk.client.get(RECEIPTS).json()["items"] == []
    assert used(desk, usage.ATTESTATIONS) == 0


def test_a_receipt_is_its_tenants_own(desk: ReceiptDesk, lab: Installation) -> None:
    receipt = desk.mint()
    stranger = lab.orgs.create_tenant("Southfield", plan=Plan.ENTERPRISE)
    place = f"{RECEIPTS}/{receipt['receipt_id']}"
    with make_client(desk.clients.url, key=stranger.api_key) as foreign, desk.clients.anonymous() as anyone:
        answers = [
            foreign.get(place),
            foreign.get(f"{place}/proof-bundle"),
            foreign.post(f"{place}/revoke"),
            foreign.post(f"{place}/redact"),
        ]
        unknown = foreign.get(f"{RECEIPTS}/{uuid4()}")
        listed, found = foreign.get(RECEIPTS).json(), foreign.post(f"{RECEIPTS}/search", json={}).json()
        statuses = [anyone.get(place).status_code, anyone.post(RECEIPTS, json={}).status_code]

    assert [answer.status_code for answer in answers] == [404] * 4
    assert unknown.status_code == 404
    assert (listed["items"], found) == ([], {"items": [], "total": 0})
    assert statuses == [401, 401]
    assert desk.client.get(place).json() == receipt


def test_each_route_needs_its_scope(desk: ReceiptDesk) -> None:
    receipt = desk.mint()
    place = f"{RECEIPTS}/{receipt['receipt_id']}"
    tenant = desk.clients.tenant
    reads = [("GET", place), ("GET", RECEIPTS), ("GET", f"{place}/proof-bundle"), ("POST", f"{RECEIPTS}/search")]
    ends = [("POST", f"{place}/revoke"), ("POST", f"{place}/redact")]
    allowed = {
        Scope.ATTESTATIONS_MINT: [("POST", RECEIPTS)],
        Scope.ATTESTATIONS_READ: reads,
        Scope.ATTESTATIONS_REVOKE: ends,
    }
    for scope, mine in allowed.items():
        key = create_api_key(desk.lab, tenant, scope)
        with make_client(desk.clients.url, key=key) as client:
            for method, path in [("POST", RECEIPTS), *reads, *ends]:
                body = None if method == "GET" else desk.body() if path == RECEIPTS else {}
                status = client.request(method, path, json=body).status_code
                assert (path, status < 300) == (path, (method, path) in mine), status


def test_a_receipt_counts_as_an_attestation(lab: Installation) -> None:
    with open_desk(lab, plan=Plan.FREE) as desk:
        desk.mint()
        assert used(desk, usage.ATTESTATIONS) == 1
        limit = quotas.allowance_of(desk.caller).attestations_per_day
        assert limit is not None
        with lab.storage.write() as tx:
            usage.count_use(tx, desk.caller.tenant_id, usage.VERIFICATIONS, at=lab.clock.now(), times=0)
        prepared = [lab.receipts.prepare(_parse(desk.body()), caller=desk.caller) for _ in range(limit - 1)]
        with lab.storage.write() as tx:
            for each in prepared:
                lab.receipts.issue(each, tx=tx)
        refused = desk.client.post(RECEIPTS, json=desk.body())

        assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
        assert used(desk, usage.ATTESTATIONS) == limit


def test_a_verification_is_metered_and_an_unknown_receipt_is_not(desk: ReceiptDesk) -> None:
    receipt = desk.mint()

    verified, unknown = desk.verify(receipt), desk.verify({"receipt_id": str(uuid4())})
    with desk.clients.anonymous() as anyone:
        malformed = anyone.post(f"{RECEIPTS}/verify", json={"receipt_id": "7"})

    assert verified["verdict"] == "VALID"
    assert (unknown["verdict"], unknown["issuer_id"], unknown["log"]) == ("NOT_FOUND", "", None)
    assert malformed.status_code == 400
    wait_until(lambda: used(desk, usage.VERIFICATIONS), 1)
    (data,) = [data for kind, data in read_events(desk.lab, desk.caller) if kind == "verification.completed"]
    assert data == {
        "issuer_id": desk.issuer["id"],
        "verdict": "VALID",
        "count": 1,
        "receipt_id": receipt["receipt_id"],
    }


@pytest.mark.both_engines
def test_a_revoked_receipt_stays_revoked(desk: ReceiptDesk) -> None:
    receipt, silent = desk.mint(), desk.mint()

    revoked = desk.change(receipt, "revoke", reason="damaged").json()
    again = desk.change(receipt, "revoke", reason="damaged")
    desk.client.post(f"{RECEIPTS}/{silent['receipt_id']}/revoke")

    assert (revoked["status"], revoked["revocation_reason"]) == ("REVOKED", "damaged")
    assert {name: revoked[name] for name in ("payload", "signature", "log")} == {
        name: receipt[name] for name in ("payload", "signature", "log")
    }
    assert (again.status_code, again.json()["details"]["status"]) == (409, "REVOKED")
    assert desk.verify(receipt)["reasons"] == ["attestation_revoked"]
    assert [item["receipt_id"] for item in desk.client.get(RECEIPTS, params={"status": "REVOKED"}).json()["items"]] == [
        *(silent["receipt_id"], receipt["receipt_id"])
    ]
    ended = [data["receipt_id"] for kind, data in read_events(desk.lab, desk.caller) if kind == "receipt.revoked"]
    assert ended == [receipt["receipt_id"], silent["receipt_id"]]
    assert [action for action, _ in read_audit_trail(desk.lab, receipt["receipt_id"])] == [
        *("receipt.mint", "receipt.revoke")
    ]


@pytest.mark.both_engines
def test_a_redacted_receipt_still_verifies(desk: ReceiptDesk) -> None:
    receipt = desk.mint()

    redacted = desk.change(receipt, "redact", reason="asked to").json()
    again = desk.change(receipt, "redact").json()

    assert [redacted[name] for name in ("payload", "subject", "metadata", "nonce")] == [None] * 4
    assert again == redacted == desk.client.get(f"{RECEIPTS}/{receipt['receipt_id']}").json()
    kept = ("payload_hash", "subject_hash", "schema_hash", "signature", "log", "issued_at", "status")
    assert {name: redacted[name] for name in kept} == {name: receipt[name] for name in kept}
    verified = desk.verify(receipt, payload={"n": 3})
    assert verified["verdict"] == "VALID"
    assert {"payload_hash_ok", "payload_redacted", "signature_ok", "transparency_proof_ok"} <= {*verified["reasons"]}
    assert desk.verify(receipt, payload={"n": 4})["verdict"] == "ALTERED"
    assert desk.change(receipt, "revoke").json()["status"] == "REVOKED"


@pytest.mark.both_engines
@pytest.mark.own_world
def test_payloads_are_kept_as_long_as_their_policy_says(desk: ReceiptDesk, clock: FixedClock) -> None:
    policies = ("standard", "extended", "permanent")
    receipts = {policy: desk.mint(retention_policy=policy) for policy in policies}
    started = clock.now()

    def find_redacted() -> set[str]:
        with desk.lab.storage.write() as tx:
            desk.lab.receipts.redact_outdated(tx, at_most=100)
        return {
            policy
            for policy in policies
            if desk.lab.receipts.get(UUID(receipts[policy]["receipt_id"]), caller=desk.caller).payload is None
        }

    ends = [receipts[policy]["retain_until"] for policy in policies]
    assert [end and end[:4] for end in ends] == [f"{started.year + 1}", f"{started.year + 7}", None]
    assert find_redacted() == set()
    for _ in range(7):  # each mint confirms the time, which a leap of a year would make doubtful
        clock.advance(timedelta(days=53))
        desk.mint()
    assert find_redacted() == {"standard"}
    assert read_audit_trail(desk.lab, receipts["standard"]["receipt_id"])[-1] == ("receipt.redact", "SERVICE")


@pytest.mark.both_engines
def test_filters_and_search_find_what_they_name(desk: ReceiptDesk, clock: FixedClock) -> None:
    create_type(desk.lab, desk.caller, name="refund", schema={"type": "object"})
    parcel = desk.mint(subject="Parcel 100%", metadata={"driver": 'Zoë "Z" O\'Neil'})
    clock.advance(timedelta(seconds=1))
    middle = clock.now().isoformat()
    refund = desk.mint(receipt_type="refund", subject="order_7", metadata={})

    def listed(**query: Any) -> list[str]:
        return [item["receipt_id"] for item in desk.client.get(RECEIPTS, params=query).json()["items"]]

    def found(**query: Any) -> list[str]:
        answer = desk.client.post(f"{RECEIPTS}/search", json=query)
        assert answer.status_code == 200, answer.text
        items = [item["receipt_id"] for item in answer.json()["items"]]
        assert len(items) <= answer.json()["total"]
        return items

    first, second = parcel["receipt_id"], refund["receipt_id"]
    for ask in (listed, found):
        assert ask() == [second, first]
        assert ask(receipt_type="refund") == [second]
        assert ask(issuer_id=desk.issuer["id"], subject="Parcel 100%") == [first]
        assert ask(subject="parcel 100%") == []
        assert (ask(**{"from": middle}), ask(to=middle)) == ([second], [first])
        assert ask(status="REVOKED") == []
        assert ask(limit=1, offset=1) == [first]
    assert (found(q="parcel 1"), found(q="100%"), found(q="%"), found(q="er_"), found(q="_")) == (
        *([first], [first], [first], [second], [second]),
    )
    assert (found(q='"Z" O'), found(q="REFUND"), found(q="nothing")) == ([first], [second], [])
    page = desk.client.get(RECEIPTS, params={"limit": 1}).json()
    assert listed(limit=1, cursor=page["next_cursor"]) == [first]
    for name, value in {"limit": 101, "status": "VALID", "q": "", "cursor": "x"}.items():
        answer = desk.client.post(f"{RECEIPTS}/search", json={name: value})
        assert (answer.status_code, answer.json()["details"]["fields"][0]["field"]) == (400, f"/{name}")


@pytest.mark.both_engines
def test_an_export_has_the_rows_of_the_list(desk: ReceiptDesk) -> None:
    receipt = desk.mint(subject="=1+1", payload={"n": 3, "note": "Zoë"})
    desk.change(receipt, "revoke", reason="damaged")
    redacted = desk.mint()
    desk.change(redacted, "redact")
    listed = desk.client.get(RECEIPTS).json()["items"]

    def export(file_format: str, **filters: Any) -> httpx.Response:
        return desk.client.get(f"{RECEIPTS}/export", params={"format": file_format, **filters})

    lines = list(csv.DictReader(io.StringIO(export("csv").text)))
    table = pq.read_table(io.BytesIO(export("parquet").content)).to_pylist()
    assert export("json").json() == listed
    assert [line["subject"] for line in lines] == ["", "'=1+1"]
    assert [json.loads(line["payload"]) if line["payload"] else None for line in lines] == [
        *(item["payload"] for item in listed)
    ]
    for name in ("receipt_id", "payload_hash", "log_index", "status", "revocation_reason", "subject", "nonce"):
        assert [row[name] for row in table] == [item[name] for item in listed]
    assert [line["issued_at"] for line in lines] == [item["issued_at"] for item in listed]
    assert "attachment" in export("csv").headers["Content-Disposition"]
    assert export("json", status="REVOKED").json() == listed[1:]
    assert (export("json", subject="unknown").json(), export("xlsx").status_code) == ([], 400)


def test_the_log_finds_a_receipt_by_its_id(desk: ReceiptDesk) -> None:
    receipt = desk.mint()
    with desk.clients.anonymous() as anyone:
        found = anyone.get("/v1/log/lookup", params={"receipt_id": receipt["receipt_id"]})
        unknown = anyone.get("/v1/log/lookup", params={"receipt_id": desk.issuer["id"]})
        malformed = anyone.get("/v1/log/lookup", params={"receipt_id": "7"})

    assert (found.status_code, found.json()["log_index"]) == (200, receipt["log_index"])
    assert (unknown.status_code, malformed.status_code) == (404, 400)
    assert malformed.json()["details"]["fields"][0]["field"] == "/receipt_id"


def test_a_withdrawn_key_counts_the_receipts_that_it_signed(desk: ReceiptDesk) -> None:
    signed = [desk.mint(subject=f"parcel {number}") for number in range(2)]
    kid = signed[0]["signature"]["kid"]

    withdrawn = desk.client.post(f"/v1/issuers/keys/{kid}/revoke", json={"reason": "retired"})

    assert withdrawn.status_code == 200, withdrawn.text
    assert (withdrawn.json()["affected_attestations"], withdrawn.json()["affected_receipts"]) == (0, 2)
