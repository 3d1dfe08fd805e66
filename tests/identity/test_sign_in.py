"""Sign-in: one success, the same error for every failure, and no disclosure of existing accounts."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from argon2 import PasswordHasher
from sign_in_story import REFUSED, Door, add_person, bearer, change_person, make_consumer, refusal
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
from support.outbox import read_events

pytestmark = pytest.mark.one_world

WRONG = "not the password"


def lines(lab: Installation, action: str) -> list[dict[str, Any]]:
    """Returns the audit entries of one action, of all tenants."""
    wanted = select(AuditEvent.record).where(AuditEvent.action == action)
    with lab.storage.read() as connection:
        return [json.loads(record) for record in connection.execute(wanted).scalars()]


def test_a_login_returns_tokens_for_an_hour_and_for_thirty_days(door: Door) -> None:
    tokens = door.signed_in()

    assert {name: tokens[name] for name in ("token_type", "expires_in", "refresh_expires_in")} == {
        "token_type": "Bearer",
        "expires_in": 3600,
        "refresh_expires_in": 2_592_000,
    }
    assert door.me(tokens["access_token"]).json()["email"] == door.tenant.owner_email


def test_an_address_is_matched_ignoring_case_and_surrounding_blanks(door: Door) -> None:
    assert door.login(email=f"  {door.tenant.owner_email.upper()} ").status_code == 200


def test_a_wrong_password_and_an_unknown_address_give_the_same_error(door: Door) -> None:
    wrong, unknown = door.login(password=WRONG), door.login(email="nobody@example.org")

    assert (wrong.status_code, unknown.status_code) == (401, 401)
    assert refusal(wrong) == refusal(unknown) == REFUSED


@pytest.mark.parametrize("stored", ["", "$argon2id$", "x" * 97])
def test_an_address_with_no_usable_hash_is_refused(door: Door, lab: Installation, stored: str) -> None:
    change_person(lab, door.tenant, password_hash=stored)

    assert refusal(door.login()) == REFUSED


@pytest.mark.parametrize("status", ["INVITED", "REMOVED"])
def test_an_invited_or_removed_person_cannot_sign_in(door: Door, lab: Installation, status: str) -> None:
    change_person(lab, door.tenant, status=status)

    assert refusal(door.login()) == REFUSED


def test_an_unknown_address_costs_as_much_as_a_wrong_password(
    door: Door, lab: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in argon2id verifications, each with the parameters of a stored hash."""
    verified: list[str] = []
    real = PasswordHasher.verify

    def counting(hasher: PasswordHasher, stored: str, password: str) -> bool:
        verified.append(stored.rsplit("$", 2)[0])
        return real(hasher, stored, password)

    monkeypatch.setattr(PasswordHasher, "verify", counting)
    change_person(lab, door.tenant, status="INVITED")

    door.login(email="nobody@example.org")
    door.login(password=WRONG)
    door.login()

    assert verified == [passwords.hash_password("any password").rsplit("$", 2)[0]] * 3


def test_a_hash_of_weaker_parameters_is_replaced_by_the_next_login(door: Door, lab: Installation) -> None:
    weak = PasswordHasher(time_cost=1, memory_cost=64).hash(door.tenant.owner_password)
    change_person(lab, door.tenant, password_hash=weak)

    door.signed_in()

    with lab.storage.read() as connection:
        users = org_store.users
        stored = connection.scalar(select(users.c.password_hash).where(users.c.email == door.tenant.owner_email))
    assert not passwords.is_outdated(stored)
    assert door.login().status_code == 200


def guessed(lab: Installation, email: str, times: int) -> None:
    """Records this many failed attempts without the time that each of them takes."""
    for number in range(times):
        login_throttle.count_attempt(
            lab.counters, LoginAttempt(hash_address(email), f"192.0.2.{number}"), now=lab.clock.now()
        )


@pytest.mark.own_world
def test_every_login_is_audited_without_unknown_addresses(door: Door, lab: Installation) -> None:
    """An unknown client's attempts are in the trail of the account's tenant, otherwise in the operator's."""
    door.signed_in()
    door.login(password=WRONG)
    door.login(email="nobody@example.org")

    made, wrong, unknown = lines(lab, "session.create")
    assert (made["outcome"], made["actor_type"], made["resource_type"]) == ("SUCCESS", "USER", "session")
    assert (wrong["outcome"], wrong["resource_id"]) == ("FAILURE", made["actor_id"])
    assert wrong["tenant_id"] == made["tenant_id"] == str(door.tenant.tenant_id)
    assert unknown["tenant_id"] == str(lab.operator.tenant_id)  # type: ignore[attr-defined]
    assert unknown["resource_id"].startswith("sha256:")
    assert "nobody" not in json.dumps(unknown)
    assert lines(lab, "request.denied") == []


