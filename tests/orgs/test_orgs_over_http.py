"""Organizations over HTTP: created, read, changed; the list is a bare array with its next page in the headers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.orgs.rules import Plan, Scope
from support.orgs import TenantClients, read_audit_trail

BOTH = (Scope.USERS_READ, Scope.USERS_WRITE)


def made(client: httpx.Client, **body: Any) -> dict[str, Any]:
    answer = client.post("/v1/orgs", json={"name": "Archive", **body})
    assert answer.status_code == 201, answer.text
    org: dict[str, Any] = answer.json()
    return org


@pytest.mark.both_engines
def test_the_list_is_a_bare_array_with_paging_headers(tenant_clients: TenantClients, clock: FixedClock) -> None:
    with tenant_clients.with_key(*BOTH) as client:
        for number in range(4):
            clock.advance(timedelta(milliseconds=1))
            made(client, name=f"Archive {number}")
        first = client.get("/v1/orgs", params={"limit": 2})
        second = client.get(first.links["next"]["url"])
        last = client.get("/v1/orgs", params={"limit": 2, "cursor": second.headers["X-Next-Cursor"]})
        whole = client.get("/v1/orgs")

    assert [len(page.json()) for page in (first, second, last)] == [2, 2, 1]
    assert whole.json() == [*first.json(), *second.json(), *last.json()]
    assert [org["slug"] for org in whole.json()[:-1]] == ["archive-3", "archive-2", "archive-1", "archive-0"]
    assert "next" not in last.links
    assert "X-Next-Cursor" not in last.headers
    assert whole.json()[-1] | {"created_at": ""} == {
        "id": str(tenant_clients.tenant.org_id),
        "tenant_id": str(tenant_clients.tenant.tenant_id),
        "name": "Example Registry",
        "slug": "example-registry",
        "status": "ACTIVE",
        "return_origins": [],
        "created_at": "",
        "updated_at": None,
    }


def test_a_bad_page_is_refused(tenant_clients: TenantClients) -> None:
    with tenant_clients.with_key(*BOTH) as client:
        statuses = [
            client.get(f"/v1/orgs?{query}").status_code for query in ("limit=0", "limit=101", "cursor=x", "x=1")
        ]

    assert statuses == [400] * 4


def test_another_organization_gets_its_own_slug(tenant_clients: TenantClients) -> None:
    with tenant_clients.with_key(*BOTH) as client:
        answer = client.post("/v1/orgs", json={"name": "Archive"})
        slugs = [answer.json()["slug"], made(client)["slug"], made(client, slug="the-archive")["slug"]]
        shown = client.get(answer.headers["Location"]).json()

    assert slugs == ["archive", "archive-2", "the-archive"]
    assert shown == answer.json()
    assert read_audit_trail(tenant_clients.lab, shown["id"]) == [("org.create", "API_KEY")]


@pytest.mark.both_engines
def test_a_slug_taken_by_any_tenant_is_a_conflict(tenant_clients: TenantClients) -> None:
    tenant_clients.lab.orgs.create_tenant("Other", plan=Plan.FREE)
    with tenant_clients.with_key(*BOTH) as client:
        answers = [client.post("/v1/orgs", json={"name": "x", "slug": slug}) for slug in ("other", "example-registry")]

    assert [(answer.status_code, answer.json()["details"]["reason"]) for answer in answers] == [(409, "slug_taken")] * 2


def test_an_invalid_organization_names_the_field(tenant_clients: TenantClients) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"name": ""}, "/name"),
        ({"name": "two\nlines"}, "/name"),
        ({"name": None}, "/name"),
        *(({"name": "x", "slug": slug}, "/slug") for slug in ("", "Ärger", "UPPER", "-x", "x-", "a--b", "x" * 41)),
        ({"name": "x", "tenant_id": str(uuid4())}, "/tenant_id"),
        ({"name": "x", "status": "ACTIVE"}, "/status"),
        ({"name": "x", "return_origins": []}, "/return_origins"),
    ]
    with tenant_clients.with_key(*BOTH) as client:
        answers = [client.post("/v1/orgs", json=body) for body, _ in refused]
        listed = client.get("/v1/orgs").json()

    assert [answer.json()["details"]["fields"][0]["field"] for answer in answers] == [field for _, field in refused]
    assert len(listed) == 1


@pytest.mark.both_engines
def test_a_patch_changes_only_the_sent_fields(tenant_clients: TenantClients) -> None:
    path = f"/v1/orgs/{tenant_clients.tenant.org_id}"
    with tenant_clients.with_key(*BOTH) as client:
        named = client.patch(path, json={"name": "Renamed"}).json()
        listed = client.patch(path, json={"return_origins": ["https://a.example", "http://localhost:3000"]}).json()
        same = client.patch(path, json={"name": "Renamed"}).json()
        nothing = client.patch(path, json={}).json()
        emptied = client.patch(path, json={"return_origins": []}).json()

    assert (named["name"], named["slug"], named["updated_at"] is None) == ("Renamed", "example-registry", False)
    assert (listed["name"], listed["return_origins"]) == ("Renamed", ["https://a.example", "http://localhost:3000"])
    assert same == nothing == listed
    assert emptied["return_origins"] == []
    assert read_audit_trail(tenant_clients.lab, str(tenant_clients.tenant.org_id)) == [
        ("org.create", "SERVICE"),
        *[("org.update", "API_KEY")] * 3,
    ]


def test_an_invalid_patch_changes_nothing(tenant_clients: TenantClients) -> None:
    path = f"/v1/orgs/{tenant_clients.tenant.org_id}"
    wrong: list[dict[str, Any]] = [
        {"name": None},
        {"name": " "},
        {"slug": "other"},
        {"status": "CLOSED"},
        {"id": str(uuid4())},
        {"return_origins": ["http://plain.example"]},
        {"return_origins": None},
        {"name": "Good", "return_origins": ["https://a.example/path"]},
    ]
    with tenant_clients.with_key(*BOTH) as client:
        before = client.get(path).json()
        statuses = [client.patch(path, json=body).status_code for body in wrong]
        after = client.get(path).json()

    assert statuses == [400] * len(wrong)
    assert after == before


def test_another_tenants_organization_answers_exactly_like_a_missing_one(tenant_clients: TenantClients) -> None:
    other = tenant_clients.lab.orgs.create_tenant("Other", plan=Plan.FREE)
    theirs, none = str(other.org_id), str(uuid4())
    with tenant_clients.with_key(*BOTH) as client:
        for method, body in (("GET", None), ("PATCH", {"name": "Mine"})):
            there, nowhere = (
                client.request(method, f"/v1/orgs/{id}", json=body, headers={"X-Request-Id": "r"})
                for id in (theirs, none)
            )
            assert (there.status_code, there.text.replace(theirs, "id")) == (404, nowhere.text.replace(none, "id"))
        assert theirs not in client.get("/v1/orgs").text
