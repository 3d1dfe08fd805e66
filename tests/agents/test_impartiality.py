"""An agent's session with `risk:write` judges others, but neither itself nor agents of its delegation tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

import httpx
import pytest

from attestlab.agents.kinship import is_of_own_tree
from attestlab.core.errors import PermissionDenied
from attestlab.orgs.rules import Caller, Scope
from attestlab.risk.enforcement.triage import Resolution
from attestlab.risk.rules import CaseOutcome, Entity, EntityType, ListName
from support.agents import AGENTS, open_session, register_agent
from support.in_process_server import make_client
from support.orgs import TenantClients
from support.trust import report_signal

CASES, LISTS, SETTINGS = "/v1/risk/cases", "/v1/risk/lists", "/v1/risk/settings"
LEGITIMATE = {"outcome": "legitimate"}

pytestmark = pytest.mark.one_world


class Fleet(NamedTuple):
    """An agent with its kin, one that left its tree, and a stranger."""

    itself: dict[str, Any]
    parent: dict[str, Any]
    child: dict[str, Any]
    sibling: dict[str, Any]
    former_parent: dict[str, Any]
    stranger: dict[str, Any]

    @property
    def kin(self) -> tuple[dict[str, Any], ...]:
        return self[:-1]


def delegate(client: httpx.Client, parent: dict[str, Any], child: dict[str, Any] | None = None) -> dict[str, Any]:
    body = {"child": {"display_name": "Below"}} if child is None else {"child_agent_id": child["id"]}
    answer = client.post(f"{AGENTS}/{parent['id']}/delegations", json={"scopes": ["risk:*"], **body})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


@pytest.fixture
def fleet(client: httpx.Client) -> Fleet:
    parent, former, itself, stranger = (register_agent(client, scopes=["risk:*"]) for _ in range(4))
    left = delegate(client, former, itself)["delegation_id"]
    assert client.post(f"/v1/delegations/{left}/revoke", json={"reason": "moves"}).status_code == 200
    delegate(client, parent, itself)
    child, sibling = (delegate(client, each)["child"] for each in (itself, parent))
    return Fleet(itself, parent, child, sibling, former, stranger)


@pytest.fixture
def acting(client: httpx.Client, clients: TenantClients, fleet: Fleet) -> Iterator[httpx.Client]:
    with make_client(clients.url, token=open_session(client, fleet.itself)["token"]) as session:
        yield session


def open_case(client: httpx.Client, agent: dict[str, Any]) -> str:
    assert report_signal(client, agent, 95).status_code == 201
    query = {"status": "open", "entity_type": "user", "entity_id": agent["agent_id"]}
    (found,) = client.get(CASES, params=query).json()["items"]
    return str(found["id"])


def add_entry(client: httpx.Client, name: str, entity_id: str, entity_type: str = "user") -> httpx.Response:
    body = {"list": name, "entity_type": entity_type, "entity_id": entity_id, "reason": "known"}
    return client.post(LISTS, json=body)


def find_reason(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["details"]["reason"]


OWN_TREE = (403, "own_tree")


def test_an_agent_resolves_and_assigns_no_case_of_its_tree(
    client: httpx.Client, acting: httpx.Client, fleet: Fleet
) -> None:
    cases = [open_case(client, each) for each in fleet.kin]

    refused = [acting.post(f"{CASES}/{each}/resolve", json=LEGITIMATE) for each in cases]
    refused += [acting.patch(f"{CASES}/{each}", json={"assignee_id": None}) for each in cases]
    refused += [acting.post(f"{CASES}/{each}/comments", json={"text": "It was me."}) for each in cases]

    assert {find_reason(each) for each in refused} == {OWN_TREE}
    assert {client.get(f"{CASES}/{each}").json()["status"] for each in cases} == {"open"}
    other = open_case(client, fleet.stranger)
    assert acting.patch(f"{CASES}/{other}", json={"assignee_id": None}).status_code == 200
    assert acting.post(f"{CASES}/{other}/resolve", json=LEGITIMATE).status_code == 200
    assert client.post(f"{CASES}/{cases[0]}/resolve", json=LEGITIMATE).status_code == 200


def test_in_bulk_the_cases_of_its_tree_are_refused_alone(
    client: httpx.Client, acting: httpx.Client, fleet: Fleet
) -> None:
    ids = [open_case(client, each) for each in (*fleet.kin, fleet.stranger)]

    answer = acting.post(f"{CASES}/resolve", json={"items": [{"id": each, **LEGITIMATE} for each in ids]})

    *refused, resolved = answer.json()["items"]
    assert [each["error"]["code"] for each in refused] == ["PERMISSION_DENIED"] * 5, answer.text
    assert resolved == {"id": ids[-1], "status": "resolved", "outcome": "legitimate"}


def test_an_agent_reopens_no_case_of_its_tree(client: httpx.Client, acting: httpx.Client, fleet: Fleet) -> None:
    """A case that it resolved before the other agent came into its tree."""
    case = open_case(client, fleet.stranger)
    items = [{"id": case, "outcome": "fraud"}]
    assert acting.post(f"{CASES}/resolve", json={"items": items, "undo_seconds": 60}).json()["items"][0]["status"]
    delegate(client, fleet.parent, fleet.stranger)

    (result,) = acting.post(f"{CASES}/reopen", json={"ids": [case]}).json()["items"]

    assert result["error"]["code"] == "PERMISSION_DENIED"
    assert client.get(f"{CASES}/{case}").json()["status"] == "resolved"


def test_an_agent_allows_none_of_its_tree_and_takes_none_from_the_deny_list(
    client: httpx.Client, acting: httpx.Client, fleet: Fleet
) -> None:
    denied = [add_entry(acting, "deny", each["agent_id"]) for each in fleet.kin]
    assert {each.status_code for each in denied} == {201}, "an agent may accuse itself"

    refused = [add_entry(acting, "allow", each["agent_id"]) for each in fleet.kin]
    refused.append(add_entry(acting, "allow", fleet.itself["id"]))
    session = open_session(client, fleet.child)["session"]["id"]
    refused.append(add_entry(acting, "allow", session, "session"))
    refused += [acting.delete(f"{LISTS}/{each.json()['id']}") for each in denied]

    assert {find_reason(each) for each in refused} == {OWN_TREE}
    assert add_entry(acting, "allow", fleet.stranger["agent_id"]).status_code == 201
    assert add_entry(acting, "allow", "someone").status_code == 201
    assert client.delete(f"{LISTS}/{denied[0].json()['id']}").status_code == 204


def test_an_agent_does_not_confirm_itself_nor_raise_the_threshold_of_cases(
    client: httpx.Client, acting: httpx.Client, fleet: Fleet
) -> None:
    event = {"event_type": "challenge.passed", "entity_type": "user"}
    refused = [
        acting.post("/v1/risk/events", json={**event, "entity_id": fleet.child["agent_id"]}),
        acting.put(SETTINGS, json={"escalation_threshold": 100}),
    ]

    assert [find_reason(each) for each in refused] == [OWN_TREE] * 2
    assert client.get(SETTINGS).json() == {"escalation_threshold": 80}
    assert acting.post("/v1/risk/events", json={**event, "entity_id": fleet.stranger["agent_id"]}).status_code == 200
    assert acting.put(SETTINGS, json={"escalation_threshold": 70}).status_code == 200
    assert client.put(SETTINGS, json={"escalation_threshold": 80}).status_code == 200


def test_in_python_the_same_is_refused(client: httpx.Client, clients: TenantClients, fleet: Fleet) -> None:
    case, lab, agent = open_case(client, fleet.child), clients.lab, fleet.itself
    scopes = frozenset({Scope.RISK_WRITE})
    caller = Caller(clients.tenant.tenant_id, "AGENT", agent["id"], scopes, "ENTERPRISE", credential_id="a session")
    row = lab.risk.cases.get(UUID(case), caller=caller)

    with pytest.raises(PermissionDenied, match="of its delegation tree"):
        lab.risk.cases.resolve(row.id, CaseOutcome.LEGITIMATE, caller=caller)
    (refused,) = lab.risk.triage.resolve([Resolution(row.id, CaseOutcome.LEGITIMATE)], 0, caller)
    assert isinstance(refused, PermissionDenied)
    with pytest.raises(PermissionDenied, match="allow list"):
        lab.risk.lists.add(ListName.ALLOW, row.entity, reason="known", caller=caller)
    with lab.storage.read() as connection:
        assert not is_of_own_tree(connection.execute, caller, Entity(EntityType.SESSION, str(row.id)))