def test_after_ten_failures_even_the_right_password_must_wait(door: Door, lab: Installation, clock: FixedClock) -> None:
    """The error states the wait, an unknown address gets the same error, and after the wait sign-in works again."""
    for email in (door.tenant.owner_email, "nobody@example.org"):
        guessed(lab, email, login_throttle.MAX_ATTEMPTS_PER_ACCOUNT - 1)
        assert door.login(email=email, password=WRONG).status_code == 401
    clock.advance(timedelta(seconds=60))
    right, unknown = door.login(), door.login(email="nobody@example.org")

    assert (right.status_code, right.headers["Retry-After"]) == (429, "840")
    assert right.json()["code"] == "RATE_LIMIT_EXCEEDED"
    details = {name: value for name, value in right.json()["details"].items() if name != "request_id"}
    assert details == {"limit": 10, "window_seconds": 900, "retry_after_seconds": 840}
    assert {name: value for name, value in unknown.json()["details"].items() if name != "request_id"} == details
    clock.advance(timedelta(seconds=840))
    assert door.login().status_code == 200


def test_a_success_resets_the_failures_of_its_account(door: Door, lab: Installation) -> None:
    for _ in range(2):
        guessed(lab, door.tenant.owner_email, login_throttle.MAX_ATTEMPTS_PER_ACCOUNT - 1)
        assert door.login().status_code == 200


def test_many_accounts_from_one_address_are_counted_together(door: Door, lab: Installation, clock: FixedClock) -> None:
    """A client that tries one password on many accounts is throttled too; a success uncounts only its own attempt."""
    for number in range(login_throttle.MAX_ATTEMPTS_PER_PEER - 1):
        login_throttle.count_attempt(lab.counters, LoginAttempt(f"{number:064x}", "127.0.0.1"), now=clock.now())

    assert door.login().status_code == 200
    assert door.login(email="one-more@example.org").status_code == 401
    assert door.login().status_code == 429


