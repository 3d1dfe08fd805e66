"""Addresses that clients send: none is stored as another one, at whichever door it comes in."""

from __future__ import annotations

from typing import Any

import httpx
import orjson
import pytest

from attestlab.core.clock import FixedClock
from attestlab.risk.rules import Entity, EntityType
from attestlab.risk.signals.recording import NewSignal
from attestlab.server.app import all_routes
from support.orgs import TenantClients
from support.risk import get, list_ids

pytestmark = pytest.mark.one_world

REASON = "Known from before"
SCORED = {"source": "gateway", "signal_type": "probe", "score": 95, "entity_type": "ip"}
# The body of each route that records something about an entity; the address is its id.
BODIES: dict[str, dict[str, Any]] = {
    "/v1/risk/signals": SCORED,
    "/v1/risk/signals/bulk": SCORED,
    "/v1/risk/events": {"event_type": "login.failed", "entity_type": "ip"},
    "/v1/risk/velocity/record": {"action": "upload", "entity_type": "ip"},
    "/v1/risk/lists": {"list": "deny", "reason": REASON, "entity_type": "ip"},
    "/v1/risk/challenge": {"subject_type": "ip", "reason": REASON},
}
REFUSED = {
    "203.0.113.5/24": "has bits of a host. Did you mean 203.0.113.0/24?",
    "2001:db8:1::5/48": "has bits of a host. Did you mean 2001:db8:1::/48?",
    "2130706433": "is no IP address or network. Use one such as 203.0.113.9",
    "0x7f000001": "is no IP address or network. Use one such as 203.0.113.9",
    "203.0.113.5:443": "is no IP address or network. Use 203.0.113.5.",
    "fe80::1%eth0": "is no IP address or network. Use fe80::1.",
}
ACCEPTED = {
    "203.0.113.0/24": "203.0.113.0/24",
    "2001:DB8:0:0::9": "2001:db8::9",
    "::ffff:203.0.113.9": "203.0.113.9",
    "sha256:0f3c": "sha256:0f3c",
}


def send(key: httpx.Client, path: str, entity_id: str) -> httpx.Response:
    member = "subject_id" if "subject_type" in BODIES[path] else "entity_id"
    body = orjson.dumps({**BODIES[path], member: entity_id})
    kind = "application/x-ndjson" if path.endswith("/bulk") else "application/json"
    return key.post(path, content=body, headers={"Content-Type": kind})


@pytest.mark.parametrize("entity_id", REFUSED)
@pytest.mark.parametrize("path", BODIES)
def test_what_is_no_address_or_network_is_refused_with_what_was_meant(
    path: str, entity_id: str, key: httpx.Client
) -> None:
    refused = send(key, path, entity_id)

    assert refused.status_code == (200 if path.endswith("/bulk") else 400)
    assert REFUSED[entity_id] in refused.text
    assert (list_ids(key), list_ids(key, "lists"), list_ids(key, "challenges")) == ([], [], [])


@pytest.mark.parametrize("entity_id", ACCEPTED)
def test_addresses_networks_and_hashes_of_addresses_are_recorded(entity_id: str, key: httpx.Client) -> None:
    for path in BODIES:
        assert send(key, path, entity_id).is_success, path

    assert {each["entity_id"] for each in get(key, "signals")["items"]} == {ACCEPTED[entity_id]}


def test_what_was_stored_before_is_found_as_it_was_stored(
    key: httpx.Client, tenant_clients: TenantClients, clock: FixedClock
) -> None:
    lab, tenant = tenant_clients.lab, tenant_clients.tenant
    caller = lab.orgs.service_caller(tenant.tenant_id)
    old = Entity(EntityType.IP, "2130706433")
    stored = lab.risk.signals.add(NewSignal("gateway", "probe", 95.0, old, "{}", clock.now()), caller=caller)

    assert list_ids(key, entity_type="ip", entity_id=old.id) == [str(stored.id)]
    assert [each["id"] for each in get(key, f"entities/ip/{old.id}")["signals"]] == [str(stored.id)]


def test_every_route_that_records_something_about_an_entity_is_among_these() -> None:
    named = {"entity_type", "subject_type"}
    recording = {
        route.path
        for route in all_routes()
        if route.path.startswith("/v1/risk/") and route.body is not None and named & route.body.model_fields.keys()
    }

    assert recording == BODIES.keys() - {"/v1/risk/signals/bulk"}
