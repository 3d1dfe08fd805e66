"""API keys over HTTP: created by owners and admins, shown once, revoked permanently."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import select

from attestlab.core.clock import FixedClock
from attestlab.orgs import store
from attestlab.orgs.rules import Plan, Scope
from support.in_process_server import make_client
from support.orgs import TenantClients, create_api_key, read_audit_trail
from support.outbox import read_events_of_type

pytestmark = pytest.mark.one_world

BODY = {"name": "Nightly export", "scopes": ["attestations:read", "issuers:read"]}
READ_AND_ONCE = {"X-Request-Id": "the-same"}


def made(client: httpx.Client, **changes: Any) -> dict[str, Any]:
    answer = client.post("/v1/api-keys", json={**BODY, **changes})
    assert answer.status_code == 201, answer.text
    key: dict[str, Any] = answer.json()
    return key


@pytest.mark.both_engines
def test_a_key_is_shown_once_and_works_immediately(tenant_clients: TenantClients) -> None:
    with tenant_clients.owner() as owner:
        answer = owner.post("/v1/api-keys", json=BODY)
        key = answer.json()
        again = owner.get(answer.headers["Location"]).json()

    assert (answer.status_code, answer.headers["Location"]) == (201, f"/v1/api-keys/{key['id']}")
    assert key["secret"].startswith(key["prefix"])
    assert len(key["secret"]) == len("al_live_") + 32
    assert (key["environment"], key["status"], set(key["scopes"])) == ("live", "ACTIVE", set(BODY["scopes"]))
    assert again == {name: value for name, value in key.items() if name != "secret"}
    with make_client(tenant_clients.url, key=key["secret"]) as client:
        assert client.get("/v1/issuers").status_code == 200
        assert client.get("/v1/audit/events").json()["details"]["required_scope"] == "audit:read"


def test_only_the_sha_256_of_the_secret_is_stored(tenant_clients: TenantClients) -> None:
    with tenant_clients.owner() as owner:
        secret = made(owner)["secret"]

    with tenant_clients.lab.storage.read() as connection:
        stored = connection.execute(select(store.api_keys.c.secret_sha256)).scalars().all()
    assert hashlib.sha256(secret.encode()).digest() in stored


def test_a_replayed_creation_returns_the_same_key(tenant_clients: TenantClients) -> None:
    with tenant_clients.owner() as owner:
        first, second = (owner.post("/v1/api-keys", json=BODY, headers={"Idempotency-Key": "k"}) for _ in range(2))

    assert (first.content, second.headers["Idempotent-Replayed"]) == (second.content, "true")


@pytest.mark.both_engines
def test_the_list_is_newest_first_a_page_at_a_time_and_without_secrets(
    tenant_clients: TenantClients, clock: FixedClock
) -> None:
    with tenant_clients.owner() as owner:
        for number in range(3):
            clock.advance(timedelta(milliseconds=1))
            made(owner, name=f"key {number}")
        page = owner.get("/v1/api-keys", params={"limit": 2}).json()
        rest = owner.get("/v1/api-keys", params={"cursor": page["next_cursor"]}).json()

    listed = [*page["items"], *rest["items"]]
    assert [key["name"] for key in listed] == ["key 2", "key 1", "key 0", "First key"]
    assert (len(page["items"]), rest["next_cursor"]) == (2, None)
    assert not any("secret" in field for key in listed for field in key)


@pytest.mark.both_engines
def test_a_revoked_key_is_rejected_permanently_from_the_next_request(tenant_clients: TenantClients) -> None:
    with tenant_clients.owner() as owner:
        key = made(owner)
        with make_client(tenant_clients.url, key=key["secret"]) as client:
            before = client.get("/v1/issuers").status_code
            revoked = owner.post(f"/v1/api-keys/{key['id']}/revoke", json={"reason": "rotated"})
            after = client.get("/v1/issuers")
        again = owner.post(f"/v1/api-keys/{key['id']}/revoke", json={"reason": "another reason"})

    assert (before, after.status_code, after.json()["code"]) == (200, 401, "AUTH_INVALID")
    assert (revoked.status_code, revoked.json()["id"], revoked.json()["status"]) == (200, key["id"], "REVOKED")
    assert (again.status_code, again.content) == (200, revoked.content)
    assert revoked.json()["revocation_reason"] == "rotated"


@pytest.mark.parametrize("body", [None, {}])
def test_a_revocation_needs_no_reason(tenant_clients: TenantClients, body: dict[str, Any] | None) -> None:
    with tenant_clients.owner() as owner:
        revoked = owner.post(f"/v1/api-keys/{made(owner)['id']}/revoke", json=body)

    assert (revoked.status_code, revoked.json()["revocation_reason"]) == (200, None)


def test_the_use_of_a_revoked_key_is_in_its_tenants_audit_trail(tenant_clients: TenantClients) -> None:
    with tenant_clients.owner() as owner, make_client(tenant_clients.url, key=(key := made(owner))["secret"]) as client:
        owner.post(f"/v1/api-keys/{key['id']}/revoke", json={})
        client.get("/v1/issuers")
        denied = owner.get("/v1/audit/events", params={"outcome": "FAILURE"}).json()["items"]

    assert [(line["actor_id"], line["resource_id"]) for line in denied] == [(key["id"], "GET /v1/issuers")]


@pytest.mark.both_engines
def test_a_flagged_key_is_revoked_with_one_event(tenant_clients: TenantClients) -> None:
    with tenant_clients.owner() as owner:
        key = made(owner)
        flagged = owner.post(f"/v1/api-keys/{key['id']}/compromise", json={"reason": "seen on a paste site"})
        again = owner.post(f"/v1/api-keys/{key['id']}/compromise", json={"reason": "again"})

    assert (flagged.json()["status"], flagged.json()["revocation_reason"]) == ("REVOKED", "seen on a paste site")
    assert again.content == flagged.content
    [event] = read_events_of_type(tenant_clients.lab, "security.api_key_compromised")
    assert event == {
        "api_key_id": key["id"],
        "compromised_at": flagged.json()["compromised_at"],
    }
    assert read_audit_trail(tenant_clients.lab, key["id"]) == [
        ("api_key.create", "USER"),
        ("api_key.compromise", "USER"),
    ]


@pytest.mark.own_world
def test_a_revoked_key_can_still_be_flagged_and_keeps_its_reason(tenant_clients: TenantClients) -> None:
    with tenant_clients.owner() as owner:
        key = made(owner)
        owner.post(f"/v1/api-keys/{key['id']}/revoke", json={"reason": "rotated"})
        flagged = owner.post(f"/v1/api-keys/{key['id']}/compromise", json={"reason": "leaked"}).json()

    assert (flagged["revocation_reason"], flagged["compromised_at"] is None) == ("rotated", False)
    assert [
        event["api_key_id"] for event in read_events_of_type(tenant_clients.lab, "security.api_key_compromised")
    ] == [key["id"]]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"scopes": []}, "/scopes"),
    ({"scopes": ["everything"]}, "/scopes/0"),
    ({"scopes": ["consumer:read"]}, "/scopes/0"),
    ({"scopes": "issuers:read"}, "/scopes"),
    ({"name": ""}, "/name"),
    ({"name": "two\nlines"}, "/name"),
    ({"name": 7}, "/name"),
    ({"environment": "test"}, "/environment"),
    ({"secret": "al_live_" + "0" * 32}, "/secret"),
    ({"tenant_id": str(uuid4())}, "/tenant_id"),
    ({"status": "ACTIVE"}, "/status"),
    ({"expires_at": None}, "/expires_at"),
]


def test_an_invalid_key_request_names_the_field_and_creates_nothing(tenant_clients: TenantClients) -> None:
    with tenant_clients.owner() as owner:
        answers = [(owner.post("/v1/api-keys", json={**BODY, **changes}), field) for changes, field in REFUSED]
        listed = owner.get("/v1/api-keys").json()["items"]

    assert [answer.text for answer, _ in answers if answer.status_code != 400] == []
    assert [answer.json()["details"]["fields"][0]["field"] for answer, _ in answers] == [field for _, field in REFUSED]
    assert [key["name"] for key in listed] == ["First key"]


def test_duplicate_scopes_are_stored_once(tenant_clients: TenantClients) -> None:
    with tenant_clients.owner() as owner:
        assert made(owner, scopes=["issuers:read", "issuers:read"])["scopes"] == ["issuers:read"]


def test_only_a_signed_in_owner_or_admin_creates_keys(tenant_clients: TenantClients) -> None:
    _, admin = tenant_clients.person("admin")
    _, analyst = tenant_clients.person("analyst")
    _, member = tenant_clients.person("member")
    _, consumer = tenant_clients.consumer()
    with (
        tenant_clients.with_key(*Scope) as key,
        tenant_clients.anonymous() as anonymous,
        admin,
        analyst,
        member,
        consumer,
    ):
        statuses = [
            client.post("/v1/api-keys", json=BODY) for client in (admin, analyst, member, consumer, key, anonymous)
        ]

    assert [answer.status_code for answer in statuses] == [201, 403, 403, 403, 403, 401]
    assert statuses[1].json()["details"]["required_roles"] == ["owner", "admin"]
    assert statuses[4].json()["details"]["required_credential"] == "jwt"


def test_another_tenants_key_answers_exactly_like_a_missing_one(tenant_clients: TenantClients) -> None:
    other = tenant_clients.lab.orgs.create_tenant("Other", plan=Plan.ENTERPRISE)
    with tenant_clients.owner(other) as stranger, tenant_clients.owner() as owner:
        theirs, none = made(owner)["id"], str(uuid4())
        for method, path in (("GET", ""), ("POST", "/revoke"), ("POST", "/compromise")):
            body = None if method == "GET" else {"reason": "mine now"}
            there, nowhere = (
                stranger.request(method, f"/v1/api-keys/{id}{path}", json=body, headers=READ_AND_ONCE)
                for id in (theirs, none)
            )
            assert (there.status_code, nowhere.status_code) == (404, 404)
            assert there.text.replace(theirs, "the id") == nowhere.text.replace(none, "the id")
        assert owner.get(f"/v1/api-keys/{theirs}").json()["status"] == "ACTIVE"
        assert theirs not in stranger.get("/v1/api-keys").text


def test_a_dev_key_works_in_the_sandbox(tenant_clients: TenantClients) -> None:
    with tenant_clients.owner() as owner:
        key = made(owner, environment="dev")

    assert key["secret"].startswith("al_dev_")
    with make_client(tenant_clients.url, key=key["secret"]) as client:
        assert client.get("/v1/issuers").status_code == 200


def test_a_key_survives_the_removal_of_its_creator(tenant_clients: TenantClients) -> None:
    """It acts for the tenant; removing its creator does not revoke it."""
    person, admin = tenant_clients.person("admin")
    with admin, tenant_clients.owner() as owner:
        secret = made(admin)["secret"]
        assert owner.delete(f"/v1/users/{person}").status_code == 204

    with make_client(tenant_clients.url, key=secret) as client:
        assert client.get("/v1/issuers").status_code == 200


def test_a_key_created_in_process_works_over_http(tenant_clients: TenantClients) -> None:
    secret = create_api_key(tenant_clients.lab, tenant_clients.tenant, Scope.ISSUERS_READ)

    with make_client(tenant_clients.url, key=secret) as client:
        assert [client.get(path).status_code for path in ("/v1/issuers", "/v1/users")] == [200, 403]
