"""Sign-in: one success, the same error for every failure, and no disclosure of existing accounts."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from argon2 import PasswordHasher
from sqlalchemy import select

from attestlab.core.clock import FixedClock
from attestlab.core.crypto import passwords
from attestlab.core.records.audit import AuditEvent
from attestlab.identity import login_throttle
from attestlab.identity.login_throttle import LoginAttempt
from attestlab.identity.rules import hash_address
from attestlab.installation import Installation
from attestlab.orgs import store as org_store
from attestlab.orgs.rules import CONSUMER_SCOPES, Scope
from attestlab.web.idempotency.store import StoredResponse
from support.identity import (
    FAILED_SIGN_IN,
    INVALID_CREDENTIALS,
    AuthClient,
    add_user,
    bearer_header,
    change_user,
    convert_to_consumer,
    read_refusal,
)
from support.outbox import read_events

pytestmark = pytest.mark.one_world

WRONG = "not the password"


def lines(lab: Installation, action: str) -> list[dict[str, Any]]:
    """Returns the audit entries of one action, of all tenants."""
    wanted = select(AuditEvent.record).where(AuditEvent.action == action)
    with lab.storage.read() as connection:
        return [json.loads(record) for record in connection.execute(wanted).scalars()]


def test_a_login_returns_tokens_for_an_hour_and_for_thirty_days(auth_client: AuthClient) -> None:
    tokens = auth_client.signed_in()

    assert {name: tokens[name] for name in ("token_type", "expires_in", "refresh_expires_in")} == {
        "token_type": "Bearer",
        "expires_in": 3600,
        "refresh_expires_in": 2_592_000,
    }
    assert auth_client.me(tokens["access_token"]).json()["email"] == auth_client.tenant.owner_email


def test_an_address_is_matched_ignoring_case_and_surrounding_blanks(auth_client: AuthClient) -> None:
    assert auth_client.login(email=f"  {auth_client.tenant.owner_email.upper()} ").status_code == 200


def test_a_wrong_password_and_an_unknown_address_give_the_same_error(auth_client: AuthClient) -> None:
    wrong, unknown = auth_client.login(password=WRONG), auth_client.login(email="absent@example.org")

    assert (wrong.status_code, unknown.status_code) == (401, 401)
    assert read_refusal(wrong) == read_refusal(unknown) == FAILED_SIGN_IN


@pytest.mark.parametrize("stored", ["", "$argon2id$", "x" * 97])
def test_an_address_with_no_usable_hash_is_refused(auth_client: AuthClient, lab: Installation, stored: str) -> None:
    change_user(lab, auth_client.tenant, password_hash=stored)

    assert read_refusal(auth_client.login()) == FAILED_SIGN_IN


@pytest.mark.parametrize("status", ["INVITED", "REMOVED"])
def test_an_invited_or_removed_person_cannot_sign_in(auth_client: AuthClient, lab: Installation, status: str) -> None:
    change_user(lab, auth_client.tenant, status=status)

    assert read_refusal(auth_client.login()) == FAILED_SIGN_IN


def test_an_unknown_address_costs_as_much_as_a_wrong_password(
    auth_client: AuthClient, lab: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in argon2id verifications, each with the parameters of a stored hash."""
    verified: list[str] = []
    real = PasswordHasher.verify

    def counting(hasher: PasswordHasher, stored: str, password: str) -> bool:
        verified.append(stored.rsplit("$", 2)[0])
        return real(hasher, stored, password)

    monkeypatch.setattr(PasswordHasher, "verify", counting)
    change_user(lab, auth_client.tenant, status="INVITED")

    auth_client.login(email="absent@example.org")
    auth_client.login(password=WRONG)
    auth_client.login()

    assert verified == [passwords.hash_password("any password").rsplit("$", 2)[0]] * 3


def test_a_hash_of_weaker_parameters_is_replaced_by_the_next_login(auth_client: AuthClient, lab: Installation) -> None:
    weak = PasswordHasher(time_cost=1, memory_cost=64).hash(auth_client.tenant.owner_password)
    change_user(lab, auth_client.tenant, password_hash=weak)

    auth_client.signed_in()

    with lab.storage.read() as connection:
        users = org_store.users
        stored = connection.scalar(select(users.c.password_hash).where(users.c.email == auth_client.tenant.owner_email))
    assert not passwords.is_outdated(stored)
    assert auth_client.login().status_code == 200


def guessed(lab: Installation, email: str, times: int) -> None:
    """Records this many failed attempts without the time that each of them takes."""
    for number in range(times):
        login_throttle.count_attempt(
            lab.counters, LoginAttempt(hash_address(email), f"192.0.2.{number}"), now=lab.clock.now()
        )


