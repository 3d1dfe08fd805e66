"""Sessions: each refresh token is used once, and a session that ends is invalid immediately and everywhere."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from attestlab.core.clock import FixedClock
from attestlab.identity import rules, store
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.orgs.service import TenantCreated
from attestlab.settings import Settings
from support.identity import INVALID_CREDENTIALS, AuthClient, bearer_header, change_user, read_refusal
from support.in_process_server import make_client, serve_in_thread
from support.outbox import read_events
from support.server_process import ServerProcess

TOGETHER = 8


def ended_because(lab: Installation) -> list[str]:
    """Lists the reason why each session ended, or "open"."""
    with lab.storage.read() as connection:
        found = connection.execute(select(store.sessions.c.ended_because)).scalars()
        return sorted(because or "open" for because in found)


def suspicions(lab: Installation, tenant: TenantCreated) -> list[dict[str, Any]]:
    events = read_events(lab, lab.orgs.service_caller(tenant.tenant_id))
    return [data for kind, data in events if kind == "security.suspicious_activity"]


@pytest.mark.both_engines
def test_a_refresh_returns_the_next_token_of_the_session(
    auth_client: AuthClient, lab: Installation, clock: FixedClock
) -> None:
    first = auth_client.signed_in()
    clock.advance(timedelta(minutes=50))

    second = auth_client.refresh(first["refresh_token"]).json()
    clock.advance(timedelta(minutes=50))

    assert read_refusal(auth_client.me(first["access_token"])) == INVALID_CREDENTIALS
    assert auth_client.me(second["access_token"]).status_code == 200
    assert second["refresh_token"] != first["refresh_token"]
    assert ended_because(lab) == ["open"]


def test_a_reused_refresh_token_ends_its_session(auth_client: AuthClient, lab: Installation) -> None:
    """Over HTTP the second use is a plain error; its change is committed anyway, with one event."""
    first, other = auth_client.signed_in(), auth_client.signed_in()
    second = auth_client.refresh(first["refresh_token"]).json()

    again = [auth_client.refresh(first["refresh_token"]) for _ in range(2)]

    assert [read_refusal(answer) for answer in again] == [INVALID_CREDENTIALS, INVALID_CREDENTIALS]
    assert ended_because(lab) == ["open", "reuse"]
    for answer in (auth_client.refresh(second["refresh_token"]), auth_client.me(second["access_token"])):
        assert read_refusal(answer) == INVALID_CREDENTIALS
    assert auth_client.me(other["access_token"]).status_code == 200
    (event,) = suspicions(lab, auth_client.tenant)
    assert (event["reason"], event["detected_at"]) == ("refresh_token_reused", "2026-11-21T12:00:00.000Z")
    assert set(event) == {"user_id", "session_id", "reason", "detected_at"}


@pytest.mark.both_engines
def test_concurrent_use_of_a_refresh_token_ends_the_session(auth_client: AuthClient, lab: Installation) -> None:
    """The first request gets the tokens; the reuse is detected in any order."""
    token = auth_client.signed_in()["refresh_token"]

    with ThreadPoolExecutor(TOGETHER) as pool:
        answers = list(pool.map(lambda _: auth_client.refresh(token).status_code, range(TOGETHER)))

    assert sorted(answers) == [200] + [401] * (TOGETHER - 1)
    assert ended_because(lab) == ["reuse"]
    assert len(suspicions(lab, auth_client.tenant)) == 1


def test_a_refresh_is_replayed_under_its_idempotency_key(auth_client: AuthClient, lab: Installation) -> None:
    token = auth_client.signed_in()["refresh_token"]

    first, second = (auth_client.refresh(token, **{"Idempotency-Key": "lost"}) for _ in range(2))

    assert (first.status_code, first.content) == (200, second.content)
    assert ended_because(lab) == ["open"]


def test_a_refresh_token_ends_thirty_days_after_it_was_issued(auth_client: AuthClient, clock: FixedClock) -> None:
    kept, late = auth_client.signed_in(), auth_client.signed_in()
    clock.advance(rules.REFRESH_TOKEN_TTL - timedelta(milliseconds=1))
    kept = auth_client.refresh(kept["refresh_token"]).json()
    clock.advance(timedelta(milliseconds=1))

    assert read_refusal(auth_client.refresh(late["refresh_token"])) == INVALID_CREDENTIALS
    assert auth_client.refresh(kept["refresh_token"]).status_code == 200


def test_every_invalid_refresh_token_gets_the_same_error(auth_client: AuthClient) -> None:
    """Including the access token, the API key, and our token in another spelling."""
    tokens = auth_client.signed_in()
    ours = tokens["refresh_token"]
    last = ours[:-1] + chr(ord(ours[-1]) + 1)
    wrong = ["x", auth_client.tenant.api_key, ours[:-1], f"{ours}=", f" {ours}", ours.upper(), last, "alr_" + "A" * 43]

    assert {auth_client.refresh(token).status_code for token in wrong} == {401}
    assert [read_refusal(auth_client.refresh(token)) for token in wrong] == [INVALID_CREDENTIALS] * len(wrong)
    assert auth_client.refresh(tokens["access_token"]).status_code == 400  # longer than any of ours
    assert auth_client.refresh(ours).status_code == 200


def test_a_logout_takes_effect_with_the_next_request(auth_client: AuthClient, lab: Installation) -> None:
    here, there = auth_client.signed_in(), auth_client.signed_in()

    assert auth_client.logout(here).status_code == 204

    assert read_refusal(auth_client.me(here["access_token"])) == INVALID_CREDENTIALS
    assert read_refusal(auth_client.refresh(here["refresh_token"])) == INVALID_CREDENTIALS
    assert read_refusal(auth_client.logout(here)) == INVALID_CREDENTIALS
    assert auth_client.me(there["access_token"]).status_code == 200
    assert ended_because(lab) == ["logout", "open"]


def test_a_logout_can_end_another_own_session_only(auth_client: AuthClient, lab: Installation) -> None:
    other = lab.orgs.create_tenant("Another", plan=Plan.FREE)
    here, there = auth_client.signed_in(), auth_client.signed_in()
    strangers = auth_client.signed_in(email=other.owner_email, password=other.owner_password)

    assert auth_client.logout(auth_client.signed_in(), {"refresh_token": strangers["refresh_token"]}).status_code == 204
    assert auth_client.logout(auth_client.signed_in(), {"refresh_token": "nonsense"}).status_code == 204
    assert auth_client.logout(here, {"refresh_token": there["refresh_token"]}).status_code == 204

    assert auth_client.me(strangers["access_token"]).status_code == 200
    assert read_refusal(auth_client.me(there["access_token"])) == INVALID_CREDENTIALS


def test_permissions_come_from_the_database_not_the_token(auth_client: AuthClient, lab: Installation) -> None:
    """A removed role is gone with the next request; the token itself stays valid."""
    token = auth_client.signed_in()["access_token"]
    assert auth_client.client.get("/v1/audit/events", headers=bearer_header(token)).status_code == 200

    change_user(lab, auth_client.tenant, roles="member")

    assert auth_client.client.get("/v1/audit/events", headers=bearer_header(token)).status_code == 403
    assert auth_client.me(token).json()["roles"] == ["member"]


def test_a_removed_person_is_signed_out_with_the_next_request(auth_client: AuthClient, lab: Installation) -> None:
    tokens = auth_client.signed_in()
    assert auth_client.me(tokens["access_token"]).status_code == 200

    change_user(lab, auth_client.tenant, status="REMOVED")

    assert read_refusal(auth_client.me(tokens["access_token"])) == INVALID_CREDENTIALS
    assert read_refusal(auth_client.refresh(tokens["refresh_token"])) == INVALID_CREDENTIALS


@pytest.mark.both_engines
@pytest.mark.parametrize("ending", ["logout", "reuse", "password"])
def test_a_session_ends_in_all_workers(
    auth_client: AuthClient, lab: Installation, clock: FixedClock, ending: str
) -> None:
    """The second worker has verified this very token before, and gets no notification."""
    settings = Settings(data=lab.settings.data, database_url=lab.settings.database_url)
    other_lab = Installation.open(settings, clock=clock)
    with serve_in_thread(other_lab) as url, make_client(url) as client:
        other = AuthClient(client, auth_client.tenant)
        tokens, elsewhere = auth_client.signed_in(), other.signed_in()
        assert [at.me(tokens["access_token"]).status_code for at in (auth_client, other, other)] == [200, 200, 200]

        if ending == "logout":
            auth_client.logout(tokens)
        elif ending == "reuse":
            auth_client.refresh(tokens["refresh_token"])
            other.refresh(tokens["refresh_token"])
        else:
            auth_client.change_password(elsewhere, auth_client.tenant.owner_password, "another long one")

        assert [read_refusal(at.me(tokens["access_token"])) for at in (other, auth_client)] == [
            INVALID_CREDENTIALS,
            INVALID_CREDENTIALS,
        ]
        assert other.me(elsewhere["access_token"]).status_code == 200
    other_lab.close()


def test_two_workers_sign_with_the_same_key(auth_client: AuthClient, lab: Installation, clock: FixedClock) -> None:
    """A worker that was already running finds the key of the first login, to sign and to verify."""
    settings = Settings(data=lab.settings.data, database_url=lab.settings.database_url)
    other_lab = Installation.open(settings, clock=clock)
    with serve_in_thread(other_lab) as url, make_client(url) as client:
        other = AuthClient(client, auth_client.tenant)
        assert auth_client.client.get("/.well-known/jwks.json").json() == {"keys": []}

        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(lambda at: at.signed_in(), (auth_client, other))

        assert auth_client.me(second["access_token"]).status_code == other.me(first["access_token"]).status_code == 200
        assert len(other.client.get("/.well-known/jwks.json").json()["keys"]) == 1
    other_lab.close()


@pytest.mark.both_engines
def test_a_session_survives_a_server_restart(server: ServerProcess) -> None:
    """The real server, stopped and started: it unseals the signing key again, and its log contains no secret."""
    made = TenantCreated(
        **{name: server.made[name] for name in ("tenant_id", "org_id", "owner_email", "owner_password", "api_key")}  # type: ignore[arg-type]
    )
    with make_client(server.url) as client:
        tokens = AuthClient(client, made).signed_in()
    server.stop()
    server.start()

    with make_client(server.url) as client:
        auth_client = AuthClient(client, made)
        assert auth_client.me(tokens["access_token"]).json()["realm"] == "platform"
        assert auth_client.refresh(tokens["refresh_token"]).status_code == 200
        assert len(client.get("/.well-known/jwks.json").json()["keys"]) == 1
    written = Path(server.data / "server.log").read_text()
    assert [secret for secret in tokens.values() if str(secret) in written and len(str(secret)) > 20] == []
