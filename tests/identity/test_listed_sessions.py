"""Sessions are listed with their last use and ended: one's own by each person, those of others by owners and admins."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time
from attestlab.core.errors import AuthInvalid
from attestlab.identity import rules
from attestlab.installation import Installation
from attestlab.orgs import credential_uses
from attestlab.orgs.credential_uses import CredentialUses
from attestlab.orgs.rules import Caller, Plan, Scope
from attestlab.server.app import all_routes
from attestlab.server.authentication import build_authenticator
from attestlab.web.request import KEPT_TOKEN, UNATTENDED, Credential, Request
from support.in_process_server import make_client, serve_in_thread
from support.orgs import TenantClients, read_audit_trail

SESSIONS = "/v1/auth/sessions"


@pytest.fixture
def tenant_clients(lab: Installation) -> Iterator[TenantClients]:
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url:
        yield TenantClients(lab, url, tenant)


def read_sessions(client: httpx.Client, **query: Any) -> list[dict[str, Any]]:
    answer = client.get(SESSIONS, params=query)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def session_of(client: httpx.Client) -> str:
    session: str = client.get("/v1/me").json()["credential"]["id"]
    return session


def sign_in_later(tenant_clients: TenantClients, clock: FixedClock) -> httpx.Client:
    """The owner signs in again; sessions of one millisecond have no order."""
    clock.advance(timedelta(seconds=1))
    return tenant_clients.owner()


def write_uses(lab: Installation) -> None:
    """What the sweep of a server does."""
    with lab.storage.write() as tx:
        lab.credential_uses.write_due(tx)


@pytest.mark.both_engines
def test_a_person_lists_their_open_sessions_with_the_last_use_and_ends_another_one(
    tenant_clients: TenantClients, clock: FixedClock
) -> None:
    with tenant_clients.owner() as laptop, sign_in_later(tenant_clients, clock) as phone:
        on_laptop, on_phone = session_of(laptop), session_of(phone)
        clock.advance(timedelta(minutes=7))

        listed = read_sessions(laptop)
        ended = laptop.delete(f"{SESSIONS}/{on_phone}")
        again = laptop.delete(f"{SESSIONS}/{on_phone}")

        used_at = format_time(clock.now())
        assert [(each["id"], each["current"]) for each in listed] == [(on_phone, False), (on_laptop, True)]
        assert (listed[1]["last_used_at"], listed[0]["last_used_at"]) == (used_at, listed[0]["created_at"])
        assert (ended.status_code, again.status_code) == (204, 204)
        assert phone.get("/v1/me").status_code == 401
        assert [each["id"] for each in read_sessions(laptop)] == [on_laptop]
    assert read_audit_trail(tenant_clients.lab, on_phone) == [("session.create", "USER"), ("session.end", "USER")]


def test_owners_and_admins_see_and_end_the_sessions_of_others_but_only_owners_those_of_owners(
    tenant_clients: TenantClients,
) -> None:
    (_, admin), (member_id, member) = tenant_clients.person("admin"), tenant_clients.person("member")
    with tenant_clients.owner() as owner, admin, member:
        of_owner, of_member = session_of(owner), session_of(member)

        assert [each["id"] for each in read_sessions(admin, user_id=member_id)] == [of_member]
        assert {of_owner, of_member} <= {each["id"] for each in read_sessions(owner, everyone=True)}
        refused = [
            member.get(SESSIONS, params={"everyone": True}),
            member.get(SESSIONS, params={"user_id": str(uuid4())}),
            member.delete(f"{SESSIONS}/{of_owner}"),
        ]
        assert [each.json()["details"]["required_roles"] for each in refused] == [["admin", "owner"]] * 3
        assert admin.delete(f"{SESSIONS}/{of_owner}").json()["details"]["required_roles"] == ["owner"]
        assert admin.delete(f"{SESSIONS}/{of_member}").status_code == 204
        assert (member.get("/v1/me").status_code, owner.get("/v1/me").status_code) == (401, 200)


def test_a_list_is_of_everyone_or_of_one_person(tenant_clients: TenantClients) -> None:
    with tenant_clients.owner() as owner:
        refused = owner.get(SESSIONS, params={"everyone": True, "user_id": str(uuid4())})

        assert (refused.status_code, read_sessions(owner, user_id=str(uuid4()))) == (400, [])
    assert "Leave out `user_id` or `everyone`" in refused.text


def test_a_session_is_over_thirty_days_after_its_last_refresh(tenant_clients: TenantClients, clock: FixedClock) -> None:
    with tenant_clients.owner() as first:
        forgotten = session_of(first)
    clock.advance(rules.REFRESH_TOKEN_TTL)

    with tenant_clients.owner() as owner:
        assert forgotten not in [each["id"] for each in read_sessions(owner)]


@pytest.mark.both_engines
def test_people_and_keys_have_their_last_use_which_the_records_keep(
    tenant_clients: TenantClients, clock: FixedClock
) -> None:
    lab = tenant_clients.lab
    member_id, member = tenant_clients.person("member")
    with tenant_clients.owner() as owner, tenant_clients.with_key(Scope.ISSUERS_READ) as program, member:
        unused = owner.post("/v1/api-keys", json={"name": "Unused", "scopes": ["issuers:read"]}).json()
        program.get("/v1/issuers")
        member.get("/v1/me")
        write_uses(lab)
        used_at = format_time(clock.now())
        clock.advance(credential_uses.WRITE_INTERVAL)
        lab.credential_uses._noted.clear()  # as after a restart

        keys = {each["name"]: each["last_used_at"] for each in owner.get("/v1/api-keys").json()["items"]}
        read = owner.get(f"/v1/api-keys/{unused['id']}").json()
        person = owner.get(f"/v1/users/{member_id}").json()
        assert keys == {"First key": None, "A key": used_at, "Unused": None}
        assert (read["last_used_at"], person["last_used_at"]) == (None, used_at)
        assert person in owner.get("/v1/users").json()["items"]


def test_uses_are_written_once_a_minute(lab: Installation, clock: FixedClock) -> None:
    caller = lab.operator_caller()
    person = Caller(caller.tenant_id, "USER", str(uuid4()), frozenset(), "FREE", credential_id=str(uuid4()))
    written = []
    for _ in range(3):
        lab.credential_uses.note(person, at=clock.now())
        write_uses(lab)
        written.append(not lab.credential_uses._noted)
        clock.advance(credential_uses.WRITE_INTERVAL / 2)

    assert written == [True, False, True]


def test_the_memory_of_a_process_that_writes_nothing_is_bounded(
    lab: Installation, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credential_uses, "MAX_NOTED", 2)
    uses = CredentialUses(storage=lab.storage, clock=clock)
    caller = lab.operator_caller()
    ids = [uuid4() for _ in range(4)]
    for each in ids:
        key = Caller(caller.tenant_id, "API_KEY", str(each), frozenset(), "FREE", credential_id=str(each))
        uses.note(key, at=clock.now())

    assert [*uses.find_of_actors(ids)] == ids[:2]


def test_uses_whose_commit_failed_are_written_with_the_next_sweep(lab: Installation, clock: FixedClock) -> None:
    caller = lab.operator_caller()
    person = Caller(caller.tenant_id, "USER", str(uuid4()), frozenset(), "FREE", credential_id=str(uuid4()))
    session_id, used_at = UUID(person.credential_id), clock.now()
    lab.credential_uses.note(person, at=used_at)
    with pytest.raises(ZeroDivisionError), lab.storage.write() as tx:
        lab.credential_uses.write_due(tx)
        raise ZeroDivisionError

    assert lab.credential_uses.find_of_credentials([session_id]) == {session_id: used_at}
    write_uses(lab)
    again = CredentialUses(storage=lab.storage, clock=clock)
    assert again.find_of_credentials([session_id]) == {session_id: used_at}


@pytest.mark.parametrize(("is_from_service", "is_use"), [(True, False), (False, True)])
def test_what_a_page_asks_by_itself_is_no_use_and_no_other_client_hides_one(
    lab: Installation, clock: FixedClock, is_from_service: bool, is_use: bool
) -> None:
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url, TenantClients(lab, url, tenant).owner() as owner:
        session_id, token = UUID(session_of(owner)), owner.headers["Authorization"].removeprefix("Bearer ")
    before = lab.credential_uses.find_of_credentials([session_id])
    clock.advance(timedelta(minutes=7))
    request = Request.without_connection(all_routes()[0], peer="192.0.2.1", request_id="r", now=clock.now())
    request.headers, request.is_from_service = {UNATTENDED: "1"}, is_from_service
    request.credential = Credential("bearer", token)

    build_authenticator(lab)(request)

    after = lab.credential_uses.find_of_credentials([session_id])
    assert (after != before) is is_use


def keep_token(lab: Installation) -> tuple[str, UUID]:
    """A session that the dashboards keep: its refresh token, and its id."""
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    user = lab.identity.authenticate(tenant.owner_email, tenant.owner_password, peer="::1", now=lab.clock.now())
    tokens = lab.identity.sign_in(user)
    caller = lab.identity.sessions.authenticate(tokens.access_token, now=lab.clock.now())
    return tokens.refresh_token, UUID(caller.credential_id)


def test_a_kept_token_renews_again_and_again_until_it_is_used_up(lab: Installation, clock: FixedClock) -> None:
    sessions, (token, session_id) = lab.identity.sessions, keep_token(lab)
    for _ in range(2):
        clock.advance(timedelta(hours=1))
        renewed = sessions.renew_kept(token, is_reopened=False)
        assert renewed.refresh_token == token
        assert sessions.authenticate(renewed.access_token, now=clock.now()).credential_id == str(session_id)
    sessions.refresh(token)

    with pytest.raises(AuthInvalid):
        sessions.renew_kept(token, is_reopened=False)


def test_a_session_is_not_opened_again_after_hours_without_use(lab: Installation, clock: FixedClock) -> None:
    sessions, (token, _) = lab.identity.sessions, keep_token(lab)
    clock.advance(rules.MAX_BROWSER_IDLE)
    access_token = sessions.renew_kept(token, is_reopened=True).access_token
    sessions.authenticate(access_token, now=clock.now())
    clock.advance(rules.MAX_BROWSER_IDLE)
    sessions.renew_kept(token, is_reopened=True)
    clock.advance(timedelta(seconds=1))

    with pytest.raises(AuthInvalid):
        sessions.renew_kept(token, is_reopened=True)
    assert sessions.renew_kept(token, is_reopened=False).refresh_token == token, "a page of it is open"


def test_only_the_dashboards_keep_a_refresh_token(lab: Installation) -> None:
    token, _ = keep_token(lab)
    with serve_in_thread(lab) as url, make_client(url) as anyone:
        answers = [
            anyone.post("/v1/auth/refresh", json={"refresh_token": token}, headers={KEPT_TOKEN: "renew"})
            for _ in range(2)
        ]

    assert answers[0].json()["refresh_token"] != token
    assert [answer.status_code for answer in answers] == [200, 401]