def test_a_throttled_attempt_hashes_no_password(door: Door, lab: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    guessed(lab, door.tenant.owner_email, login_throttle.MAX_ATTEMPTS_PER_ACCOUNT)

    def unexpected(*_: object) -> bool:
        raise AssertionError("a password was verified")

    monkeypatch.setattr(PasswordHasher, "verify", unexpected)

    assert door.login().status_code == 429


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
def test_a_malformed_login_is_rejected_without_echoing_its_values(door: Door, body: dict[str, Any]) -> None:
    answer = door.client.post("/v1/auth/login", json=body)

    assert (answer.status_code, answer.json()["code"]) == (400, "VALIDATION_ERROR")
    assert "xxx" not in answer.text


@pytest.mark.own_world
def test_me_describes_a_person(door: Door, lab: Installation) -> None:
    person = add_person(lab, door.tenant, "ada@example.org", "a long password", roles="analyst member")

    tokens = door.signed_in(email="ada@example.org", password="a long password")
    me = door.me(tokens["access_token"]).json()

    credential = me.pop("credential")
    assert me == {
        "id": str(person.id),
        "tenant_id": str(door.tenant.tenant_id),
        "tenant_name": "Example Registry",
        "org_id": str(door.tenant.org_id),
        "email": "ada@example.org",
        "name": "Ada Lovelace",
        "realm": "tenant",
        "roles": ["analyst", "member"],
        "plan": "ENTERPRISE",
    }
    assert (credential["type"], credential["expires_at"]) == ("jwt", "2026-11-21T13:00:00.000Z")
    assert credential["scopes"] == [
        "attestations:mint",
        "attestations:read",
        "audit:read",
        "issuers:read",
        "users:read",
    ]


def test_me_describes_an_api_key(door: Door) -> None:
    me = door.client.get("/v1/me", headers={"X-API-Key": door.tenant.api_key}).json()

    assert me["id"] == me["credential"]["id"]
    assert (me["email"], me["name"], me["org_id"]) == (None, "First key", str(door.tenant.org_id))
    assert (me["realm"], me["roles"], me["credential"]["type"]) == ("tenant", [], "api_key")
    assert (me["credential"]["scopes"], me["credential"]["expires_at"]) == (sorted(Scope), None)


def test_a_platform_role_gives_the_platform_realm(door: Door, lab: Installation) -> None:
    change_person(lab, door.tenant, roles="owner reviewer")

    me = door.me(door.signed_in()["access_token"]).json()

    assert (me["realm"], me["roles"]) == ("platform", ["owner", "reviewer"])


def test_a_consumer_signs_in_and_has_only_consumer_scopes(door: Door, lab: Installation) -> None:
    """Whatever roles the row has: a consumer must not become the owner of their own tenant."""
    make_consumer(lab, door.tenant)

    me = door.me(door.signed_in()["access_token"]).json()

    assert (me["realm"], me["roles"], me["credential"]["scopes"]) == ("consumer", [], sorted(CONSUMER_SCOPES))


def test_a_replayed_login_returns_the_same_tokens_unstored_in_clear(door: Door, lab: Installation) -> None:
    """The stored response is sealed, and its record does not reveal which password it was for."""
    first, second = door.login(**{"Idempotency-Key": "one"}), door.login(**{"Idempotency-Key": "one"})

    assert first.content == second.content
    assert second.headers["Idempotent-Replayed"] == "true"
    with lab.storage.read() as connection:
        (row,) = connection.execute(select(StoredResponse.body, StoredResponse.headers))
    assert not [part for part in (*first.json().values(), "access_token") if str(part).encode() in row.body]
    assert row.headers.startswith(b"sealed ")


@pytest.mark.own_world
def test_the_same_request_of_another_person_is_not_replayed(door: Door, lab: Installation) -> None:
    """Two people of a tenant who use the same Idempotency-Key do not get each other's responses."""
    add_person(lab, door.tenant, "ada@example.org", "a long password")
    owner, ada = door.signed_in(), door.signed_in(email="ada@example.org", password="a long password")
    key = {"Idempotency-Key": "bye"}

    first = door.client.post("/v1/auth/logout", headers={**bearer(owner["access_token"]), **key})
    second = door.client.post("/v1/auth/logout", headers={**bearer(ada["access_token"]), **key})

    assert (first.status_code, second.status_code) == (204, 422)


def test_a_key_cannot_sign_out_or_change_a_password(door: Door) -> None:
    key = {"X-API-Key": door.tenant.api_key}
    body = {"current_password": "x", "new_password": "y"}

    assert door.client.post("/v1/auth/logout", headers=key).status_code == 403
    assert door.client.post("/v1/me/password", json=body, headers=key).status_code == 403


@pytest.mark.own_world
def test_a_new_password_ends_all_other_sessions_with_an_event(door: Door, lab: Installation) -> None:
    here, there = door.signed_in(), door.signed_in()

    assert door.change_password(here, door.tenant.owner_password, "another long one").status_code == 204

    assert door.me(here["access_token"]).status_code == 200
    assert door.me(there["access_token"]).status_code == 401
    assert refusal(door.refresh(there["refresh_token"])) == REFUSED
    assert refusal(door.login()) == REFUSED
    assert door.login(password="another long one").status_code == 200
    caller = lab.orgs.service_caller(door.tenant.tenant_id)
    ((kind, data),) = read_events(lab, caller)
    assert (kind, data["sessions_ended"], data["changed_at"]) == (
        "security.password_changed",
        1,
        "2026-11-21T12:00:00.000Z",
    )


@pytest.mark.own_world
@pytest.mark.parametrize("new", ["eleven char", "x" * 1025, "é" * 600, "OWNER@example-registry.example "])
def test_a_weak_new_password_is_rejected(door: Door, new: str) -> None:
    answer = door.change_password(door.signed_in(), door.tenant.owner_password, new)

    assert (answer.status_code, answer.json()["details"]["fields"][0]["field"]) == (400, "/new_password")
    assert door.login().status_code == 200


def test_a_new_password_needs_the_current_one_and_failures_count(door: Door, lab: Installation) -> None:
    """A stolen access token does not allow password guessing."""
    tokens = door.signed_in()

    guessed(lab, door.tenant.owner_email, login_throttle.MAX_ATTEMPTS_PER_ACCOUNT - 1)

    answers = [door.change_password(tokens, WRONG, "another long one") for _ in range(2)]

    assert [answer.status_code for answer in answers] == [403, 429]
    assert answers[0].json()["details"]["reason"] == "wrong_password"
