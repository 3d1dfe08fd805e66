"""Entities over real HTTP, on either database."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from attestlab.orgs.rules import Plan
from attestlab.risk.entities import service
from support.orgs import TenantClients
from support.risk import add_signal, get, post, put_on_list

pytestmark = pytest.mark.one_world


@pytest.mark.both_engines
def test_entity_shows_its_signals_cases_lists_and_velocity(key: httpx.Client) -> None:
    add_signal(key, entity_id="eve", score=99)
    low, high = (without_warnings(add_signal(key, score=score)) for score in (10, 90))
    entry = put_on_list(key, "deny")
    post(key, "velocity/record", {"entity_type": "user", "entity_id": "ada", "action": "login"})

    entity = get(key, "entities/user/ada")

    velocity, *signals = entity["signals"]
    assert (velocity["source"], signals) == ("velocity", [high, low])
    assert [case["id"] for case in entity["cases"]] == [high["case_id"]]
    assert entity["lists"] == [entry]
    assert entity["windows"] == {"login": {"1m": 1, "5m": 1, "1h": 1, "24h": 1}}


def test_an_entity_with_more_signals_or_cases_than_it_shows_says_so(
    key: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MAX_SIGNALS", 2)
    found = []
    for _ in range(3):
        add_signal(key, entity_id="noisy", score=10)
        found.append(get(key, "entities/user/noisy"))

    assert [(len(each["signals"]), each["truncated"]) for each in found] == [(1, False), (2, False), (2, True)]
    monkeypatch.setattr(service, "MAX_CASES", 0)
    add_signal(key, entity_id="escalated", score=99)
    assert get(key, "entities/user/escalated")["truncated"] is True
    monkeypatch.setattr(service, "MAX_ACTIONS", 1)
    for action in ("login", "transfer"):
        post(key, "velocity/record", {"entity_type": "user", "entity_id": "busy", "action": action})
    busy = get(key, "entities/user/busy")
    assert (list(busy["windows"]), busy["truncated"]) == (["login"], True)


def test_address_with_colons_is_found(key: httpx.Client) -> None:
    signal = without_warnings(add_signal(key, entity_type="ip", entity_id="2001:db8::7"))

    assert get(key, "entities/ip/2001:db8::7")["signals"] == [signal]
    assert get(key, "entities/ip/2001%3Adb8%3A%3A7")["signals"] == [signal]


@pytest.mark.parametrize("path", ["user/grace", "planet/ada"])
def test_unknown_entity_is_not_found(key: httpx.Client, path: str) -> None:
    assert key.get(f"/v1/risk/entities/{path}").status_code == 404


def test_entity_of_another_tenant_is_not_found(key: httpx.Client, tenant_clients: TenantClients) -> None:
    add_signal(key)
    other = tenant_clients.lab.orgs.create_tenant("Other", plan=Plan.ENTERPRISE)
    with tenant_clients.with_key(tenant=other) as stranger:
        assert stranger.get("/v1/risk/entities/user/ada").status_code == 404


def without_warnings(recorded: dict[str, Any]) -> dict[str, Any]:
    """A signal without what only the answer to its recording has."""
    assert recorded.pop("warnings") == []
    return recorded
