"""Proof bundles of runs: one of three steps and two agents, its trust policy, and what forgers can make of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import httpx

from attestlab.agents.runs.bundle import RunBundle, RunReport, verify_run_bundle
from attestlab.core.errors import AttestLabError
from attestlab.installation import Installation
from attestlab.log.note.trust_policy import TrustPolicy
from support.agents import AGENTS, register_agent
from support.runs import RUNS, complete, digest, record_step, start_run

PLAN = {
    "steps": [
        {"id": "read", "type": "fetch"},
        {"id": "check", "type": "verify"},
        {"id": "sum", "type": "compute", "depends_on": ["read", "check"]},
    ]
}


def make_bundle(client: httpx.Client) -> dict[str, Any]:
    """The bundle of a run of three steps, one of which a child recorded."""
    parent = register_agent(client, scopes=["docs:read"])
    body = {"scopes": ["docs:read"], "child": {"display_name": "Reader"}}
    child = client.post(f"{AGENTS}/{parent['id']}/delegations", json=body).json()["child"]
    plan = copy.deepcopy(PLAN)
    plan["steps"][0]["agent_id"] = child["id"]
    run = start_run(client, parent, plan=plan)
    both = digest("\n".join([digest("read"), digest("check")]))
    for step_id, inputs in (("read", digest("start")), ("check", digest("start")), ("sum", both)):
        assert record_step(client, run, step_id, inputs_hash=inputs).status_code == 201
    assert complete(client, run).status_code == 200
    answer = client.get(f"{RUNS}/{run['orchestration_id']}/proof-bundle")
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


def pin_log(lab: Installation) -> TrustPolicy:
    """The trust policy that pins the log of an installation."""
    with lab.storage.read() as connection:
        return TrustPolicy.parse(f"log {lab.log.vkey(connection)}\nquorum none\n".encode())


def judge(bundle: object, trust: TrustPolicy) -> RunReport:
    """Verify a bundle as a stranger who reads it from a file does."""
    return verify_run_bundle(RunBundle.read(json.dumps(bundle).encode()), trust=trust)


def name_verdict(bundle: object, trust: TrustPolicy) -> str:
    """The verdict about a bundle, or `unreadable`."""
    try:
        return judge(bundle, trust).verdict.value
    except AttestLabError:
        return "unreadable"


def mutate(document: Any) -> Iterator[tuple[str, Any]]:
    """Change each value of a bundle in each way; yields the place with the changed document."""
    for path in _list_places(document):
        for how, value in _change(_find(document, path)):
            changed = copy.deepcopy(document)
            _find(changed, path[:-1])[path[-1]] = value
            yield f"{'/'.join(map(str, path))} {how}", changed
        changed = copy.deepcopy(document)
        del _find(changed, path[:-1])[path[-1]]
        yield f"{'/'.join(map(str, path))} is left out", changed


def _list_places(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        yield (*at, name)
        yield from _list_places(member, (*at, name))


def _find(document: Any, path: tuple[str | int, ...]) -> Any:
    for name in path:
        document = document[name]
    return document


def _change(value: Any) -> Iterator[tuple[str, Any]]:
    yield "is null", None
    if isinstance(value, bool | int):
        yield "is one more", value + 1
    elif isinstance(value, str):
        for place in {0, len(value) // 2}:
            other = "1" if value[place : place + 1] != "1" else "2"
            yield f"differs at {place}", value[:place] + other + value[place + 1 :]
        yield "is empty", ""
        yield "is longer", value + "0"
    elif isinstance(value, list) and value:
        yield "is doubled", value + value[-1:]
        if len(value) > 1 and value != value[::-1]:
            yield "is reversed", value[::-1]
