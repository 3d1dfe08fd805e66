"""The tenant's people: found by id or address, and named by their id."""

from __future__ import annotations

import json
from uuid import UUID

import pytest

from attestlab.client.connecting import connect
from attestlab.core.errors import NotFound, PermissionDenied
from support.scripted_server import Answer, ScriptedServer, error, serve_script

ANN, BEN, GONE = (f"0193b5a0-7f3c-7abc-8def-00000000000{number}" for number in range(3))


def describe_person(person_id: str, name: str, status: str = "ACTIVE") -> dict[str, object]:
    nothing: dict[str, object] = dict.fromkeys(("invited_until", "joined_at", "removed_at", "last_used_at"))
    own = {"id": person_id, "tenant_id": ANN, "org_id": ANN, "email": f"{name.lower()}@example.org", "name": name}
    return {**own, "roles": ["owner"], "status": status, "created_at": "2026-11-02T00:00:00Z", **nothing}


def list_people(*people: dict[str, object], next_cursor: str | None = None) -> Answer:
    return Answer(200, json.dumps({"items": people, "next_cursor": next_cursor}).encode())


CONNECTED = Answer(200)  # to the request by which `connect` looks for a service
PAGES = (
    CONNECTED,
    list_people(describe_person(BEN, "Ben"), describe_person(GONE, "", "REMOVED"), next_cursor="more"),
    list_people(describe_person(ANN, "Ann")),
)


def list_paths(server: ScriptedServer) -> list[str]:
    return [each.path for each in server.received[1:]]


def test_people_have_names_by_their_id() -> None:
    with serve_script(*PAGES) as server, connect(server.url) as lab:
        assert lab.people.names() == {BEN: "Ben", ANN: "Ann"}
        assert list_paths(server) == ["/v1/users?limit=100", "/v1/users?limit=100&cursor=more"]


def test_a_person_is_found_by_address() -> None:
    with serve_script(*PAGES) as server, connect(server.url) as lab:
        assert lab.people[" Ann@Example.org "].id == UUID(ANN)


def test_an_unknown_address_is_named() -> None:
    with serve_script(*PAGES) as server, connect(server.url) as lab, pytest.raises(NotFound, match="nn@example"):
        lab.people["nn@example.org"]


def test_a_person_is_found_by_id() -> None:
    answer = Answer(200, json.dumps(describe_person(BEN, "Ben")).encode())
    with serve_script(CONNECTED, answer) as server, connect(server.url) as lab:
        assert lab.people[UUID(BEN)].name == "Ben"
        assert list_paths(server) == [f"/v1/users/{BEN}"]


def test_a_caller_without_the_scope_is_refused() -> None:
    with (
        serve_script(CONNECTED, error(403, "PERMISSION_DENIED")) as server,
        connect(server.url) as lab,
        pytest.raises(PermissionDenied),
    ):
        lab.people.names()