@pytest.mark.own_world
def test_every_login_is_audited_without_unknown_addresses(auth_client: AuthClient, lab: Installation) -> None:
    """An unknown client's attempts are in the trail of the account's tenant, otherwise in the operator's."""
    auth_client.signed_in()
    auth_client.login(password=WRONG)
    auth_client.login(email="absent@example.org")

    made, wrong, unknown = lines(lab, "session.create")
    assert (made["outcome"], made["actor_type"], made["resource_type"]) == ("SUCCESS", "USER", "session")
    assert (wrong["outcome"], wrong["resource_id"]) == ("FAILURE", made["actor_id"])
    assert wrong["tenant_id"] == made["tenant_id"] == str(auth_client.tenant.tenant_id)
    assert unknown["tenant_id"] == str(lab.operator.tenant_id)  # type: ignore[attr-defined]
    assert unknown["resource_id"].startswith("sha256:")
    assert "absent" not in json.dumps(unknown)
    assert lines(lab, "request.denied") == []


def test_after_ten_failures_even_the_right_password_must_wait(
    auth_client: AuthClient, lab: Installation, clock: FixedClock
) -> None:
    """The error states the wait, an unknown address gets the same error, and after the wait sign-in works again."""
    for email in (auth_client.tenant.owner_email, "absent@example.org"):
        guessed(lab, email, login_throttle.MAX_ATTEMPTS_PER_ACCOUNT - 1)
        assert auth_client.login(email=email, password=WRONG).status_code == 401
    clock.advance(timedelta(seconds=60))
    right, unknown = auth_client.login(), auth_client.login(email="absent@example.org")

    assert (right.status_code, right.headers["Retry-After"]) == (429, "840")
    assert right.json()["code"] == "RATE_LIMIT_EXCEEDED"
    details = {name: value for name, value in right.json()["details"].items() if name != "request_id"}
    assert details == {"limit": 10, "window_seconds": 900, "retry_after_seconds": 840}
    assert {name: value for name, value in unknown.json()["details"].items() if name != "request_id"} == details
    clock.advance(timedelta(seconds=840))
    assert auth_client.login().status_code == 200


def test_a_success_resets_the_failures_of_its_account(auth_client: AuthClient, lab: Installation) -> None:
    for _ in range(2):
        guessed(lab, auth_client.tenant.owner_email, login_throttle.MAX_ATTEMPTS_PER_ACCOUNT - 1)
        assert auth_client.login().status_code == 200


def test_many_accounts_from_one_address_are_counted_together(
    auth_client: AuthClient, lab: Installation, clock: FixedClock
) -> None:
    """A client that tries one password on many accounts is throttled too; a success uncounts only its own attempt."""
    for number in range(login_throttle.MAX_ATTEMPTS_PER_PEER - 1):
        login_throttle.count_attempt(lab.counters, LoginAttempt(f"{number:064x}", "127.0.0.1"), now=clock.now())

    assert auth_client.login().status_code == 200
    assert auth_client.login(email="one-more@example.org").status_code == 401
    assert auth_client.login().status_code == 429


def test_a_throttled_attempt_hashes_no_password(
    auth_client: AuthClient, lab: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    guessed(lab, auth_client.tenant.owner_email, login_throttle.MAX_ATTEMPTS_PER_ACCOUNT)

    def unexpected(*_: object) -> bool:
        raise AssertionError("a password was verified")

    monkeypatch.setattr(PasswordHasher, "verify", unexpected)

    assert auth_client.login().status_code == 429


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"email": "a@example.org"},
        {"email": "a@example.org", "password": ""},
        {"email": "a@example.org", "password": "x" * 1025},
        {"email": ["a@example.org"], "password": "x"},
        {"email": "a@example.org", "password": "x", "roles": ["owner"]},
        {"email": "a" * 255, "password": "x"},
    ],
)
def test_a_malformed_login_is_rejected_without_echoing_its_values(
    auth_client: AuthClient, body: dict[str, Any]
) -> None:
    answer = auth_client.client.post("/v1/auth/login", json=body)

    assert (answer.status_code, answer.json()["code"]) == (400, "VALIDATION_ERROR")
    assert "xxx" not in answer.text


@pytest.mark.own_world
def test_me_describes_a_person(auth_client: AuthClient, lab: Installation) -> None:
    person = add_user(lab, auth_client.tenant, "ada@example.org", "a long password", roles="analyst member")

    tokens = auth_client.signed_in(email="ada@example.org", password="a long password")
    me = auth_client.me(tokens["access_token"]).json()

    credential = me.pop("credential")
    assert me == {
        "id": str(person.id),
        "tenant_id": str(auth_client.tenant.tenant_id),
        "tenant_name": "Example Registry",
        "org_id": str(auth_client.tenant.org_id),
        "email": "ada@example.org",
        "name": "Ada Lovelace",
        "realm": "tenant",
        "roles": ["analyst", "member"],
        "plan": "ENTERPRISE",
    }
    assert (credential["type"], credential["expires_at"]) == ("jwt", "2026-11-21T13:00:00.000Z")
    assert credential["scopes"] == [
        "agents:read",
        "attestations:mint",
        "attestations:read",
        "audit:read",
        "billing:read",
        "issuers:read",
        "policies:read",
        "policies:write",
        "risk:read",
        "risk:write",
        "users:read",
        "webhooks:read",
    ]


