"""Sessions of agents: opened by a key, a person or an assertion; cut, refreshed, ended for the very next request."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import Caller, Plan, Scope
from support.agents import AGENTS, SESSIONS, KeyHolder, open_session, place_below, register_agent, sign_assertion
from support.in_process_server import make_client
from support.orgs import TenantClients, read_audit_trail

pytestmark = pytest.mark.one_world

OTHER_AGENT = "01936f0e-0000-7000-8000-000000000000"  # a name of a test, so it is the same in each process


def act(clients: TenantClients, opened: dict[str, Any]) -> httpx.Client:
    """A client that acts with the token of a session."""
    return make_client(clients.url, token=opened["token"])


@pytest.mark.both_engines
def test_a_session_is_opened_used_listed_and_terminated(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client, scopes=["issuers:read", "docs:*", "!docs:delete"])

    opened = open_session(client, agent, audience=["https://tools.example"], metadata={"job": 7}, ttl_minutes=5)

    session = opened["session"]
    assert (opened["token_type"], opened["expires_in"]) == ("Bearer", 300)
    assert (session["agent_id"], session["status"], session["on_behalf_of"]) == (agent["id"], "active", None)
    assert session["scopes"] == ["docs:*", "issuers:read", "!docs:delete"]
    assert (session["audience"], session["metadata"]) == (["https://tools.example"], {"job": 7})
    with act(clients, opened) as bot:
        me = bot.get("/v1/me").json()
        assert (me["id"], me["name"], me["realm"], me["roles"]) == (agent["id"], "Invoice reader", "tenant", [])
        assert me["credential"] == {
            **{"type": "agent_session", "id": session["id"], "scopes": ["issuers:read"]},
            "expires_at": session["expires_at"],
        }
        assert bot.get(f"{AGENTS}/{agent['id']}").json()["session_count"] == 1
        assert bot.get("/v1/issuers").status_code == 200
        assert bot.get("/v1/attestations").json()["details"]["required_scope"] == "attestations:read"
    with clients.lab.storage.write() as tx:
        clients.lab.agents.drop_overdue(tx)
    used = client.get(f"{SESSIONS}/{session['id']}").json()
    assert used["last_used_at"] is not None
    assert client.get(f"{AGENTS}/{agent['id']}").json()["last_active_at"] == used["last_used_at"]
    assert client.get(SESSIONS, params={"agent_id": agent["id"], "status": "active"}).json()["items"] == [used]

    ended = client.post(f"{SESSIONS}/{session['id']}/terminate", json={"reason": "done"}).json()
    assert ended == {**used, "status": "terminated"}
    with act(clients, opened) as bot:
        assert bot.get("/v1/me").status_code == 401
    assert client.post(f"{SESSIONS}/{session['id']}/terminate").json() == ended
    assert client.get(SESSIONS, params={"agent_id": agent["id"], "status": "active"}).json()["items"] == []
    assert list(fsck(clients.lab)) == []


def end_by(verb: str) -> Callable[[httpx.Client, dict[str, Any], dict[str, Any]], object]:
    """End an agent, or what it may do."""

    def end(client: httpx.Client, agent: dict[str, Any], opened: dict[str, Any]) -> object:
        if verb == "narrow":
            return client.patch(f"{AGENTS}/{agent['id']}", json={"scopes": ["docs:read"]})
        if verb == "compromise":
            return client.post(f"{AGENTS}/{agent['id']}/keys/{agent['key_id']}/compromise", json={"reason": "r"})
        if verb == "terminate":
            return client.post(f"{SESSIONS}/{opened['session']['id']}/terminate")
        return client.post(f"{AGENTS}/{agent['id']}/{verb}", json={"reason": "it probes"})

    return end


@pytest.mark.both_engines
@pytest.mark.parametrize("verb", ["suspend", "revoke", "kill", "narrow", "compromise", "terminate"])
def test_what_ends_an_agent_holds_for_the_next_request_in_a_second_process(
    client: httpx.Client, clients: TenantClients, verb: str
) -> None:
    agent = register_agent(client, scopes=["issuers:read", "docs:read"])
    opened = open_session(client, agent)
    second = Installation.open(clients.lab.settings, clock=clients.lab.clock)
    now = clients.lab.clock.now()
    try:
        before = second.agents.authentication.authenticate(opened["token"], now=now)
        assert before.scopes == {Scope.ISSUERS_READ}

        end_by(verb)(client, agent, opened)

        if verb == "narrow":
            assert second.agents.authentication.authenticate(opened["token"], now=now).scopes == set()
        else:
            with pytest.raises(Exception, match="not valid"):
                second.agents.authentication.authenticate(opened["token"], now=now)
    finally:
        second.close()
    with act(clients, opened) as bot:
        assert bot.get("/v1/issuers").status_code == (403 if verb == "narrow" else 401)
    refreshed = client.post(
        f"{SESSIONS}/{opened['session']['id']}/refresh", json={"refresh_token": opened["refresh_token"]}
    )
    assert refreshed.status_code == (200 if verb == "narrow" else 401)


def test_a_resumed_agent_does_not_get_its_sessions_back(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client)
    opened = open_session(client, agent)
    for verb in ("suspend", "resume"):
        client.post(f"{AGENTS}/{agent['id']}/{verb}", json={"reason": "a test"})

    with act(clients, opened) as bot:
        assert bot.get("/v1/me").status_code == 401


def test_a_narrower_parent_holds_for_the_next_request_of_its_child(
    client: httpx.Client, clients: TenantClients, keeper: Caller
) -> None:
    parent, child = (register_agent(client, scopes=["issuers:*", "risk:read"]) for _ in range(2))
    place_below(clients.lab, parent["id"], child["id"], scopes="issuers:read risk:read", caller=keeper)
    opened = open_session(client, child)
    assert opened["session"]["scopes"] == ["issuers:read", "risk:read"]
    with act(clients, opened) as bot:
        assert bot.get("/v1/issuers").status_code == 200

        client.patch(f"{AGENTS}/{parent['id']}", json={"scopes": ["risk:read"]})

        assert bot.get("/v1/issuers").status_code == 403
        assert bot.get("/v1/risk/signals").status_code == 200
        client.post(f"{AGENTS}/{parent['id']}/revoke", json={"reason": "a test"})
        assert bot.get("/v1/risk/signals").status_code == 403


def test_a_kill_ends_the_sessions_of_the_tree_and_counts_them(
    client: httpx.Client, clients: TenantClients, keeper: Caller
) -> None:
    parent, child = register_agent(client), register_agent(client)
    place_below(clients.lab, parent["id"], child["id"], scopes="", caller=keeper)
    opened = [open_session(client, agent) for agent in (parent, child, child)]

    planned = client.post(f"{AGENTS}/{parent['id']}/kill", json={"reason": "r", "dry_run": True}).json()
    killed = client.post(f"{AGENTS}/{parent['id']}/kill", json={"reason": "r"}).json()

    assert (planned["terminated_sessions"], killed["terminated_sessions"]) == (3, 3)
    for each in opened:
        with act(clients, each) as bot:
            assert bot.get("/v1/me").status_code == 401


@pytest.mark.both_engines
def test_a_refresh_replaces_both_tokens_and_a_second_use_ends_the_session(
    client: httpx.Client, clients: TenantClients, clock: FixedClock
) -> None:
    agent = register_agent(client)
    first = open_session(client, agent)
    path = f"{SESSIONS}/{first['session']['id']}/refresh"
    clock.advance(timedelta(minutes=10))
    with clients.anonymous() as anyone:
        second = anyone.post(path, json={"refresh_token": first["refresh_token"]}).json()
        assert second["session"]["expires_at"] > first["session"]["expires_at"]
        with act(clients, first) as old, act(clients, second) as new:
            assert (old.get("/v1/me").status_code, new.get("/v1/me").status_code) == (401, 200)

        reused = anyone.post(path, json={"refresh_token": first["refresh_token"]})
        after = anyone.post(path, json={"refresh_token": second["refresh_token"]})

    assert (reused.status_code, after.status_code) == (401, 401)
    with act(clients, second) as new:
        assert new.get("/v1/me").status_code == 401
    signals = client.get("/v1/risk/signals", params={"entity_id": agent["agent_id"]}).json()["items"]
    assert [(each["source"], each["signal_type"], each["entity_type"]) for each in signals] == [
        ("agent", "refresh_reuse", "user")
    ]
    assert read_audit_trail(clients.lab, first["session"]["id"])[-1] == ("agent_session.end", "AGENT")


def test_no_refresh_outlives_a_day(client: httpx.Client, clients: TenantClients, clock: FixedClock) -> None:
    opened = open_session(client, register_agent(client), ttl_minutes=1440)
    path = f"{SESSIONS}/{opened['session']['id']}/refresh"
    clock.advance(timedelta(hours=23, minutes=59))

    refreshed = client.post(path, json={"refresh_token": opened["refresh_token"]}).json()
    assert refreshed["expires_in"] == 60
    clock.advance(timedelta(minutes=1))

    assert client.post(path, json={"refresh_token": refreshed["refresh_token"]}).status_code == 401
    with act(clients, refreshed) as bot:
        assert bot.get("/v1/me").status_code == 401


def test_a_token_expires_by_the_clock_alone(client: httpx.Client, clients: TenantClients, clock: FixedClock) -> None:
    agent = register_agent(client, expires_at=(clock.now() + timedelta(minutes=30)).isoformat())
    short = open_session(client, agent, ttl_minutes=1)
    long = open_session(client, agent)
    with act(clients, short) as one, act(clients, long) as other:
        assert (one.get("/v1/me").status_code, other.get("/v1/me").status_code) == (200, 200)
        clock.advance(timedelta(minutes=1))
        assert (one.get("/v1/me").status_code, other.get("/v1/me").status_code) == (401, 200)
        clock.advance(timedelta(minutes=29))
        assert other.get("/v1/me").status_code == 401
    assert client.get(f"{SESSIONS}/{short['session']['id']}").json()["status"] == "expired"


@pytest.mark.both_engines
def test_an_agent_opens_a_session_by_its_own_assertion_once(client: httpx.Client, clients: TenantClients) -> None:
    holder = KeyHolder()
    agent = register_agent(client, scopes=["issuers:read"], **holder.prove(client))
    assertion = sign_assertion(holder, agent, clients.lab)

    with clients.anonymous() as anyone:
        opened = anyone.post(SESSIONS, json={"assertion": assertion, "scopes": ["issuers:read"]})
        again = anyone.post(SESSIONS, json={"assertion": assertion})

    assert (opened.status_code, again.status_code) == (201, 401)
    with act(clients, opened.json()) as bot:
        assert bot.get("/v1/issuers").status_code == 200
    session_id = opened.json()["session"]["id"]
    assert read_audit_trail(clients.lab, session_id)[0] == ("agent_session.open", "AGENT")


def test_fifty_replays_at_once_open_one_session(client: httpx.Client, clients: TenantClients) -> None:
    holder = KeyHolder()
    agent = register_agent(client, **holder.prove(client))
    assertion = sign_assertion(holder, agent, clients.lab)

    def send(_: int) -> int:
        with clients.anonymous() as anyone:
            return anyone.post(SESSIONS, json={"assertion": assertion}).status_code

    with ThreadPoolExecutor(10) as pool:
        statuses = list(pool.map(send, range(20)))

    assert sorted(set(statuses)) == [201, 401]
    assert statuses.count(201) == 1
    assert client.get(f"{AGENTS}/{agent['id']}").json()["session_count"] == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"header": {"typ": "JWT", "alg": "EdDSA"}},
        {"header": {"typ": "agent-statement+jwt", "alg": "EdDSA"}},
        {"header": {"typ": "agent-assertion+jwt", "alg": "none"}},
        {"header": {"typ": "agent-assertion+jwt", "alg": "EdDSA", "kid": "agk_other"}},
        {"header": {"typ": "agent-assertion+jwt", "alg": "EdDSA", "crit": ["b64"]}},
        {"aud": "https://elsewhere.example/v1/agent-sessions"},
        {"aud": None},
        {"iss": OTHER_AGENT},
        {"sub": OTHER_AGENT},
        {"exp": 0},
        {"exp": None},
        {"exp": "soon"},
        {"exp": True},
        {"exp": 4102444800},
        {"jti": None},
        {"jti": ""},
        {"jti": 7},
    ],
    ids=str,
)
def test_another_assertion_opens_nothing(client: httpx.Client, clients: TenantClients, wrong: dict[str, Any]) -> None:
    holder = KeyHolder()
    agent = register_agent(client, **holder.prove(client))
    assertion = sign_assertion(holder, agent, clients.lab, **wrong)

    with clients.anonymous() as anyone:
        refused = anyone.post(SESSIONS, json={"assertion": assertion})

    assert refused.status_code == 401, refused.text
    assert client.get(f"{AGENTS}/{agent['id']}").json()["session_count"] == 0


def test_a_foreign_key_a_statement_and_junk_open_nothing(client: httpx.Client, clients: TenantClients) -> None:
    holder = KeyHolder()
    agent, managed = register_agent(client, **holder.prove(client)), register_agent(client)
    claims = {"iss": managed["id"], "sub": managed["id"], "aud": f"{clients.lab.portal_url}{SESSIONS}"}
    statement = client.post(f"{AGENTS}/{managed['id']}/sign", json={"payload": claims}).json()["jws"]

    with clients.anonymous() as anyone:
        tried = [
            sign_assertion(KeyHolder(), agent, clients.lab),
            sign_assertion(holder, managed, clients.lab),
            statement,
            "a.b.c",
            "a",
            "..",
            "é.é.é",
        ]
        statuses = [anyone.post(SESSIONS, json={"assertion": each}).status_code for each in tried]
        rotated = client.post(f"{AGENTS}/{agent['id']}/keys/rotate").status_code
        old_key = anyone.post(SESSIONS, json={"assertion": sign_assertion(holder, agent, clients.lab)}).status_code

    assert (statuses, rotated, old_key) == ([401] * 7, 200, 401)


def test_without_a_credential_and_without_an_assertion_nothing_opens(clients: TenantClients) -> None:
    with clients.anonymous() as anyone:
        assert anyone.post(SESSIONS, json={"agent_id": str(uuid4())}).status_code == 401
        assert anyone.post(SESSIONS, json={}).status_code == 401


@pytest.mark.both_engines
def test_on_behalf_of_a_person_an_agent_has_their_rights_until_they_go(
    client: httpx.Client, clients: TenantClients
) -> None:
    agent = register_agent(client, scopes=["issuers:read", "attestations:mint", "audit:read", "docs:read"])
    ann, as_ann = clients.person("admin", email="ann@people.example")
    with as_ann:
        opened = open_session(as_ann, agent, on_behalf_of=True)
        assert opened["session"]["on_behalf_of"] == ann
        with act(clients, opened) as bot, clients.owner() as owner:
            assert sorted(bot.get("/v1/me").json()["credential"]["scopes"]) == [
                *("attestations:mint", "audit:read", "issuers:read")
            ]
            assert bot.get("/v1/audit/events").status_code == 200
            line = client.get("/v1/audit/events", params={"actor_id": agent["id"]}).json()["items"]
            assert line == []
            assert bot.get("/v1/attestation-packs").status_code == 403
            (line,) = client.get("/v1/audit/events", params={"actor_id": agent["id"]}).json()["items"]
            assert (line["actor_type"], line["metadata"]["on_behalf_of"]) == ("AGENT", ann)
            assert line["metadata"]["session_id"] == opened["session"]["id"]

            owner.patch(f"/v1/users/{ann}", json={"role": "member"})
            assert bot.get("/v1/me").status_code == 401
            owner.patch(f"/v1/users/{ann}", json={"role": "admin"})
    with clients.sign_in("ann@people.example") as as_ann:
        opened = open_session(as_ann, agent, on_behalf_of=True)
        with act(clients, opened) as bot, clients.owner() as owner:
            assert bot.get("/v1/me").status_code == 200
            owner.delete(f"/v1/users/{ann}")
            assert bot.get("/v1/me").status_code == 401
    assert client.get(f"{AGENTS}/{agent['id']}").json()["status"] == "active"


def test_a_persons_sign_out_ends_what_an_agent_does_for_them(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client)
    with clients.owner() as owner:
        opened = open_session(owner, agent, on_behalf_of=True)
        own = open_session(owner, agent)
        owner.post("/v1/auth/logout")

    with act(clients, opened) as bot, act(clients, own) as other:
        assert (bot.get("/v1/me").status_code, other.get("/v1/me").status_code) == (401, 200)
    refused = client.post(SESSIONS, json={"agent_id": agent["id"], "on_behalf_of": True})
    assert refused.json()["details"]["fields"][0]["field"] == "/on_behalf_of"


def test_a_session_has_no_more_than_its_agent_and_its_opener(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client, scopes=["docs:*", "!docs:delete", "risk:read", "issuers:read"])

    for scopes in (["mail:send"], ["docs:delete"], ["docs:read", "risk:write"]):
        refused = client.post(SESSIONS, json={"agent_id": agent["id"], "scopes": scopes})
        assert (refused.status_code, refused.json()["details"]["required_scope"]) == (403, scopes[-1])
    with clients.with_key(Scope.AGENTS_WRITE, Scope.RISK_READ) as narrow:
        cut = open_session(narrow, agent)
        refused = narrow.post(SESSIONS, json={"agent_id": agent["id"], "scopes": ["issuers:read"]})
    assert refused.json()["details"]["required_scope"] == "issuers:read"
    with act(clients, cut) as bot:
        assert bot.get("/v1/me").json()["credential"]["scopes"] == ["risk:read"]
    assert open_session(client, agent, scopes=["docs:read"])["session"]["scopes"] == ["docs:read", "!docs:delete"]


def test_the_twentieth_session_is_the_last(client: httpx.Client, clock: FixedClock) -> None:
    agent = register_agent(client)
    for _ in range(20):
        open_session(client, agent, ttl_minutes=1)

    refused = client.post(SESSIONS, json={"agent_id": agent["id"]})

    assert (refused.status_code, refused.json()["details"]["reason"]) == (409, "too_many_sessions")
    clock.advance(timedelta(minutes=1))
    open_session(client, agent)


@pytest.mark.both_engines
def test_a_tool_server_asks_what_a_token_may_do(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client, scopes=["docs:*", "!docs:delete"])
    opened = open_session(client, agent, audience=["https://tools.example"])
    stranger = clients.lab.orgs.create_tenant("Stranger", plan=Plan.ENTERPRISE)

    with clients.with_key(Scope.AGENTS_READ) as server, clients.with_key(tenant=stranger) as theirs:
        known = server.post(f"{SESSIONS}/introspect", json={"token": opened["token"]}).json()
        others = [
            theirs.post(f"{SESSIONS}/introspect", json={"token": opened["token"]}).json(),
            server.post(f"{SESSIONS}/introspect", json={"token": opened["refresh_token"]}).json(),
            server.post(f"{SESSIONS}/introspect", json={"token": "als_" + "0" * 32}).json(),
        ]
        client.post(f"{AGENTS}/{agent['id']}/suspend", json={"reason": "a test"})
        others.append(server.post(f"{SESSIONS}/introspect", json={"token": opened["token"]}).json())

    assert known == {
        **{"active": True, "agent_id": agent["id"], "scopes": ["docs:*"], "denied_scopes": ["docs:delete"]},
        **{"audience": ["https://tools.example"], "on_behalf_of": None, "delegation_id": None},
        "expires_at": opened["session"]["expires_at"],
    }
    assert others == [{"active": False}] * 4


@pytest.mark.both_engines
def test_a_tool_server_reads_which_delegation_limits_an_agent(client: httpx.Client, clients: TenantClients) -> None:
    parent, child = (register_agent(client, scopes=["docs:*"]) for _ in range(2))
    made = client.post(
        f"{AGENTS}/{parent['id']}/delegations", json={"child_agent_id": child["id"], "scopes": ["docs:read"]}
    ).json()
    token = open_session(client, child)["token"]

    with clients.with_key(Scope.AGENTS_READ) as server:
        limited = server.post(f"{SESSIONS}/introspect", json={"token": token}).json()
        client.post(f"/v1/delegations/{made['delegation_id']}/revoke", json={"reason": "a test"}).raise_for_status()
        later = server.post(f"{SESSIONS}/introspect", json={"token": token}).json()

    assert (limited["delegation_id"], limited["scopes"]) == (made["delegation_id"], ["docs:read"])
    assert later == {"active": False}


def test_an_agent_reaches_neither_people_nor_keys_nor_money_nor_other_agents(
    client: httpx.Client, clients: TenantClients
) -> None:
    resources = ("attestations", "issuers", "users", "audit", "risk", "policies", "webhooks", "billing", "agents")
    agent, other = register_agent(client, scopes=[f"{each}:*" for each in resources]), register_agent(client)
    opened, foreign = open_session(client, agent), open_session(client, other)
    own, theirs = f"{AGENTS}/{agent['id']}", f"{AGENTS}/{other['id']}"
    reason = {"reason": "a test"}

    with act(clients, opened) as bot:
        refused = [
            bot.get("/v1/users"),
            bot.post("/v1/users", json={"email": "new@people.example", "role": "member"}),
            bot.get("/v1/api-keys"),
            bot.post("/v1/api-keys", json={"name": "A", "scopes": ["audit:read"]}),
            bot.get("/v1/billing/subscription"),
            bot.post("/v1/billing/subscription", json={"plan": "FREE"}),
            bot.post(f"{own}/kill", json=reason),
            bot.post(f"{own}/resume", json=reason),
            bot.post(f"{theirs}/keys/rotate"),
            bot.post(f"{theirs}/keys/{other['key_id']}/compromise", json=reason),
            bot.post(f"{theirs}/sign", json={"payload": {}}),
            bot.post(SESSIONS, json={"agent_id": agent["id"]}),
            bot.post(SESSIONS, json={"agent_id": other["id"]}),
            bot.get(f"{SESSIONS}/{foreign['session']['id']}"),
            bot.post(f"{SESSIONS}/{foreign['session']['id']}/terminate"),
            bot.post(f"{SESSIONS}/introspect", json={"token": foreign["token"]}),
            bot.post(AGENTS, json={"display_name": "A", "scopes": ["docs:read"]}),
            bot.patch(own, json={"scopes": ["docs:read"]}),
        ]
        mine = bot.get(SESSIONS).json()["items"]
        narrower = bot.post(AGENTS, json={"display_name": "A", "scopes": ["issuers:read"]})

    assert [answer.status_code for answer in refused] == [403] * len(refused)
    assert [each["id"] for each in mine] == [opened["session"]["id"]]
    assert (narrower.status_code, narrower.json()["created_by_user_id"]) == (201, None)
    with act(clients, foreign) as bot:
        assert bot.get(own).status_code == 403
        assert bot.get(theirs).status_code == 200
        assert bot.post(f"{SESSIONS}/{foreign['session']['id']}/terminate").status_code == 200


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"agent_id": None}, "/agent_id"),
        ({"agent_id": "x"}, "/agent_id"),
        ({"scopes": ["docs"]}, "/scopes/0"),
        ({"ttl_minutes": 0}, "/ttl_minutes"),
        ({"ttl_minutes": 1441}, "/ttl_minutes"),
        ({"audience": ["ftp://tools.example"]}, "/audience/0"),
        ({"audience": ["https://tools.example"] * 6}, "/audience"),
        ({"metadata": {"a": "b" * 16_384}}, "/metadata"),
        ({"assertion": "a.b.c"}, "/assertion"),
        ({"token": "als_"}, "/token"),
    ],
)
def test_what_is_wrong_is_named_and_opens_nothing(client: httpx.Client, fields: dict[str, Any], place: str) -> None:
    agent = register_agent(client, scopes=["docs:read"])

    answer = client.post(SESSIONS, json={"agent_id": agent["id"], **fields})

    assert (answer.status_code, answer.json()["details"]["fields"][0]["field"]) == (400, place), answer.text
    assert client.get(SESSIONS).json()["items"] == []


@pytest.mark.parametrize("token", ["als_", "als_" + "0" * 32, "als_" + "a" * 31 + "é", "alr_" + "0" * 32, "als"])
def test_a_token_that_is_none_is_a_401(clients: TenantClients, token: str) -> None:
    with clients.anonymous() as anyone:
        answer = anyone.get("/v1/me", headers={"Authorization": f"Bearer {token}".encode()})

    assert answer.status_code == 401
