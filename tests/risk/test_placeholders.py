"""Ids that stand for a missing one, and ids with several spellings: what they link, and where they are refused."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.risk.integrity import find_wrong_links
from attestlab.risk.rules import Entity, EntityType
from attestlab.risk.signals.recording import NewSignal
from support.risk import add_signal, get, post

pytestmark = pytest.mark.one_world

PLACEHOLDERS = ("unknown", "N/A", "00000000-0000-0000-0000-000000000000", "00:00:00:00:00:00")


def read_graph(key: httpx.Client, kind: str, entity_id: str) -> Any:
    return get(key, f"entities/{kind}/{entity_id}/graph")


def linked(graph: Any) -> set[tuple[str, str]]:
    return {(node["type"], node["id"]) for node in graph["nodes"]}


@pytest.mark.parametrize("device", PLACEHOLDERS)
def test_a_placeholder_links_no_users(key: httpx.Client, device: str) -> None:
    for user in ("ada", "bob", "eve"):
        add_signal(key, entity_type="user", entity_id=user, details={"device_id": device, "ip": "0.0.0.0"})

    graph = read_graph(key, "user", "ada")

    assert (linked(graph), graph["rings"]) == ({("user", "ada")}, [])


def test_a_signal_about_a_placeholder_is_kept_and_links_nothing(key: httpx.Client) -> None:
    for user in ("ada", "bob", "eve"):
        add_signal(key, entity_type="device", entity_id="unknown", details={"user_id": user, "session": user})

    assert linked(read_graph(key, "user", "ada")) == {("user", "ada"), ("session", "ada")}
    assert len(get(key, "signals", entity_type="device", entity_id="unknown")["items"]) == 3


@pytest.mark.parametrize(
    ("kind", "sent", "spelt"),
    [
        ("ip", "2001:DB8::0009", "2001:db8::9"),
        ("ip", "::ffff:203.0.113.9", "203.0.113.9"),
        ("document", "sha256:" + "AB" * 32, "ab" * 32),
    ],
)
def test_the_spellings_of_an_id_are_one_entity(key: httpx.Client, kind: str, sent: str, spelt: str) -> None:
    add_signal(key, entity_type="user", entity_id="ada", details={kind: sent})
    add_signal(key, entity_type=kind, entity_id=sent, details={"user": "bob"})

    assert linked(read_graph(key, kind, spelt)) == {(kind, spelt), ("user", "ada"), ("user", "bob")}


@pytest.mark.parametrize("kind", ["user", "device", "ip", "document", "session", "issuer", "attestation"])
def test_no_list_and_no_velocity_takes_a_placeholder(key: httpx.Client, kind: str) -> None:
    entity = {"entity_type": kind, "entity_id": "0.0.0.0" if kind == "ip" else "unknown"}
    entry = {**entity, "list": "deny", "reason": "shared by all"}
    refused = [
        post(key, "lists", entry, status=400),
        post(key, "velocity/record", {**entity, "action": "login"}, status=400),
    ]

    for answer in refused:
        (fault,) = answer["details"]["fields"]
        assert (fault["field"], fault["code"]) == ("/entity_id", "placeholder")
        assert "names no" in fault["message"]


@pytest.mark.own_world
def test_links_of_older_versions_are_no_fault(lab: Installation, caller: Caller) -> None:
    """They linked placeholders, and an address in each of its spellings, whose rows together follow from the facts."""
    add_fact(lab, caller)
    with lab.storage.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE risk_links SET first_id = '2001:DB8::9'")
        connection.exec_driver_sql(
            "INSERT INTO risk_links SELECT tenant_id, 'device', 'unknown', second_type, second_id, kind, 9, first_seen,"
            " last_seen FROM risk_links"
        )
    add_fact(lab, caller)

    with lab.storage.read() as connection:
        links = connection.exec_driver_sql("SELECT first_id, count FROM risk_links ORDER BY first_id").all()
        assert [*map(tuple, links)] == [("2001:DB8::9", 1), ("2001:db8::9", 1), ("unknown", 9)]
        assert list(find_wrong_links(connection)) == []
    edges = lab.risk.entities.graph(Entity(EntityType.USER, "ada"), depth=2, caller=caller).edges
    assert "unknown" not in {end.id for edge in edges for end in edge[:2]}


def add_fact(lab: Installation, caller: Caller) -> None:
    details = '{"device":"unknown","ip":"2001:DB8::9"}'
    new = NewSignal("login", "ato", 9.0, Entity(EntityType.USER, "ada"), details, lab.clock.now())
    lab.risk.signals.add(new, caller=caller)
