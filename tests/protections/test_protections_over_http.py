"""Protections over HTTP: what a consumer protects, who may, what is refused, and what the log says of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import Plan, Scope
from support.in_process_server import make_client
from support.orgs import create_api_key, read_audit_trail
from support.outbox import read_events_of_type
from support.protections import PROTECTIONS, Consumer, hash_of, make_protection_body, verify
from support.together import call_together

WRONG_FIELDS: list[tuple[str, object]] = [
    *(("content_hash", value) for value in ("", "ab", "g" * 64, "a" * 65, 7)),
    *(("title", value) for value in (None, "", " ", "x" * 201, "a\nb", "a\u202eb", 7)),
    *(("description", value) for value in (None, "x" * 2001, 7)),
    *(("content_type", value) for value in (None, "", "picture", "image/", "/png", "a b/c", "image/" + "x" * 128)),
    *(("category", value) for value in (None, "", "A", "a b", "ü", "x" * 65)),
    *(("file_name", value) for value in ("", "x" * 256, 7)),
    *(("file_size", value) for value in (-1, "5", True, 1.5)),
    *(("visibility", value) for value in (None, "", "PUBLIC", "friends")),
    *((name, "x") for name in ("source", "user_id", "id", "attestation_status", "verification_count", "content")),
]
WRONG_CHANGES: list[tuple[str, object]] = [
    *(("title", value) for value in (None, "", " ", "x" * 201, "a\nb", 7)),
    *(("description", value) for value in (None, "x" * 2001)),
    *(("category", value) for value in (None, "A", "")),
    *(("visibility", value) for value in (None, "x")),
    *((name, "x") for name in ("content_hash", "content_type", "file_name", "source", "attestation_id")),
]
WRONG_REASONS = ({}, {"reason": ""}, {"reason": " "}, {"reason": "x" * 1001}, {"reason": None}, {"reason": 7})


@pytest.mark.both_engines
def test_content_is_protected_changed_revoked_and_deleted(ada: Consumer, url: str) -> None:
    made = ada.protect("sunset", content_hash=hash_of("sunset").upper(), content_type="image/png", file_size=12)
    place = f"{PROTECTIONS}/{made['id']}"
    assert (made["title"], made["description"], made["category"]) == ("Sunset", "", "general")
    assert (made["content_hash"], made["content_type"]) == (hash_of("sunset"), "image/png")
    assert (made["file_name"], made["file_size"]) == (None, 12)
    assert (made["visibility"], made["source"], made["attestation_status"]) == ("private", "own", "VALID")
    assert made["verification_count"] == 0
    assert made["verify_url"].endswith(f"/a/{made['attestation_id']}")
    assert made["share_url"].startswith(f"{made['verify_url']}?k=")
    assert verify(url, made, document_hash=hash_of("sunset")) == "VALID"

    changed = ada.client.patch(place, json={"title": "Dusk", "visibility": "public"}).json()
    assert changed == {**made, "title": "Dusk", "visibility": "public", "updated_at": changed["updated_at"]}
    assert ada.client.get(place).json()["title"] == "Dusk"

    revoked = ada.client.post(f"{place}/revoke", json={"reason": "Not mine"})
    assert (revoked.status_code, revoked.json()["attestation_status"]) == (200, "REVOKED")
    assert ada.client.post(f"{place}/revoke", json={"reason": "Again"}).status_code == 409
    assert verify(url, made) == "REVOKED"

    assert ada.client.delete(place).status_code == 204
    assert [ada.client.get(place).status_code, ada.client.delete(place).status_code] == [404, 404]
    assert ada.client.get(PROTECTIONS).json() == {"items": [], "total": 0, "next_cursor": None}
    again = ada.protect("sunset")
    assert again["attestation_id"] != made["attestation_id"]
    assert list(fsck(ada.lab)) == []


def test_the_log_and_the_claims_name_neither_owner_nor_title(ada: Consumer, lab: Installation) -> None:
    made = ada.protect("sunset", title="My holiday", description="With Bob", file_name="bob.png", content_type="image")

    operator = lab.operator_caller()
    row = lab.attestations.get(UUID(made["attestation_id"]), caller=operator)
    assert row.claims.decode() == (
        f'{{"details":"image","subject":"sha256:{hash_of("sunset")}","type":"content-protection"}}'
    )
    assert (row.schema_id, row.document_hash) == ("custom", hash_of("sunset"))
    assert (row.recipient_email, row.subject_reference, row.extra) == (None, None, None)
    assert read_audit_trail(lab, made["attestation_id"]) == [("attestation.mint", "USER")]


def test_the_operator_gets_the_event_of_new_content(ada: Consumer, lab: Installation) -> None:
    made = ada.protect(visibility="unlisted")

    (event,) = read_events_of_type(lab, "consumer.content.protected")
    names = {"protection_id": made["id"], "attestation_id": made["attestation_id"], "visibility": "unlisted"}
    assert event == {**names, "protected_at": made["created_at"]}


def test_a_wrong_field_is_named_and_nothing_is_protected(ada: Consumer) -> None:
    wrong = []
    for field, value in WRONG_FIELDS:
        answer = ada.client.post(PROTECTIONS, json={**make_protection_body(), field: value})
        faults = [fault["field"] for fault in answer.json().get("details", {}).get("fields", [])]
        if (answer.status_code, faults) != (400, [f"/{field}"]):
            wrong.append((field, value, answer.text))

    assert wrong == []
    assert ada.client.get(PROTECTIONS).json()["total"] == 0


@pytest.mark.parametrize("more", [{"attestation_id": str(uuid4())}, {"content_hash": None}])
def test_it_takes_a_hash_or_an_attestation(ada: Consumer, more: dict[str, Any]) -> None:
    answer = ada.client.post(PROTECTIONS, json={**make_protection_body(), **more})

    assert [fault["field"] for fault in answer.json()["details"]["fields"]] == ["/content_hash"]
    assert ada.client.get(PROTECTIONS).json()["total"] == 0


def test_a_wrong_change_is_named_and_changes_nothing(ada: Consumer) -> None:
    made = ada.protect()
    place = f"{PROTECTIONS}/{made['id']}"
    wrong = []
    for field, value in WRONG_CHANGES:
        answer = ada.client.patch(place, json={field: value})
        if answer.status_code != 400 or answer.json()["details"]["fields"][0]["field"] != f"/{field}":
            wrong.append((field, value, answer.text))

    assert wrong == []
    assert ada.client.get(place).json() == made


def test_a_revocation_needs_a_reason(ada: Consumer) -> None:
    made = ada.protect()

    answers = [ada.client.post(f"{PROTECTIONS}/{made['id']}/revoke", json=body) for body in WRONG_REASONS]

    assert {answer.status_code for answer in answers} == {400}
    assert ada.client.get(f"{PROTECTIONS}/{made['id']}").json()["attestation_status"] == "VALID"


def test_another_consumer_finds_nothing_and_changes_nothing(ada: Consumer, grace: Consumer) -> None:
    made = ada.protect(visibility="public")

    for protection_id in (made["id"], str(uuid4())):
        place = f"{PROTECTIONS}/{protection_id}"
        answers = [
            grace.client.get(place),
            grace.client.patch(place, json={"title": "Mine"}),
            grace.client.post(f"{place}/revoke", json={"reason": "Mine"}),
            grace.client.delete(place),
            grace.client.get(f"{place}/verifications"),
        ]
        assert [answer.status_code for answer in answers] == [404] * 5
        assert {answer.json()["message"] for answer in answers} == {f"No protection {protection_id} is known."}
    assert grace.client.get(PROTECTIONS).json()["items"] == []
    assert ada.client.get(f"{PROTECTIONS}/{made['id']}").json() == made


def test_only_consumers_protect(ada: Consumer, lab: Installation, url: str) -> None:
    tenant = lab.orgs.create_tenant("Northfield", plan=Plan.ENTERPRISE)
    secret = ada.client.post("/v1/consumer/api-keys", json={"name": "A program"}).json()["secret"]
    with (
        make_client(url, key=create_api_key(lab, tenant, *Scope)) as key,
        make_client(url) as anyone,
        make_client(url, key=secret) as program,
    ):
        statuses = [
            (client.post(PROTECTIONS, json=make_protection_body()).status_code, client.get(PROTECTIONS).status_code)
            for client in (key, anyone, program)
        ]
        assert statuses == [(403, 403), (401, 401), (201, 200)]
        assert key.post(PROTECTIONS, json=make_protection_body()).json()["details"] | {"request_id": ""} == {
            "required_realm": "consumer",
            "request_id": "",
        }
    assert ada.client.get(PROTECTIONS).json()["total"] == 1


@pytest.mark.both_engines
def test_the_same_content_is_protected_once_by_each_consumer(ada: Consumer, grace: Consumer) -> None:
    made = ada.protect("sunset")

    again = ada.client.post(PROTECTIONS, json=make_protection_body("sunset", title="Another"))

    assert again.status_code == 409
    details = again.json()["details"]
    assert (details["reason"], details["protection_id"]) == ("already_protected", made["id"])
    assert grace.protect("sunset")["attestation_id"] != made["attestation_id"]


@pytest.mark.both_engines
def test_of_many_at_once_one_protects(ada: Consumer, lab: Installation) -> None:
    """Also the first ones of an installation, which make the issuer."""
    body = make_protection_body("sunset")
    answers = call_together(lambda _: ada.client.post(PROTECTIONS, json=body), range(50))

    assert sorted(answer.status_code for answer in answers) == [201, *[409] * 49]
    (made,) = ada.client.get(PROTECTIONS).json()["items"]
    assert {answer.json()["details"]["protection_id"] for answer in answers if answer.status_code == 409} == {
        made["id"]
    }
    assert len(lab.issuers.page(caller=lab.operator_caller())) == 1
    assert list(fsck(lab)) == []


def test_protections_count_towards_the_consumers_attestations_of_a_day(
    ada: Consumer, lab: Installation, clock: FixedClock
) -> None:
    lab.orgs.set_plan(ada.tenant_id, Plan.ENTERPRISE, {"attestations_per_day": 2})
    made = ada.protect("one")
    ada.protect("two")
    ada.client.delete(f"{PROTECTIONS}/{made['id']}")

    refused = ada.client.post(PROTECTIONS, json=make_protection_body("three"))

    assert refused.status_code == 429
    assert (refused.json()["details"]["limit"], refused.json()["details"]["window_seconds"]) == (2, 86_400)
    clock.advance(timedelta(days=1))
    assert list(fsck(lab)) == []


def test_a_repeated_request_answers_the_same_protection(ada: Consumer) -> None:
    headers = {"Idempotency-Key": "once"}
    first, second = (ada.client.post(PROTECTIONS, json=make_protection_body(), headers=headers) for _ in range(2))

    assert (second.status_code, second.content) == (201, first.content)
    assert second.headers["Idempotent-Replayed"] == "true"


def test_the_list_is_filtered_counted_and_paged(ada: Consumer, clock: FixedClock) -> None:
    made = []
    for number in range(5):
        clock.advance(timedelta(seconds=1))
        made.append(ada.protect(f"content {number}", category=f"c-{number % 2}"))
    ada.client.patch(f"{PROTECTIONS}/{made[0]['id']}", json={"visibility": "public"})

    def ids(**query: object) -> tuple[list[str], int]:
        page = ada.client.get(PROTECTIONS, params={name: str(value) for name, value in query.items()}).json()
        return [item["title"] for item in page["items"]], page["total"]

    assert ids() == ([f"Content {number}" for number in (4, 3, 2, 1, 0)], 5)
    assert ids(category="c-1") == (["Content 3", "Content 1"], 2)
    assert ids(visibility="public") == (["Content 0"], 1)
    assert ids(visibility="public", category="c-1") == ([], 0)
    first = ada.client.get(PROTECTIONS, params={"limit": 3}).json()
    rest = ada.client.get(PROTECTIONS, params={"limit": 3, "cursor": first["next_cursor"]}).json()
    assert [item["title"] for item in rest["items"]] == ["Content 1", "Content 0"]
    assert (first["total"], rest["total"], rest["next_cursor"]) == (5, 5, None)
    for wrong in ({"limit": 0}, {"limit": 101}, {"cursor": "x"}, {"visibility": "x"}, {"category": "A"}, {"q": "x"}):
        assert ada.client.get(PROTECTIONS, params=wrong).status_code == 400, wrong  # type: ignore[arg-type]