def test_me_describes_an_api_key(auth_client: AuthClient) -> None:
    me = auth_client.client.get("/v1/me", headers={"X-API-Key": auth_client.tenant.api_key}).json()

    assert me["id"] == me["credential"]["id"]
    assert (me["email"], me["name"], me["org_id"]) == (None, "First key", str(auth_client.tenant.org_id))
    assert (me["realm"], me["roles"], me["credential"]["type"]) == ("tenant", [], "api_key")
    assert (me["credential"]["scopes"], me["credential"]["expires_at"]) == (sorted(Scope), None)


def test_a_platform_role_gives_the_platform_realm(auth_client: AuthClient, lab: Installation) -> None:
    change_user(lab, auth_client.tenant, roles="owner reviewer")

    me = auth_client.me(auth_client.signed_in()["access_token"]).json()

    assert (me["realm"], me["roles"]) == ("platform", ["owner", "reviewer"])


def test_a_consumer_signs_in_and_has_only_consumer_scopes(auth_client: AuthClient, lab: Installation) -> None:
    """Whatever roles the row has: a consumer must not become the owner of their own tenant."""
    convert_to_consumer(lab, auth_client.tenant)

    me = auth_client.me(auth_client.signed_in()["access_token"]).json()

    assert (me["realm"], me["roles"], me["credential"]["scopes"]) == ("consumer", [], sorted(CONSUMER_SCOPES))


def test_a_replayed_login_returns_the_same_tokens_unstored_in_clear(auth_client: AuthClient, lab: Installation) -> None:
    """The stored response is sealed, and its record does not reveal which password it was for."""
    first, second = auth_client.login(**{"Idempotency-Key": "one"}), auth_client.login(**{"Idempotency-Key": "one"})

    assert first.content == second.content
    assert second.headers["Idempotent-Replayed"] == "true"
    with lab.storage.read() as connection:
        (row,) = connection.execute(select(StoredResponse.body, StoredResponse.headers))
    assert not [part for part in (*first.json().values(), "access_token") if str(part).encode() in row.body]
    assert row.headers.startswith(b"sealed ")


@pytest.mark.own_world
def test_the_same_request_of_another_person_is_not_replayed(auth_client: AuthClient, lab: Installation) -> None:
    """Two people of a tenant who use the same Idempotency-Key do not get each other's responses."""
    add_user(lab, auth_client.tenant, "ada@example.org", "a long password")
    owner, ada = auth_client.signed_in(), auth_client.signed_in(email="ada@example.org", password="a long password")
    key = {"Idempotency-Key": "bye"}

    first = auth_client.client.post("/v1/auth/logout", headers={**bearer_header(owner["access_token"]), **key})
    second = auth_client.client.post("/v1/auth/logout", headers={**bearer_header(ada["access_token"]), **key})

    assert (first.status_code, second.status_code) == (204, 422)


def test_a_key_cannot_sign_out_or_change_a_password(auth_client: AuthClient) -> None:
    key = {"X-API-Key": auth_client.tenant.api_key}
    body = {"current_password": "x", "new_password": "y"}

    assert auth_client.client.post("/v1/auth/logout", headers=key).status_code == 403
    assert auth_client.client.post("/v1/me/password", json=body, headers=key).status_code == 403


@pytest.mark.own_world
def test_a_new_password_ends_all_other_sessions_with_an_event(auth_client: AuthClient, lab: Installation) -> None:
    here, there = auth_client.signed_in(), auth_client.signed_in()

    assert auth_client.change_password(here, auth_client.tenant.owner_password, "another long one").status_code == 204

    assert auth_client.me(here["access_token"]).status_code == 200
    assert auth_client.me(there["access_token"]).status_code == 401
    assert read_refusal(auth_client.refresh(there["refresh_token"])) == INVALID_CREDENTIALS
    assert read_refusal(auth_client.login()) == FAILED_SIGN_IN
    assert auth_client.login(password="another long one").status_code == 200
    caller = lab.orgs.service_caller(auth_client.tenant.tenant_id)
    ((kind, data),) = read_events(lab, caller)
    assert (kind, data["sessions_ended"], data["changed_at"]) == (
        "security.password_changed",
        1,
        "2026-11-21T12:00:00.000Z",
    )


@pytest.mark.own_world
@pytest.mark.parametrize("new", ["eleven char", "x" * 1025, "é" * 600, "OWNER@example-registry.example "])
def test_a_weak_new_password_is_rejected(auth_client: AuthClient, new: str) -> None:
    answer = auth_client.change_password(auth_client.signed_in(), auth_client.tenant.owner_password, new)

    assert (answer.status_code, answer.json()["details"]["fields"][0]["field"]) == (400, "/new_password")
    assert auth_client.login().status_code == 200


def test_a_new_password_needs_the_current_one_and_failures_count(auth_client: AuthClient, lab: Installation) -> None:
    """A stolen access token does not allow password guessing."""
    tokens = auth_client.signed_in()

    guessed(lab, auth_client.tenant.owner_email, login_throttle.MAX_ATTEMPTS_PER_ACCOUNT - 1)

    answers = [auth_client.change_password(tokens, WRONG, "another long one") for _ in range(2)]

    assert [answer.status_code for answer in answers] == [403, 429]
    assert answers[0].json()["details"]["reason"] == "wrong_password"
