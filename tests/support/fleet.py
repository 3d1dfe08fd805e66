"""A tenant with agents, as all see it over HTTP: its people, an analyst, a stranger, and agents in their sessions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from attestlab.orgs.rules import Plan
from support.accepted_requests import read, send
from support.agents import KeyHolder
from support.in_process_server import make_client
from support.orgs import TenantClients
from support.server_process import ServerProcess


@dataclass
class Fleet:
    """A served tenant, its people Ann and Ben, an analyst's key, a stranger, and what they made so far."""

    clients: TenantClients
    ann_id: str
    ann: httpx.Client
    ben: httpx.Client
    analyst: httpx.Client
    stranger: httpx.Client
    held: ExitStack
    acting: dict[str, httpx.Client] = field(default_factory=dict)
    """The sessions of agents, by the names of the agents."""

    def act(self, name: str, opened: dict[str, Any]) -> httpx.Client:
        """Act as an agent with the token of its session, until the test is over."""
        made = self.held.enter_context(make_client(self.clients.url, token=opened["token"]))
        self.acting[name] = made
        return made

    def ask_who_they_are(self, url: str | None = None) -> dict[str, int]:
        """Let each agent ask who it is, at the server or at another one; returns the status codes by names."""
        asked = f"{url or self.clients.url}/v1/me"
        return {name: acting.get(asked).status_code for name, acting in self.acting.items()}


@contextmanager
def found_fleet(server: ServerProcess) -> Iterator[Fleet]:
    """Create a tenant with an analyst's key, in which Ann and Ben sign in."""
    lab = server.open_lab()
    with ExitStack() as held:
        held.callback(lab.close)
        tenant = lab.orgs.create_tenant("Northfield Robots", plan=Plan.ENTERPRISE)
        clients = TenantClients(lab, server.url, tenant)
        ann_id, ann = clients.person("admin", email="ann@northfield.example")
        _, ben = clients.person("admin", email="ben@northfield.example")
        analyst, stranger = clients.with_key(), clients.anonymous()
        for each in (ann, ben, analyst, stranger):
            held.enter_context(each)
        yield Fleet(clients, ann_id, ann, ben, analyst, stranger, held)


def send_signed(client: httpx.Client, path: str, holder: KeyHolder, **body: Any) -> dict[str, Any]:
    """Ask what to sign, sign it with the agent's own key, and send both."""
    asked = client.post(path, json=body)
    assert asked.status_code == 400, asked.text
    proposed: str = asked.json()["details"]["signing_input_b64url"]
    return send(client, path, **body, signature=f"{proposed}.{holder.sign(proposed.encode())}")


def download(client: httpx.Client, path: str, file: Path) -> Path:
    """Write an answer into a file."""
    file.write_text(json.dumps(read(client, path)))
    return file


def pin_log(client: httpx.Client, folder: Path) -> Path:
    """Write the log's key as a stranger pins it."""
    trust = folder / "trust.txt"
    trust.write_text(f"log {read(client, '/v1/log/vkey')['vkey']}\nquorum none\n")
    return trust
