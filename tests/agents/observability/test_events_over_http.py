"""Events of agents over HTTP: reported alone and in bulk, by whom, within which bounds, and their figures."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from attestlab.agents.observability import store
from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import Plan, Scope
from support.agent_events import EVENTS, METRICS, NDJSON, get_metrics, report, report_many
from support.agents import open_session, register_agent
from support.in_process_server import make_client
from support.orgs import TenantClients

pytestmark = pytest.mark.one_world


def count_outcomes(lab: Installation, agent: dict[str, Any], clock: FixedClock) -> tuple[int, int]:
    """What others reported of an agent in the last hour."""
    with lab.storage.read() as connection:
        return store.count_outcomes(connection.execute, UUID(agent["id"]), clock.now() - timedelta(hours=1))


@pytest.mark.both_engines
def test_an_event_counts_in_the_figures_at_once(client: httpx.Client, lab: Installation, clock: FixedClock) -> None:
    agent = register_agent(client)

    answer = report(client, agent, latency_ms=12.5, attributes={"tool": "search"}, status="error")

    assert (answer.status_code, set(answer.json())) == (202, {"event_id"})
    figures = get_metrics(client, agent_id=agent["agent_id"])
    assert (figures["total"], figures["event_counts"], figures["error_rate"]) == (1, {"tool.call": 1}, 1.0)
    assert figures["latency_ms"] == {"p50": 12.5, "p95": 12.5, "p99": 12.5}
    assert (figures["active_agents"], figures["more_event_types"], len(figures["buckets"])) == (1, 0, 8)
    assert figures["buckets"][-1] == {
        "start": format_time(clock.now().replace(hour=0, minute=0, second=0, microsecond=0)),
        **{"count": 1, "errors": 1, "p50": 12.5, "p95": 12.5, "p99": 12.5},
    }
    assert [*fsck(lab)] == []


@pytest.mark.both_engines
def test_an_agent_reports_its_own_events_which_count_nowhere_in_its_trust(
    client: httpx.Client, clients: TenantClients, lab: Installation, clock: FixedClock
) -> None:
    agent, other = register_agent(client, scopes=["docs:read"]), register_agent(client)
    session = open_session(client, agent)
    with make_client(clients.url, token=session["token"]) as itself:
        assert report(itself, agent).status_code == 202
        refused = report(itself, other)
        many = report_many(itself, [{"agent_id": agent["id"]}, {"agent_id": other["id"]}])

    assert (refused.status_code, refused.json()["details"]["reason"]) == (403, "another_agent")
    assert (many["accepted"], [each["line"] for each in many["rejected"]]) == (1, [2])
    assert count_outcomes(lab, agent, clock) == (0, 0)
    assert get_metrics(client, agent_id=agent["id"])["total"] == 2
    assert report(client, agent, session_id=session["session"]["id"], status="error").status_code == 202
    assert count_outcomes(lab, agent, clock) == (0, 1)


def test_which_session_reported_an_event_is_in_the_data_set(
    client: httpx.Client, clients: TenantClients, lab: Installation
) -> None:
    agent = register_agent(client)
    session = open_session(client, agent)
    with make_client(clients.url, token=session["token"]) as itself:
        report(itself, agent, event_type="own.event")
    report(client, agent, event_type="foreign.event")

    sql = "select event_type, session_id, reporting_session_id from agent_events where agent_id = ? order by event_type"
    answer = client.post("/v1/lake/query", json={"sql": sql, "parameters": [agent["id"]]})

    own = session["session"]["id"]
    assert answer.json()["rows"] == [["foreign.event", None, None], ["own.event", own, own]], answer.text


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"event_type": "Tool.Call"}, "/event_type"),
        ({"event_type": "tool"}, "/event_type"),
        ({"event_type": "tool."}, "/event_type"),
        ({"event_type": f"a.{'b' * 127}"}, "/event_type"),
        ({"status": "failed"}, "/status"),
        ({"latency_ms": -1}, "/latency_ms"),
        ({"latency_ms": 86_400_001}, "/latency_ms"),
        ({"latency_ms": "12"}, "/latency_ms"),
        ({"attributes": {"text": "x" * 8_200}}, "/attributes"),
        ({"attributes": []}, "/attributes"),
        ({"session_id": "mine"}, "/session_id"),
        ({"occurred_at": "2200-01-01T00:00:00Z"}, "/occurred_at"),
        ({"surprise": 1}, "/surprise"),
    ],
)
def test_a_field_beyond_its_bounds_is_refused_and_changes_nothing(
    client: httpx.Client, fields: dict[str, Any], pointer: str
) -> None:
    agent = register_agent(client)

    answer = report(client, agent, **fields)

    assert (answer.status_code, answer.json()["details"]["fields"][0]["field"]) == (400, pointer)
    assert get_metrics(client, agent_id=agent["id"])["total"] == 0
    many = report_many(client, [{"agent_id": agent["id"], **fields}])
    assert (many["accepted"], len(many["rejected"])) == (0, 1)


def test_agents_and_sessions_of_others_are_unknown(client: httpx.Client, clients: TenantClients) -> None:
    agent, other = register_agent(client), register_agent(client)
    session_id = open_session(client, other)["session"]["id"]
    stranger = clients.lab.orgs.create_tenant("Strangers", plan=Plan.FREE)
    with clients.with_key(tenant=stranger) as strange:
        codes = [report(strange, agent).status_code, strange.get(METRICS, params={"agent_id": agent["id"]}).status_code]

    codes += [
        report(client, {"id": str(uuid4())}).status_code,
        report(client, agent, session_id=session_id).status_code,
    ]
    assert codes == [404, 404, 404, 404]


def test_reading_needs_a_scope_and_writing_another(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client)
    with clients.with_key(Scope.AGENTS_READ) as reader, clients.with_key(Scope.AGENTS_WRITE) as writer:
        codes = [report(reader, agent).status_code, report(writer, agent).status_code]
        codes += [reader.get(METRICS).status_code, writer.get(METRICS).status_code]

    assert codes == [403, 202, 200, 403]


def test_a_repeated_request_is_one_event(client: httpx.Client) -> None:
    agent = register_agent(client)
    body = {"agent_id": agent["id"], "event_type": "tool.call"}
    first, again = (client.post(EVENTS, json=body, headers={"Idempotency-Key": "event 1"}) for _ in range(2))
    events = [{"agent_id": agent["id"]} for _ in range(3)]

    counts = [report_many(client, events, **{"Idempotency-Key": "bulk 1"})["accepted"] for _ in range(2)]

    assert (first.json(), again.headers["Idempotent-Replayed"], counts) == (again.json(), "true", [3, 3])
    assert get_metrics(client, agent_id=agent["id"])["total"] == 4


def test_lines_are_accepted_or_rejected_each_by_itself(client: httpx.Client) -> None:
    agent = register_agent(client)
    good = f'{{"agent_id": "{agent["agent_id"]}", "event_type": "tool.call"}}'
    lines = [good, "{", "", '{"agent_id": "unknown", "event_type": "tool.call"}', '{"agent_idd": 1}', good]

    result = client.post(f"{EVENTS}/bulk", content="\n".join(lines), headers=NDJSON).json()

    assert (result["accepted"], [each["line"] for each in result["rejected"]]) == (2, [2, 4, 5])


@pytest.mark.both_engines
def test_figures_have_exported_events_and_those_that_are_not(
    client: httpx.Client, lab: Installation, clock: FixedClock
) -> None:
    agents = [register_agent(client) for _ in range(2)]
    at = clock.now() - timedelta(days=20)
    report_many(
        client,
        [
            {
                "agent_id": agents[number % 2]["id"],
                "event_type": f"step.n{number % 3}",
                "latency_ms": number,
                "status": "error" if number < 10 else "ok",
                "occurred_at": format_time(at + timedelta(hours=number)),
            }
            for number in range(100)
        ],
    )
    lab.lake.export()
    report(client, agents[0], occurred_at=format_time(at + timedelta(hours=1)), event_type="step.late")
    period = {"from": format_time(at), "to": format_time(at + timedelta(hours=100))}

    hours = get_metrics(client, granularity="hour", **period)
    of_one = get_metrics(client, granularity="week", agent_id=agents[1]["id"], **period)

    assert (hours["total"], hours["active_agents"], hours["error_rate"]) == (101, 2, pytest.approx(10 / 101))
    assert hours["event_counts"] == {"step.n0": 34, "step.n1": 33, "step.n2": 33, "step.late": 1}
    assert hours["latency_ms"] == {"p50": 49.5, "p95": pytest.approx(94.05), "p99": pytest.approx(98.01)}
    counts = [bucket["count"] for bucket in hours["buckets"]]
    assert (sum(counts), counts[1], set(counts[2:-1])) == (101, 2, {1})
    assert (of_one["total"], of_one["active_agents"], sum(each["count"] for each in of_one["buckets"])) == (50, 1, 50)


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ({"granularity": "minute"}, "/granularity"),
        ({"from": "2020-01-01T00:00:00Z", "granularity": "hour"}, "/granularity"),
        ({"from": "2200-01-01T00:00:00Z"}, "/from"),
        ({"from": "2020-01-02T00:00:00Z", "to": "2020-01-02T00:00:00Z"}, "/from"),
    ],
)
def test_a_period_that_cannot_be_answered_is_refused(client: httpx.Client, query: dict[str, str], pointer: str) -> None:
    answer = client.get(METRICS, params=query)

    assert (answer.status_code, answer.json()["details"]["fields"][0]["field"]) == (400, pointer)


def test_a_period_without_events_has_empty_buckets(client: httpx.Client) -> None:
    query = {"from": "2020-01-01T00:00:00Z", "to": "2020-01-15T00:00:00Z", "granularity": "week"}
    figures = get_metrics(client, **query)

    assert (figures["total"], figures["error_rate"], figures["latency_ms"]["p50"]) == (0, None, None)
    starts = [bucket["start"][:10] for bucket in figures["buckets"]]
    assert starts == ["2019-12-30", "2020-01-06", "2020-01-13"]
