"""Consumers: an account of their own, and up to five keys with five fixed scopes, for ninety days."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.errors import Conflict, ValidationFailed
from attestlab.installation import Installation
from attestlab.orgs.rules import CONSUMER_SCOPES, checksum
from support.fork_server import run_command
from support.in_process_server import make_client
from support.orgs import PASSWORD, TenantClients
from support.server_process import run_json_command

KEYS = "/v1/consumer/api-keys"


def made(client: httpx.Client, name: str = "My phone") -> dict[str, Any]:
    answer = client.post(KEYS, json={"name": name})
    assert answer.status_code == 201, answer.text
    key: dict[str, Any] = answer.json()
    return key


def test_a_consumer_is_a_person_with_a_tenant_of_their_own(tenant_clients: TenantClients) -> None:
    created, consumer = tenant_clients.consumer()
    with consumer:
        me = consumer.get("/v1/me").json()

    assert (me["id"], me["tenant_id"]) == (str(created.consumer_id), str(created.tenant_id))
    assert (me["realm"], me["roles"], me["plan"], me["email"]) == ("consumer", [], "FREE", "ada@consumers.example")
    assert set(me["credential"]["scopes"]) == CONSUMER_SCOPES


def test_a_key_has_five_fixed_scopes_ninety_days_and_a_checksum(
    tenant_clients: TenantClients, clock: FixedClock
) -> None:
    _, consumer = tenant_clients.consumer()
    with consumer:
        key = made(consumer)

    assert re.fullmatch("alc_[0-9A-Za-z]{32}", key["secret"])
    assert key["secret"][-6:] == checksum(key["secret"][4:-6])
    assert set(key["scopes"]) == CONSUMER_SCOPES
    assert key["expires_at"] == (clock.now() + timedelta(days=90)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    with make_client(tenant_clients.url, key=key["secret"]) as client:
        assert client.get("/v1/attestations").status_code == 200
        assert client.get("/v1/issuers").json()["details"]["required_scope"] == "issuers:read"
        assert client.get(KEYS).json()["details"]["required_credential"] == "jwt"


def test_a_sixth_active_key_is_refused_until_one_is_revoked(tenant_clients: TenantClients) -> None:
    _, consumer = tenant_clients.consumer()
    with consumer:
        keys = [made(consumer, f"key {number}") for number in range(5)]
        sixth = consumer.post(KEYS, json={"name": "One too many"})
        revoked = consumer.post(f"{KEYS}/{keys[0]['id']}/revoke", json={"reason": "lost"})
        made(consumer, "In its place")
        seventh = consumer.post(KEYS, json={"name": "Again too many"})

    assert (sixth.status_code, sixth.json()["code"], sixth.json()["details"]["limit"]) == (409, "CONFLICT", 5)
    assert (revoked.status_code, revoked.json()["status"]) == (200, "REVOKED")
    assert seventh.status_code == 409


def test_a_key_works_to_its_last_millisecond_and_never_again(tenant_clients: TenantClients, clock: FixedClock) -> None:
    _, consumer = tenant_clients.consumer()
    with consumer:
        keys = [made(consumer, f"key {number}") for number in range(5)]
    clock.advance(timedelta(days=90) - timedelta(milliseconds=1))
    with make_client(tenant_clients.url, key=keys[0]["secret"]) as client:
        last = client.get("/v1/attestations").status_code
        clock.advance(timedelta(milliseconds=1))
        after = client.get("/v1/attestations")

    assert (last, after.status_code, after.json()["code"]) == (200, 401, "AUTH_INVALID")
    with tenant_clients.sign_in("ada@consumers.example") as consumer:
        assert {key["status"] for key in consumer.get(KEYS).json()["items"]} == {"EXPIRED"}
        assert consumer.post(f"{KEYS}/{keys[0]['id']}/revoke", json={}).json()["status"] == "REVOKED"
        made(consumer, "expired ones do not count")


def test_a_revoked_key_is_refused_at_once(tenant_clients: TenantClients) -> None:
    _, consumer = tenant_clients.consumer()
    with consumer, make_client(tenant_clients.url, key=(key := made(consumer))["secret"]) as client:
        before = client.get("/v1/attestations").status_code
        revoked = consumer.post(f"{KEYS}/{key['id']}/revoke")
        after = client.get("/v1/attestations").status_code
        again = consumer.post(f"{KEYS}/{key['id']}/revoke", json={"reason": "other"})

    assert (before, after, again.content == revoked.content) == (200, 401, True)


def test_fixed_fields_of_a_consumer_key_cannot_be_set(tenant_clients: TenantClients) -> None:
    wanted: list[dict[str, Any]] = [
        {"scopes": ["issuers:write"]},
        {"environment": "dev"},
        {"expires_at": "2099-01-01T00:00:00Z"},
        {"tenant_id": str(uuid4())},
        {"name": " "},
    ]
    _, consumer = tenant_clients.consumer()
    with consumer:
        answers = [consumer.post(KEYS, json={"name": "x", **more}) for more in wanted]
        listed = consumer.get(KEYS).json()["items"]

    assert [answer.status_code for answer in answers] == [400] * len(wanted)
    assert listed == []


def test_only_a_signed_in_consumer_creates_consumer_keys(tenant_clients: TenantClients) -> None:
    with tenant_clients.owner() as owner, tenant_clients.anonymous() as anonymous:
        answers = [client.post(KEYS, json={"name": "x"}) for client in (owner, anonymous)]

    assert [answer.status_code for answer in answers] == [403, 401]
    assert answers[0].json()["details"]["required_realm"] == "consumer"


def test_tenant_routes_reject_consumers(tenant_clients: TenantClients) -> None:
    _, consumer = tenant_clients.consumer()
    with consumer:
        answers = {path: consumer.get(path).status_code for path in ("/v1/api-keys", "/v1/orgs", "/v1/users")}

    assert set(answers.values()) == {403}


def test_another_consumers_key_answers_exactly_like_a_missing_one(tenant_clients: TenantClients) -> None:
    _, one = tenant_clients.consumer()
    _, other = tenant_clients.consumer("grace@consumers.example")
    with one, other:
        theirs, none = made(one)["id"], str(uuid4())
        there, nowhere = (
            other.post(f"{KEYS}/{id}/revoke", json={"reason": "mine"}, headers={"X-Request-Id": "r"})
            for id in (theirs, none)
        )
        assert [key["status"] for key in one.get(KEYS).json()["items"]] == ["ACTIVE"]

    assert (there.status_code, there.text.replace(theirs, "id")) == (404, nowhere.text.replace(none, "id"))


def test_address_password_and_name_of_a_consumer_are_validated(lab: Installation) -> None:
    lab.orgs.add_consumer("Ada@Consumers.Example", PASSWORD, name="Ada")

    with pytest.raises(Conflict):
        lab.orgs.add_consumer("ada@consumers.example", PASSWORD, name="Another")
    for email, password, name in (
        ("no-address", PASSWORD, "N"),
        ("a@b.example", "short", "N"),
        ("a@b.example", "a@b.example ", "N"),
        ("a@b.example", PASSWORD, ""),
    ):
        with pytest.raises(ValidationFailed):
            lab.orgs.add_consumer(email, password, name=name)


def test_an_invitation_names_the_setting_without_which_its_link_leads_nowhere(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    run_json_command("init", "--data", data, "--json")

    warned = run_command("consumer", "invite", "sofia@example.org", "--data", data)
    quiet = run_command(
        "consumer", "invite", "sofia@example.org", "--data", data, ATTESTLAB_PORTAL_URL="https://portal.example"
    )

    assert (warned.returncode, "ATTESTLAB_PORTAL_URL" in warned.stderr) == (0, True)
    assert (quiet.returncode, quiet.stderr, "https://portal.example/signup?token=" in quiet.stdout) == (0, "", True)


def test_the_command_line_creates_a_consumer(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    run_json_command("init", "--data", data, "--json")

    made = run_json_command("consumer", "create", "ada@example.org", "--data", data, "--json")
    again = run_command("consumer", "create", "ada@example.org", "--data", data)
    invited = run_json_command("consumer", "invite", "grace@example.org", "--data", data, "--json")

    assert set(made) == {"consumer_id", "tenant_id", "email", "password"}
    assert (made["email"], len(made["password"]) >= 20) == ("ada@example.org", True)
    assert set(invited) == {"email", "invited_until", "link"}
    assert (again.returncode, again.stdout, len(again.stderr.splitlines())) == (2, "", 1), json.dumps(again.stderr)
