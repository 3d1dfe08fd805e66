"""Trust over HTTP: what counts as evidence, when scores change and why, the parent's cap, and levels."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from attestlab.agents.rules import TrustCause
from attestlab.agents.store import agents
from attestlab.agents.trust import keeping
from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import Plan, Scope
from support.agents import AGENTS, open_session, register_agent
from support.compliance import CHECKS, check_agent
from support.in_process_server import make_client
from support.orgs import TenantClients
from support.trust import get_stored_score, get_trust, list_changes, report_outcomes, report_signal, sweep_scores
from support.votes import request_votes, vote

pytestmark = pytest.mark.one_world


def delegate(client: httpx.Client, parent: dict[str, Any]) -> dict[str, Any]:
    """A new child of an agent with the scope `docs:read`."""
    body = {"scopes": ["docs:read"], "child": {"display_name": "Child"}}
    answer = client.post(f"{AGENTS}/{parent['id']}/delegations", json=body)
    assert answer.status_code == 201, answer.text
    child: dict[str, Any] = answer.json()["child"]
    return child


def decide(client: httpx.Client, agent: dict[str, Any], verdict: str) -> dict[str, Any]:
    """Let another agent decide a claim of an agent; returns the request."""
    made = request_votes(client, agent, required_witnesses=1)
    assert vote(client, made, register_agent(client), verdict=verdict).status_code == 201
    return made


def find_component(trust: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in trust["components"] if each["name"] == name)
    return found


def test_new_agent_has_one_half_and_all_five_components(client: httpx.Client) -> None:
    agent = register_agent(client)
    trust = get_trust(client, agent)
    assert (trust["score"], trust["evidence"], trust["penalties"], trust["cap"]) == (0.5, 0, [], None)
    names = ["compliance", "success", "delegation", "key", "witness"]
    assert [each["name"] for each in trust["components"]] == names
    assert [each["value"] for each in trust["components"]] == [None, None, 1.0, 1.0, None]
    assert sum(each["weight"] for each in trust["components"]) == pytest.approx(1)
    assert (get_stored_score(client, agent), list_changes(client, agent)) == ((0.5, "authenticated"), [])


@pytest.mark.both_engines
def test_each_evidence_changes_record_and_history_in_its_request(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client, scopes=["docs:read"])
    check = check_agent(client, agent)
    passed = sum(finding["passed"] for finding in check["findings"])
    compliance = find_component(get_trust(client, agent), "compliance")
    assert (compliance["value"], compliance["evidence"]) == (round(passed / len(check["findings"]), 6), 1)
    request = decide(client, agent, "confirm")
    signal = report_signal(client, agent, 60).json()
    assert client.post(f"{AGENTS}/{agent['id']}/keys/{agent['key_id']}/compromise", json={"reason": "lost"}).is_success
    trust, history = get_trust(client, agent), list_changes(client, agent)
    assert get_stored_score(client, agent)[0] == history[0]["score"] == trust["score"]
    assert [(each["cause"], each["reference"]) for each in reversed(history)] == [
        ("compliance", check["check_id"]),
        ("witness", request["request_id"]),
        ("signal", signal["id"]),
        ("key", None),
    ]
    assert [(each["signal_id"], each["points"]) for each in trust["penalties"]] == [(signal["id"], 0.3)]
    assert find_component(trust, "key")["explanation"] == "The agent's key is compromised."
    assert [each["evidence"] for each in reversed(history)] == [1, 2, 2, 2]
    assert list(fsck(clients.lab)) == []


def test_score_is_the_published_formula(client: httpx.Client) -> None:
    agent = register_agent(client)
    for verdict in ("confirm", "confirm", "confirm", "deny"):
        decide(client, agent, verdict)
    trust = get_trust(client, agent)
    raw = (0.20 * 1 + 0.10 * 1 + 0.10 * 0.75) / 0.40
    assert (trust["raw"], trust["evidence"]) == (round(raw, 3), 4)
    assert trust["score"] == round(0.5 + (raw - 0.5) * 4 / 24, 3)


@pytest.mark.both_engines
def test_penalty_fades_by_the_sweep_with_its_cause(
    client: httpx.Client, clients: TenantClients, clock: FixedClock
) -> None:
    agent = register_agent(client)
    assert report_signal(client, agent, 80).status_code == 201
    assert get_stored_score(client, agent)[0] == 0.1
    sweep_scores(clients.lab)
    assert get_stored_score(client, agent)[0] == 0.1
    clock.advance(timedelta(days=14))
    assert get_trust(client, agent)["score"] == 0.3
    sweep_scores(clients.lab)
    assert get_stored_score(client, agent)[0] == 0.3
    assert [each["cause"] for each in list_changes(client, agent)] == ["time", "signal"]
    assert list(fsck(clients.lab)) == []


@pytest.mark.own_world
def test_faded_penalty_needs_no_sweep_any_more(client: httpx.Client, clients: TenantClients, clock: FixedClock) -> None:
    agent = register_agent(client)
    report_signal(client, agent, 80)
    clock.advance(keeping.AGING_INTERVAL * 141)
    sweep_scores(clients.lab)
    assert get_stored_score(client, agent)[0] == 0.5
    clock.advance(keeping.AGING_INTERVAL * 2)
    assert not clients.lab.agents.trust_keeper.has_due()


@pytest.mark.both_engines
def test_parent_caps_all_below_from_their_first_evidence_on(client: httpx.Client, clients: TenantClients) -> None:
    root = register_agent(client, scopes=["docs:read"])
    child = delegate(client, root)
    grandchild, fresh = delegate(client, child), delegate(client, child)
    for agent in (root, child, grandchild):
        decide(client, agent, "confirm")
    signal = report_signal(client, root, 100).json()
    root_score = get_stored_score(client, root)[0]
    assert root_score < 0.1
    for agent in (child, grandchild):
        trust = get_trust(client, agent)
        assert (get_stored_score(client, agent)[0], trust["score"], trust["cap"]) == (
            root_score,
            root_score,
            root_score,
        )
    assert [list_changes(client, each)[0]["cause"] for each in (root, child, grandchild)] == [
        "signal",
        "parent",
        "parent",
    ]
    assert list_changes(client, grandchild)[0]["reference"] == child["id"]
    assert list_changes(client, root)[0]["reference"] == signal["id"]
    assert (get_stored_score(client, fresh)[0], list_changes(client, fresh)) == (0.5, [])
    assert list(fsck(clients.lab)) == []


def test_cap_rises_again_with_the_parent(client: httpx.Client, clients: TenantClients, clock: FixedClock) -> None:
    root = register_agent(client, scopes=["docs:read"])
    child = delegate(client, root)
    decide(client, child, "confirm")
    report_signal(client, root, 80)
    low = get_stored_score(client, child)[0]
    clock.advance(timedelta(days=14))
    sweep_scores(clients.lab)
    assert low < get_stored_score(client, child)[0] == get_stored_score(client, root)[0]


def test_revoked_delegation_lifts_the_cap(client: httpx.Client) -> None:
    root, child = (register_agent(client, scopes=["docs:read"]) for _ in range(2))
    body = {"scopes": ["docs:read"], "child_agent_id": child["id"]}
    given = client.post(f"{AGENTS}/{root['id']}/delegations", json=body).json()
    decide(client, child, "confirm")
    report_signal(client, root, 80)
    assert get_stored_score(client, child)[0] == 0.1
    assert client.post(f"/v1/delegations/{given['delegation_id']}/revoke", json={"reason": "done"}).is_success
    assert get_stored_score(client, child)[0] > 0.5
    change = list_changes(client, child)[0]
    assert (change["cause"], change["reference"]) == ("delegation", given["delegation_id"])


def test_agents_beyond_the_bound_of_a_write_are_left_to_the_sweep(
    client: httpx.Client, clients: TenantClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = register_agent(client, scopes=["docs:read"])
    children = [delegate(client, root) for _ in range(4)]
    for child in children:
        decide(client, child, "confirm")
    monkeypatch.setattr(keeping, "MAX_KEPT_PER_WRITE", 2)
    report_signal(client, root, 80)
    scores = [get_stored_score(client, child)[0] for child in children]
    assert sorted(scores)[0] == 0.1 < sorted(scores)[1]
    assert {get_trust(client, child)["score"] for child in children} == {0.1}
    assert sweep_scores(clients.lab) > 1
    assert {get_stored_score(client, child)[0] for child in children} == {0.1}


def test_what_an_agent_asks_about_itself_counts_nowhere(client: httpx.Client, clients: TenantClients) -> None:
    with clients.owner() as owner:
        agent = register_agent(owner, scopes=["audit:read", "agents:read", "risk:write"])
    opened = open_session(client, agent)
    with make_client(clients.url, token=opened["token"]) as session:
        body = {"entity_type": "agent", "entity_id": agent["id"], "regulation": "EU_AI_ACT"}
        own = session.post(CHECKS, json=body)
        assert (own.status_code, own.json()["status"]) == (201, "passed")
        assert get_trust(session, agent)["evidence"] == 0
    assert get_stored_score(client, agent) == (0.5, "authenticated")
    assert check_agent(client, agent, regulation="EU_AI_ACT")["status"] == "passed"
    assert get_stored_score(client, agent)[1] == "verified"
    assert get_trust(client, agent)["evidence"] == 1
    assert list(fsck(clients.lab)) == []


@pytest.mark.both_engines
def test_outcomes_count_within_a_minute_unless_the_agent_reported_them(
    client: httpx.Client, clients: TenantClients, clock: FixedClock
) -> None:
    agent = register_agent(client)
    session = open_session(client, agent)["session"]["id"]
    report_outcomes(clients.lab, agent, ok=50, own_session=session)
    assert get_trust(client, agent)["evidence"] == 0
    report_outcomes(clients.lab, agent, ok=2, failed=1)
    success = find_component(get_trust(client, agent), "success")
    assert (success["value"], success["evidence"]) == (0.6, 3)
    assert get_stored_score(client, agent)[0] == 0.5
    clock.advance(keeping.OUTCOMES_INTERVAL)
    sweep_scores(clients.lab)
    assert get_stored_score(client, agent)[0] == get_trust(client, agent)["score"] > 0.5
    assert [(each["cause"], each["evidence"]) for each in list_changes(client, agent)] == [("outcomes", 3)]
    clock.advance(timedelta(days=31))
    sweep_scores(clients.lab)
    assert (get_stored_score(client, agent)[0], list_changes(client, agent)[0]["cause"]) == (0.5, "time")


def test_outcomes_after_other_evidence_count(client: httpx.Client, clients: TenantClients, clock: FixedClock) -> None:
    agent = register_agent(client)
    report_outcomes(clients.lab, agent, ok=4)
    check_agent(client, agent)
    report_outcomes(clients.lab, agent, ok=4)
    clock.advance(keeping.OUTCOMES_INTERVAL)
    sweep_scores(clients.lab)
    assert [each["evidence"] for each in list_changes(client, agent)] == [9, 5]


def test_level_needs_owner_check_and_score(client: httpx.Client, clients: TenantClients, clock: FixedClock) -> None:
    analyst_id, _ = clients.person("analyst")
    agent = register_agent(client, owner_user_id=analyst_id, expires_at=format_time(clock.now() + timedelta(days=99)))
    assert get_stored_score(client, agent)[1] == "authenticated"
    for _ in range(31):
        check_agent(client, agent, regulation="GDPR")
    score, level = get_stored_score(client, agent)
    assert (score >= 0.8, level) == (True, "trusted")
    assert client.get(AGENTS, params={"owner_user_id": analyst_id}).json()["items"][0]["trust_level"] == "trusted"
    report_signal(client, agent, 20)
    assert get_stored_score(client, agent)[1] == "verified"
    clock.advance(timedelta(days=30, seconds=1))
    assert get_stored_score(client, agent)[1] == "authenticated"
    check_agent(client, agent, regulation="GDPR")
    assert get_stored_score(client, agent)[1] == "verified"
    with clients.owner() as owner:
        assert owner.delete(f"/v1/users/{analyst_id}").status_code == 204
    assert get_stored_score(client, agent)[1] == "authenticated"


def test_votes_read_the_score(client: httpx.Client) -> None:
    voter, made = register_agent(client), request_votes(client)
    report_signal(client, voter, 20)
    refused = vote(client, made, voter)
    assert (refused.status_code, refused.json()["details"]["trust_score"]) == (403, 0.4)


def test_signals_of_others_or_about_others_take_nothing(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client)
    assert report_signal(client, agent, 90, source="manual").status_code == 201
    assert report_signal(client, agent, 90, entity_type="device").status_code == 201
    assert report_signal(client, {"agent_id": "maip:unknown"}, 90).status_code == 201
    assert report_signal(client, {"agent_id": agent["agent_id"][:-1] + "!"}, 90).status_code == 201
    other = clients.lab.orgs.create_tenant("Southfield Robots", plan=Plan.ENTERPRISE)
    with clients.with_key(tenant=other) as theirs:
        assert report_signal(theirs, agent, 90).status_code == 201
    assert (get_trust(client, agent)["penalties"], get_stored_score(client, agent)[0]) == ([], 0.5)


def test_signals_in_bulk_lower_the_scores_of_their_agents(client: httpx.Client) -> None:
    first, second = register_agent(client), register_agent(client)
    lines = [
        {"source": "agent", "signal_type": "burst", "score": 40, "entity_type": "user", "entity_id": each["agent_id"]}
        for each in (first, second, first)
    ]
    body = "\n".join(json.dumps(line) for line in lines).encode()
    answer = client.post("/v1/risk/signals/bulk", content=body, headers={"Content-Type": "application/x-ndjson"})
    assert answer.is_success, answer.text
    assert (get_stored_score(client, first)[0], get_stored_score(client, second)[0]) == (0.1, 0.3)


def test_history_has_pages_and_times(client: httpx.Client, clients: TenantClients, clock: FixedClock) -> None:
    agent = register_agent(client)
    for score in (10, 20, 30):
        report_signal(client, agent, score)
        clock.advance(timedelta(hours=1))
    first, second, third = reversed(list_changes(client, agent))
    assert list_changes(client, agent, **{"from": second["at"]}) == [third, second]
    assert list_changes(client, agent, to=second["at"]) == [first]
    page = client.get(f"{AGENTS}/{agent['id']}/trust/history", params={"limit": "2"}).json()
    assert page["items"] == [third, second]
    assert list_changes(client, agent, limit="2", cursor=page["next_cursor"]) == [first]


def test_another_tenant_finds_no_trust(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client)
    other = clients.lab.orgs.create_tenant("Southfield Robots", plan=Plan.ENTERPRISE)
    with clients.with_key(tenant=other) as theirs:
        for path in ("trust", "trust/history"):
            assert theirs.get(f"{AGENTS}/{agent['id']}/{path}").status_code == 404


def test_key_needs_the_scope_of_agents(clients: TenantClients, client: httpx.Client) -> None:
    agent = register_agent(client)
    with clients.with_key(Scope.AUDIT_READ) as narrow:
        assert narrow.get(f"{AGENTS}/{agent['id']}/trust").json()["details"]["required_scope"] == "agents:read"


@pytest.mark.tampered
@pytest.mark.parametrize("column", ["trust_score", "passed_check_at"])
def test_fsck_finds_a_score_or_a_check_that_was_set(
    client: httpx.Client, clients: TenantClients, clock: FixedClock, column: str
) -> None:
    agent = register_agent(client)
    check_agent(client, agent)
    value = 0.99 if column == "trust_score" else clock.now()
    with clients.lab.storage.write() as tx:
        tx.exec(update(agents).values({column: value}))
    assert [problem.kind for problem in fsck(clients.lab)] == ["trust"]


def test_causes_fit_their_column() -> None:
    assert max(len(cause) for cause in TrustCause) <= 10
