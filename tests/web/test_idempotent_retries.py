"""A retry under the same Idempotency-Key gets the first response, whatever has changed in between."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from support.attestations import make_mint_body, mint
from support.faults.statement_faults import serve_in_process
from support.in_process_server import make_client
from support.issuers import register_issuer

ONCE = {"Idempotency-Key": "once"}


@pytest.fixture
def key(lab: Installation) -> Iterator[httpx.Client]:
    """A client with the API key of a new tenant."""
    tenant = lab.orgs.create_tenant("Northfield", plan=Plan.ENTERPRISE)
    with serve_in_process(lab) as server, make_client(server.url, key=tenant.api_key) as client:
        yield client


def require_replayed(again: httpx.Response, first: httpx.Response) -> None:
    """The same bytes, and a header that says so."""
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers


def test_completed_mint_is_replayed_although_its_key_signs_no_more(key: httpx.Client) -> None:
    """A new mint with that key is refused before it gets to the records."""
    issuer = register_issuer(key)
    body, kid = make_mint_body(issuer), issuer["keys"][0]["kid"]
    first = mint(key, body, key="once")
    assert first.status_code == 201, first.text
    key.post(f"/v1/issuers/keys/{kid}/revoke", json={"reason": "lost"}).raise_for_status()
    assert mint(key, body).status_code >= 400

    require_replayed(mint(key, body, key="once"), first)


def test_route_that_writes_in_several_steps_is_replayed(key: httpx.Client) -> None:
    """Such a route stores its response afterwards; without it, a retry would do the work again."""
    event = {"event_type": "login.odd", "entity_type": "user", "entity_id": "ada", "data": {}}
    key.post("/v1/risk/events", json=event).raise_for_status()
    first = key.post("/v1/risk/events/normalize", json={}, headers=ONCE).raise_for_status()
    key.post("/v1/risk/events", json=event).raise_for_status()

    again = key.post("/v1/risk/events/normalize", json={}, headers=ONCE)

    assert (first.json()["events"], again.json()["events"]) == (1, 1)
    require_replayed(again, first)
