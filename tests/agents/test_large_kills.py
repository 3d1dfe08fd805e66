"""The kill of a tree while others are served: their reads, and dry runs, wait for no writer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import httpx
import pytest

from support.agents import AGENTS, register_agent
from support.orgs import TenantClients
from support.timeouts import WAIT_TIMEOUT_S

pytestmark = pytest.mark.one_world


@pytest.mark.both_engines
def test_others_are_answered_while_a_tree_is_killed(
    clients: TenantClients, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, begun, go_on = register_agent(client), Event(), Event()
    sessions = clients.lab.agents.lifecycle.sessions
    end = sessions.end

    def end_later(*arguments: Any) -> int:
        begun.set()
        assert go_on.wait(WAIT_TIMEOUT_S), "the kill waited for the reads"
        return end(*arguments)

    def kill(**more: object) -> httpx.Response:
        return client.post(f"{AGENTS}/{root['id']}/kill", json={"reason": "it probes", **more})

    monkeypatch.setattr(sessions, "end", end_later)
    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(kill)
        try:
            assert begun.wait(WAIT_TIMEOUT_S)
            answers = [client.get("/v1/me"), client.get(f"{AGENTS}/{root['id']}"), kill(dry_run=True)]
        finally:
            go_on.set()

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert answers[1].json()["status"] == answers[2].json()["agent"]["status"] == "active"
    assert killed.result().json()["agent"]["status"] == "revoked"
