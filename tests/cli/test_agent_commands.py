"""`attestlab agent`: lists, shows and stops agents, through both doors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.agents import make_delegation, open_session
from support.fork_server import run_command
from support.server_process import ServerProcess

UNKNOWN_ID = "0193b5a0-7f3c-7abc-8def-0123456789ab"
Options = tuple[str, ...]


@pytest.fixture(params=["over HTTP", "in process"])
def door(request: pytest.FixtureRequest, running: ServerProcess) -> Options:
    if request.param == "over HTTP":
        return "--url", running.url, "--api-key", running.made["api_key"]
    return "--data", str(running.data), "--database-url", running.database_url


@pytest.fixture
def made(running: ServerProcess) -> dict[str, Any]:
    """A delegation between two new agents; the child has a session."""
    with running.client() as client:
        delegation = make_delegation(client)
        open_session(client, delegation["child"])
    return delegation


def read_json(*arguments: str) -> dict[str, Any]:
    done = run_command(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_agents_are_listed_and_shown(door: Options, made: dict[str, Any]) -> None:
    child = made["child"]

    listed = run_command("agent", "list", "--limit", "1", "--search", child["display_name"], *door)
    assert (listed.returncode, child["id"] in listed.stdout, "Raise --limit" in listed.stderr) == (
        0,
        True,
        len(read_json("agent", "list", "--search", child["display_name"], *door)["items"]) > 1,
    )
    shown = run_command("agent", "show", child["agent_id"], *door)
    assert f"effective_scopes  {' '.join(child['effective_scopes'])}" in shown.stdout
    assert read_json("agent", "show", child["id"], *door)["parent_agent_id"] == made["parent_agent_id"]


def test_a_dry_run_changes_nothing_and_a_kill_needs_a_reason(door: Options, made: dict[str, Any]) -> None:
    root = made["parent_agent_id"]

    counted = read_json("agent", "kill", root, "--dry-run", *door)
    refused = run_command("agent", "kill", root, *door)
    assert (counted["revoked_descendants"], counted["terminated_sessions"]) == (1, 1)
    assert (refused.returncode, "--reason" in refused.stderr) == (2, True)
    assert read_json("agent", "show", root, *door)["status"] == "active"
    killed = read_json("agent", "kill", root, "--reason", "it probes", *door)
    assert killed | {"dry_run": True, "agent": None} == counted | {"agent": None}
    assert read_json("agent", "show", made["child"]["id"], *door)["status"] == "revoked"


@pytest.mark.parametrize("agent", [UNKNOWN_ID, "Reader", "maip:x"])
def test_what_is_no_agent_is_refused(door: Options, agent: str) -> None:
    for command in (("show",), ("kill", "--dry-run")):
        done = run_command("agent", *command, agent, *door)

        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
