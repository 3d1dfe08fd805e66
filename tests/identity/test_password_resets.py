"""Forgotten passwords, for people of every realm: a mailed link that works once, within an hour."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.orgs.rules import Role
from attestlab.orgs.shapes import UserIn
from support.consumers import ConsumerPortal, read_reason
from support.identity import AuthClient
from support.outbox import read_events_of_type

NEW = "a wholly different password"
CONSUMER = "ada@people.example"


@pytest.fixture
def portal(auth_client: AuthClient, lab: Installation) -> ConsumerPortal:
    return ConsumerPortal(lab, str(auth_client.client.base_url), auth_client.client)


def forget(portal: ConsumerPortal, address: str) -> str:
    """Ask for a mail; return its token."""
    answer = portal.anyone.post("/v1/auth/password/forgot", json={"email": address})
    assert (answer.status_code, answer.json()) == (202, {})
    return portal.token_of(address)


def reset(portal: ConsumerPortal, token: str, password: str = NEW) -> httpx.Response:
    return portal.anyone.post("/v1/auth/password/reset", json={"token": token, "password": password})


@pytest.mark.both_engines
def test_a_reset_replaces_the_password_and_ends_all_sessions(portal: ConsumerPortal, auth_client: AuthClient) -> None:
    portal.lab.orgs.add_consumer(CONSUMER, auth_client.tenant.owner_password, name="Ada")
    for number, address in enumerate((auth_client.tenant.owner_email, CONSUMER), 1):
        tokens = auth_client.signed_in(email=address)

        answer = reset(portal, forget(portal, address))

        assert (answer.status_code, answer.content) == (204, b"")
        assert auth_client.me(tokens["access_token"]).status_code == 401
        assert auth_client.refresh(tokens["refresh_token"]).status_code == 401
        assert auth_client.login(email=address).status_code == 401
        assert auth_client.login(email=address, password=NEW).status_code == 200
        events = read_events_of_type(portal.lab, "security.password_changed")
        assert [event["sessions_ended"] for event in events] == [1] * number


def test_a_token_works_once_within_an_hour(portal: ConsumerPortal, auth_client: AuthClient, clock: FixedClock) -> None:
    address = auth_client.tenant.owner_email
    used, other, late = (forget(portal, address) for _ in range(3))
    clock.advance(timedelta(minutes=30))

    assert reset(portal, used).status_code == 204
    assert [read_reason(reset(portal, token)) for token in (used, other)] == [(400, "token_invalid")] * 2
    clock.advance(timedelta(minutes=30))
    assert read_reason(reset(portal, late)) == (400, "token_invalid")
    assert auth_client.login(password=NEW).status_code == 200


def test_a_token_ends_with_its_hour(portal: ConsumerPortal, auth_client: AuthClient, clock: FixedClock) -> None:
    token = forget(portal, auth_client.tenant.owner_email)
    clock.advance(timedelta(hours=1))

    late = reset(portal, token)

    assert (read_reason(late), late.json()["details"]["fields"][0]["field"]) == ((400, "token_invalid"), "/token")
    assert auth_client.login().status_code == 200


@pytest.mark.both_engines
def test_one_of_concurrent_resets_has_the_token(portal: ConsumerPortal, auth_client: AuthClient) -> None:
    token = forget(portal, auth_client.tenant.owner_email)

    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda number: reset(portal, token, f"{NEW} {number}"), range(6)))

    assert sorted(answer.status_code for answer in answers) == [204] + [400] * 5


def test_a_refused_password_leaves_the_token_open(portal: ConsumerPortal, auth_client: AuthClient) -> None:
    address = auth_client.tenant.owner_email
    token = forget(portal, address)

    refused = [reset(portal, token, password) for password in ("short", address, "x" * 1025)]
    missing = [
        portal.anyone.post("/v1/auth/password/reset", json=body) for body in ({"token": token}, {"password": NEW})
    ]

    assert [answer.status_code for answer in refused + missing] == [400] * 5
    assert [answer.json()["details"]["fields"][0]["field"] for answer in refused] == ["/password"] * 3
    assert reset(portal, token).status_code == 204


def test_an_address_without_an_account_is_answered_alike_and_gets_a_mail(
    portal: ConsumerPortal, auth_client: AuthClient
) -> None:
    caller = portal.lab.orgs.service_caller(auth_client.tenant.tenant_id)
    portal.lab.people.invite(UserIn(email="invited@people.example", role=Role.MEMBER), caller=caller)

    for address in ("unknown@people.example", "invited@people.example"):
        answer = portal.anyone.post("/v1/auth/password/forgot", json={"email": address.upper()})
        assert (answer.status_code, answer.json()) == (202, {})
        assert "no account signs in" in portal.letters(address)[-1]
        assert "token=" not in portal.letters(address)[-1]


def test_a_removed_person_s_token_is_void(portal: ConsumerPortal, auth_client: AuthClient) -> None:
    portal.lab.orgs.add_consumer(CONSUMER, auth_client.tenant.owner_password, name="Ada")
    token = forget(portal, CONSUMER)
    tokens = auth_client.signed_in(email=CONSUMER)
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    body = {"password": auth_client.tenant.owner_password}
    assert portal.anyone.post("/v1/consumer/me/delete", json=body, headers=headers).status_code == 204

    assert read_reason(reset(portal, token)) == (400, "token_invalid")


def test_a_reset_forgives_failed_sign_ins(portal: ConsumerPortal, auth_client: AuthClient) -> None:
    statuses = {auth_client.login(password="wrong password").status_code for _ in range(11)}

    assert reset(portal, forget(portal, auth_client.tenant.owner_email)).status_code == 204

    assert statuses == {401, 429}
    assert auth_client.login(password=NEW).status_code == 200


@pytest.mark.parametrize("email", [None, 1, "", "ada", "a@b@c.example", "x" * 255])
def test_an_address_is_validated(portal: ConsumerPortal, email: object) -> None:
    for path in ("/v1/auth/password/forgot", "/v1/consumer/verify-email/resend"):
        answer = portal.anyone.post(path, json={"email": email})

        assert (answer.status_code, answer.json()["details"]["fields"][0]["field"]) == (400, "/email")
