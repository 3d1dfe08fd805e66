"""A full disk or a silent database never lets an agent through that was suspended or killed before."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
from conftest import MakeTemplate

from attestlab.agents.rules import AgentStatus
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan, Scope
from support.agents import AGENTS, SESSIONS, find_agent, open_session, register_agent
from support.disks import SmallDisk
from support.faults.brief_limits import brief_limits
from support.faults.minting_clients import NO_TLS_CONTEXT
from support.faults.readers import require_writes_reported
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer
from support.in_process_server import make_client, serve_in_thread, wait_until
from support.tcp_proxy import proxy_database

SCOPES = ["agents:read", "agents:write", "docs:read"]
GUESSES = 640  # more than an address may make in a minute


def try_everything(agent: dict[str, Any], opened: dict[str, Any], acting: httpx.Client) -> set[int]:
    """What an agent may try with its token and its refresh token; returns the statuses of the answers."""
    answers = [
        acting.get("/v1/me"),
        acting.get(f"{AGENTS}/{agent['id']}"),
        acting.post(f"{AGENTS}/{agent['id']}/sign", json={"payload": {"a": 1}}),
        acting.post(AGENTS, json={"display_name": "Another"}),
        acting.post(f"{SESSIONS}/{opened['session']['id']}/refresh", json={"refresh_token": opened["refresh_token"]}),
    ]
    return {answer.status_code for answer in answers}


def suspend(client: httpx.Client, agent: dict[str, Any]) -> httpx.Response:
    return client.post(f"{AGENTS}/{agent['id']}/suspend", json={"reason": "it probes"})


def test_a_full_disk_lets_no_suspended_agent_through(fork_server: ForkServer, disk: SmallDisk) -> None:
    """The denied requests are audited, which the full disk refuses: whatever they answer, they do nothing."""
    data = disk.folder / "data"
    server = ForkedServer.founded(fork_server, data, f"sqlite:///{data / 'records.db'}").start()
    with server as running, running.client(verify=NO_TLS_CONTEXT) as http, ExitStack() as held:
        stopped, going = (register_agent(http, scopes=SCOPES) for _ in range(2))
        opened = {each["id"]: open_session(http, each) for each in (stopped, going)}
        acting = {name: running.client(verify=NO_TLS_CONTEXT) for name in opened}
        for name, client in acting.items():
            held.enter_context(client)
            del client.headers["X-API-Key"]
            client.headers["Authorization"] = f"Bearer {opened[name]['token']}"
        assert suspend(http, stopped).status_code == 200
        with disk.full():
            for _ in range(3):
                tried = try_everything(stopped, opened[stopped["id"]], acting[stopped["id"]])
                assert tried <= {401, 503}, tried
            assert suspend(http, going).status_code == 503  # not acknowledged: it may act
            assert acting[going["id"]].get(f"{AGENTS}/{going['id']}").json()["status"] == "active"
        require_writes_reported(http, "ok")
        assert try_everything(stopped, opened[stopped["id"]], acting[stopped["id"]]) == {401}
        assert suspend(http, going).status_code == 200
        assert acting[going["id"]].get("/v1/me").status_code == 401
        running.stop()
        running.check()


def test_a_refusal_that_a_full_disk_cannot_record_is_a_503(fork_server: ForkServer, disk: SmallDisk) -> None:
    """Refusals of every kind that is audited: of scopes, credentials and people's routes, and blocked guessers."""
    data = disk.folder / "data"
    server = ForkedServer.founded(fork_server, data, f"sqlite:///{data / 'records.db'}").start()
    with server as running, running.client(verify=NO_TLS_CONTEXT) as http, ExitStack() as held:
        poor, other = register_agent(http, scopes=["docs:read"]), register_agent(http)
        acting, guessing = (held.enter_context(running.client(verify=NO_TLS_CONTEXT)) for _ in range(2))
        del acting.headers["X-API-Key"]
        acting.headers["Authorization"] = f"Bearer {open_session(http, poor)['token']}"
        guessing.headers["X-API-Key"] = "no key at all"
        with disk.full():
            refused = [
                acting.get(AGENTS),
                acting.get(f"{AGENTS}/{other['id']}"),
                acting.post(f"{AGENTS}/{poor['id']}/kill", json={"reason": "it probes"}),
                http.post("/v1/policies/01a20846-fe00-793d-ab65-b74c8ee9df4f/activate"),
                guessing.get("/v1/me"),
            ]
            assert [each.status_code for each in refused] == [503] * len(refused)
            guessed = [guessing.get("/v1/me").status_code for _ in range(GUESSES)]
            assert set(guessed) == {429, 503}, guessed
        require_writes_reported(http, "ok")
        assert acting.get(AGENTS).status_code == 403
        running.stop()
        running.check()


def test_a_silent_database_lets_no_suspended_agent_through(make_template: MakeTemplate, tmp_path: Path) -> None:
    """Another server on the same database suspends it; the server that hears nothing answers 503, then 401."""
    with make_template("postgresql", is_of_now=True).copy_to(tmp_path) as settings, ExitStack() as held:
        assert settings.database_url is not None
        proxy, url = held.enter_context(proxy_database(settings.database_url))
        cut_off = Installation.open(settings.model_copy(update={"database_url": url}))
        direct = Installation.open(settings)
        for lab in (cut_off, direct):
            held.callback(lab.close)
        cut_off.storage.serve_requests()
        tenant = direct.orgs.create_tenant("Northfield Robots", plan=Plan.ENTERPRISE)
        keeper = direct.orgs.service_caller(tenant.tenant_id)
        key = direct.api_keys.create("A key", scopes=frozenset(Scope), caller=keeper).secret
        address = held.enter_context(serve_in_thread(cut_off))
        http = held.enter_context(make_client(address, key=key))
        agent = register_agent(http, scopes=SCOPES)
        opened = open_session(http, agent)
        acting = held.enter_context(make_client(address, token=opened["token"]))
        assert acting.get("/v1/me").status_code == 200

        with brief_limits(cut_off.storage):
            proxy.fall_silent()
            direct.agents.lifecycle.suspend(UUID(agent["id"]), reason="it probes", caller=keeper)
            during = [try_everything(agent, opened, acting) for _ in range(2)]
            proxy.come_back()
        wait_until(lambda: http.get("/readyz").json().get("details", {}).get("checks"), None)

        assert during == [{503}, {503}]
        assert try_everything(agent, opened, acting) == {401}
        assert find_agent(direct, agent["id"]).status == AgentStatus.SUSPENDED
