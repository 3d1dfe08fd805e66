"""Anomalies of agents: each is one risk signal within its window, with its reason, in whichever process it shows."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import Any

import httpx
import pytest

from attestlab.agents.observability import rules
from attestlab.agents.observability.rules import EventCounts
from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time
from attestlab.installation import Installation
from support.agent_events import list_signals, report, report_many
from support.agents import AGENTS, open_session, register_agent
from support.in_process_server import make_client, serve_in_thread
from support.orgs import TenantClients


def probe(url: str, session: dict[str, Any], times: int) -> None:
    """Ask, as an agent, for what it has no scope for."""
    with make_client(url, token=session["token"]) as agent:
        for _ in range(times):
            assert agent.get("/v1/attestations").status_code == 403


@pytest.mark.both_engines
def test_ten_refusals_in_two_processes_are_one_signal_and_a_case(
    client: httpx.Client, clients: TenantClients, lab: Installation, clock: FixedClock
) -> None:
    agent = register_agent(client, scopes=["docs:read"])
    session = open_session(client, agent)
    other = Installation.open(lab.settings, clock=clock)
    with closing(other), serve_in_thread(other) as url:
        probe(clients.url, session, 5)
        probe(url, session, 4)
        assert list_signals(client, agent) == []
        probe(url, session, 3)

    (signal,) = list_signals(client, agent)
    assert (signal["signal_type"], signal["score"], signal["details"]["factors"][0]["value"]) == ("scope_probe", 85, 10)
    assert (signal["details"]["agent_id"], signal["details"]["session_id"]) == (agent["id"], session["session"]["id"])
    assert client.get(f"/v1/risk/cases/{signal['case_id']}").json()["status"] == "open"


def test_refusals_that_are_older_than_the_window_do_not_count(
    client: httpx.Client, clients: TenantClients, clock: FixedClock
) -> None:
    agent = register_agent(client, scopes=["docs:read"])
    session = open_session(client, agent)
    probe(clients.url, session, 9)
    clock.advance(rules.PROBE_WINDOW)
    probe(clients.url, session, 9)
    assert list_signals(client, agent) == []

    probe(clients.url, session, 1)
    assert len(list_signals(client, agent)) == 1
    clock.advance(rules.PROBE_WINDOW)
    probe(clients.url, session, 10)
    assert len(list_signals(client, agent)) == 2


def test_refusals_of_people_and_other_refusals_are_no_probe(client: httpx.Client, clients: TenantClients) -> None:
    agent, other = register_agent(client, scopes=["docs:read"]), register_agent(client)
    session = open_session(client, agent)
    with make_client(clients.url, token=session["token"]) as itself:
        refused = [report(itself, other).status_code for _ in range(10)]

    assert (set(refused), list_signals(client, agent)) == ({403}, [])


def test_a_token_of_a_revoked_agent_is_one_signal_an_hour(
    client: httpx.Client, clients: TenantClients, clock: FixedClock
) -> None:
    agent = register_agent(client)
    session = open_session(client, agent)
    client.post(f"{AGENTS}/{agent['id']}/suspend", json={"reason": "looking"})
    with make_client(clients.url, token=session["token"]) as itself:
        assert itself.get("/v1/me").status_code == 401
        assert list_signals(client, agent) == []
        client.post(f"{AGENTS}/{agent['id']}/revoke", json={"reason": "done"})
        assert [itself.get("/v1/me").status_code for _ in range(2)] == [401, 401]

    (signal,) = list_signals(client, agent)
    assert (signal["signal_type"], signal["score"]) == ("used_after_revocation", 90)
    assert signal["details"]["session_id"] == session["session"]["id"]


@pytest.mark.both_engines
def test_errors_in_half_of_twenty_events_are_one_signal(client: httpx.Client, clock: FixedClock) -> None:
    agent = register_agent(client)
    for number in range(19):
        report(client, agent, status="error" if number % 2 else "ok")
    assert list_signals(client, agent) == []

    for _ in range(2):
        report(client, agent, status="error")

    (signal,) = list_signals(client, agent)
    assert (signal["signal_type"], signal["details"]["factors"][0]["value"]) == ("error_rate", 0.5)
    assert "10 of 20 events" in signal["details"]["factors"][0]["explanation"]


@pytest.mark.both_engines
def test_a_burst_is_one_signal_and_history_is_none(client: httpx.Client, clock: FixedClock) -> None:
    agent, historian = register_agent(client), register_agent(client)
    past = format_time(clock.now() - timedelta(days=2))
    report_many(client, [{"agent_id": historian["id"], "occurred_at": past} for _ in range(rules.MIN_BURST)])
    report_many(client, [{"agent_id": agent["id"]} for _ in range(rules.MIN_BURST - 1)])
    assert list_signals(client, agent) == []

    report(client, agent)
    report(client, agent)

    (signal,) = list_signals(client, agent)
    assert (signal["signal_type"], signal["score"], signal["case_id"]) == ("burst", 65, None)
    assert list_signals(client, historian) == []


@pytest.mark.parametrize(
    ("counts", "is_burst"), [((599, 0), False), ((600, 0), True), ((600, 1_440), True), ((1_000, 3_000), False)]
)
def test_a_burst_is_five_times_the_hour_before(counts: tuple[int, int], is_burst: bool) -> None:
    assert (rules.judge_burst(EventCounts(*counts, 0, 0)) is not None) is is_burst


@pytest.mark.parametrize(("total", "errors", "is_anomaly"), [(19, 19, False), (20, 10, True), (20, 9, False)])
def test_an_error_rate_needs_twenty_events(total: int, errors: int, is_anomaly: bool) -> None:
    assert (rules.judge_errors(EventCounts(0, 0, total, errors)) is not None) is is_anomaly
