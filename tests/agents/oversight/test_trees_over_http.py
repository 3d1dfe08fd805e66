"""The tree of an agent over HTTP: who let whom, and what each may do now."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from attestlab.agents.oversight import service
from attestlab.core.clock import FixedClock
from attestlab.orgs.rules import Plan
from support.agents import AGENTS, register_agent
from support.orgs import TenantClients

pytestmark = pytest.mark.one_world


def delegate(client: httpx.Client, parent: dict[str, Any], name: str, *scopes: str, **fields: Any) -> dict[str, Any]:
    """Delegate to a new agent; returns it."""
    body = {"scopes": list(scopes), "child": {"display_name": name}, **fields}
    answer = client.post(f"{AGENTS}/{parent['id']}/delegations", json=body)
    assert answer.status_code == 201, answer.text
    child: dict[str, Any] = answer.json()["child"]
    return child


def read_tree(client: httpx.Client, agent: dict[str, Any]) -> dict[str, Any]:
    answer = client.get(f"{AGENTS}/{agent['id']}/tree")
    assert answer.status_code == 200, answer.text
    tree: dict[str, Any] = answer.json()
    return tree


def names_of(tree: dict[str, Any]) -> list[str]:
    return [node["display_name"] for node in tree["nodes"]]


@pytest.mark.both_engines
def test_a_tree_shows_who_let_whom_and_what_each_may_do(client: httpx.Client, clock: FixedClock) -> None:
    root = register_agent(client, display_name="Root", scopes=["docs:*", "mail:send", "!docs:delete"])
    left = delegate(client, root, "Left", "docs:*")
    clock.advance(timedelta(seconds=1))
    delegate(client, root, "Right", "mail:send")
    leaf = delegate(client, left, "Leaf", "docs:read")

    tree = read_tree(client, root)

    assert names_of(tree) == ["Root", "Left", "Right", "Leaf"]
    assert [node["depth"] for node in tree["nodes"]] == [0, 1, 1, 2]
    for node in tree["nodes"]:
        alone = client.get(f"{AGENTS}/{node['id']}").json()
        assert {name: alone[name] for name in node if name != "depth"} == {
            name: value for name, value in node.items() if name != "depth"
        }
        if node["depth"] > 0:
            edge = next(each for each in tree["edges"] if each["child_agent_id"] == node["id"])
            assert edge["parent_agent_id"] == alone["parent_agent_id"]
    assert len(tree["edges"]) == 3
    assert tree["edges"][-1]["scopes"] == ["docs:read", "!docs:delete"]
    assert tree["truncated"] is False
    assert names_of(read_tree(client, leaf)) == ["Root", "Left", "Leaf"]
    assert names_of(client.get(f"{AGENTS}/{leaf['agent_id']}/tree").json()) == ["Root", "Left", "Leaf"]


def test_what_is_cut_off_may_do_nothing_in_the_tree(client: httpx.Client) -> None:
    root = register_agent(client, display_name="Root", scopes=["docs:*"])
    middle = delegate(client, root, "Middle", "docs:*")
    leaf = delegate(client, middle, "Leaf", "docs:read")
    for verb in ("suspend", "resume"):
        client.post(f"{AGENTS}/{middle['id']}/{verb}", json={"reason": "a test"})

    client.post(f"{AGENTS}/{root['id']}/kill", json={"reason": "a test", "cascade": False})

    tree = read_tree(client, leaf)
    assert {node["display_name"]: node["status"] for node in tree["nodes"]}["Leaf"] == "active"
    assert tree["nodes"][-1]["effective_scopes"] == client.get(f"{AGENTS}/{leaf['id']}").json()["effective_scopes"]


def test_an_agent_alone_is_a_tree_of_one(client: httpx.Client) -> None:
    agent = register_agent(client, scopes=["docs:*"])

    tree = read_tree(client, agent)

    assert [node["id"] for node in tree["nodes"]] == [agent["id"]]
    assert (tree["edges"], tree["truncated"]) == ([], False)


def test_a_large_tree_is_cut_below(client: httpx.Client, clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_TREE_NODES", 3)
    root = register_agent(client, display_name="Root", scopes=["docs:*"])
    first = delegate(client, root, "First", "docs:*")
    clock.advance(timedelta(seconds=1))
    delegate(client, root, "Second", "docs:*")
    assert (names_of(read_tree(client, root)), read_tree(client, root)["truncated"]) == (
        ["Root", "First", "Second"],
        False,
    )

    delegate(client, first, "Third", "docs:read")

    tree = read_tree(client, root)
    assert (names_of(tree), tree["truncated"]) == (["Root", "First", "Second"], True)


def test_a_tree_of_another_tenant_is_unknown(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client)
    other = clients.lab.orgs.create_tenant("Southfield Robots", plan=Plan.ENTERPRISE)
    with clients.with_key(tenant=other) as foreign:
        assert foreign.get(f"{AGENTS}/{agent['id']}/tree").status_code == 404
    assert client.get(f"{AGENTS}/{uuid4()}/tree").status_code == 404


def test_a_delegation_that_ended_cuts_its_tree(client: httpx.Client, clock: FixedClock) -> None:
    root = register_agent(client, scopes=["docs:*"])
    ends = (clock.now() + timedelta(hours=1)).isoformat()
    child = delegate(client, root, "Child", "docs:*", expires_at=ends)
    leaf = delegate(client, child, "Leaf", "docs:read")
    assert read_tree(client, root)["nodes"][-1]["effective_scopes"] == ["docs:read"]

    clock.advance(timedelta(hours=2))

    assert [node["effective_scopes"] for node in read_tree(client, leaf)["nodes"]] == [["docs:*"], [], []]
