"""Signals, events and cases over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from support.in_process_server import serve_in_thread
from support.orgs import TenantClients

SIGNAL: dict[str, Any] = {
    "source": "login",
    "signal_type": "geo_anomaly",
    "score": 61.5,
    "details": {"country": "PT"},
    "entity_type": "user",
    "entity_id": "ada",
}


@contextmanager
def open_risk_tenant(lab: Installation) -> Iterator[TenantClients]:
    """Serve the installation, with a new tenant without limits."""
    tenant = lab.orgs.create_tenant("Watchful", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url:
        yield TenantClients(lab, url, tenant)


def post(client: httpx.Client, path: str, body: object, *, status: int = 200) -> Any:
    """The answer's JSON after a write that must succeed."""
    answer = client.post(f"/v1/risk/{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def add_signal(client: httpx.Client, **changes: Any) -> Any:
    """A recorded signal."""
    return post(client, "signals", {**SIGNAL, **changes}, status=201)


def get(client: httpx.Client, path: str, **parameters: Any) -> Any:
    """The answer's JSON after a read that must succeed."""
    answer = client.get(f"/v1/risk/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def list_ids(client: httpx.Client, path: str = "signals", **parameters: Any) -> list[str]:
    """The ids on the first page of a list."""
    return [item["id"] for item in get(client, path, **parameters)["items"]]


def put_on_list(key: httpx.Client, name: str, **changes: Any) -> Any:
    """An entry of a list."""
    entry = {"list": name, "entity_type": "user", "entity_id": "ada", "reason": "known to us", **changes}
    return post(key, "lists", entry, status=201)


@pytest.fixture
def tenant_clients(lab: Installation) -> Iterator[TenantClients]:
    """A served tenant without limits; a conftest imports this, and `key`, for its folder."""
    with open_risk_tenant(lab) as clients:
        yield clients


@pytest.fixture
def key(tenant_clients: TenantClients) -> Iterator[httpx.Client]:
    """A client with an API key of that tenant."""
    with tenant_clients.with_key() as client:
        yield client
