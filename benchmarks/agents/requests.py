"""Registration, requests with an agent's session, introspection, and a page of the list, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import servers, world
from benchmarks.figures import Figure
from benchmarks.load import format_request
from benchmarks.sides import Side, compare_sides
from benchmarks.world import ServedInstallation

AGENT = {"agent_type": "worker", "display_name": "Invoice reader", "scopes": ["docs:*", "attestations:mint"]}
FLOOR = "benchmarks/floor.py, on SQLite"
CONNECTIONS = 8
DAY_MINUTES = 1440  # no session ends during the run


class _Opened(NamedTuple):
    """An agent with an open session."""

    agent_id: str
    token: str


def figures(folder: Path, engine: str, url: str | None) -> Iterator[Figure]:
    """Yield the figures of one database; the servers write to `folder`."""
    (folder / "floor").mkdir(parents=True)
    with ExitStack() as stack:
        served = stack.enter_context(world.serve_installation(folder / "data", database_url=url))
        floor = stack.enter_context(servers.run_floor(folder / "floor"))
        opened = _open_session(served)
        yield from _session_figures(served, opened, engine)
        yield from _introspection_figures(served, opened, engine)
        ours = Side(served.server, format_request("POST", "/v1/agents", AGENT, X_API_Key=served.api_key), 201)
        bare = Side(floor, served.build_mint_request("/mint"), 201)
        for connections in (8, 64):
            yield from compare_sides(f"agents.{engine}.register_{connections}", ours, bare, connections, against=FLOOR)


def _open_session(served: ServedInstallation) -> _Opened:
    agent_id = _post(served, "/v1/agents", AGENT)["id"]
    session = _post(served, "/v1/agent-sessions", {"agent_id": agent_id, "ttl_minutes": DAY_MINUTES})
    return _Opened(agent_id, session["token"])


def _post(served: ServedInstallation, path: str, body: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = served.client.post(path, json=body).raise_for_status().json()
    return made


def _session_figures(served: ServedInstallation, opened: _Opened, engine: str) -> Iterator[Figure]:
    """Yield a read and a mint with a session against the same with an API key."""
    path, key, bearer = f"/v1/agents/{opened.agent_id}", served.api_key, f"Bearer {opened.token}"
    by_agent, by_key = format_request("GET", path, Authorization=bearer), format_request("GET", path, X_API_Key=key)
    reads = Side(served.server, by_agent), Side(served.server, by_key)
    yield from compare_sides(f"agents.{engine}.session_read", *reads, CONNECTIONS, against="an API key")
    mint = served.build_mint_request()
    mints = Side(served.server, mint.replace(f"X-API-Key: {key}", f"Authorization: {bearer}"), 201)
    yield from compare_sides(
        f"agents.{engine}.session_mint", mints, Side(served.server, mint, 201), CONNECTIONS, against="an API key"
    )


def _introspection_figures(served: ServedInstallation, opened: _Opened, engine: str) -> Iterator[Figure]:
    """Yield introspections against reads of the same agent, both with an API key."""
    body = {"token": opened.token}
    ours = Side(served.server, format_request("POST", "/v1/agent-sessions/introspect", body, X_API_Key=served.api_key))
    read = Side(served.server, format_request("GET", f"/v1/agents/{opened.agent_id}", X_API_Key=served.api_key))
    yield from compare_sides(f"agents.{engine}.introspect", ours, read, CONNECTIONS, against="a read of the agent")
