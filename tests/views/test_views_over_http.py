"""Saved views over real HTTP: a person saves, lists, changes, shares and deletes them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.orgs.rules import Plan
from attestlab.views import rules
from support.orgs import TenantClients, read_audit_trail

pytestmark = pytest.mark.one_world

VIEW = {"name": "Logins of a month", "page": "risk", "query": "days=30&source=login"}


def save(client: httpx.Client, **changes: Any) -> dict[str, Any]:
    answer = client.post("/v1/views", json={**VIEW, **changes})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def list_names(client: httpx.Client, **parameters: Any) -> list[str]:
    answer = client.get("/v1/views", params=parameters)
    assert answer.status_code == 200, answer.text
    return [each["name"] for each in answer.json()["items"]]


@pytest.fixture
def sofia(tenant_clients: TenantClients) -> Iterator[tuple[str, httpx.Client]]:
    user_id, client = tenant_clients.person("analyst")
    with client:
        yield user_id, client


@pytest.fixture
def emil(tenant_clients: TenantClients) -> Iterator[httpx.Client]:
    with tenant_clients.person("member")[1] as client:
        yield client


@pytest.mark.both_engines
def test_a_view_is_saved_listed_changed_and_deleted(
    sofia: tuple[str, httpx.Client], tenant_clients: TenantClients, clock: FixedClock
) -> None:
    user_id, client = sofia
    made = save(client, name="  Logins of a month ")
    assert made == {
        **{"id": made["id"], **VIEW, "shared": False, "owner_id": user_id},
        **{"url": "/dash/risk?days=30&source=login", "created_at": made["created_at"]},
        "updated_at": made["created_at"],
        "schedule": None,
    }
    clock.advance(timedelta(seconds=1))
    save(client, name="The log", page="log", query="")
    assert list_names(client) == ["The log", VIEW["name"]]
    assert list_names(client, page="risk") == [VIEW["name"]]

    changes = {"name": "Logins", "query": "days=7", "shared": True}
    changed = client.patch(f"/v1/views/{made['id']}", json=changes).json()
    assert {name: changed[name] for name in changes} == changes
    assert (changed["url"], changed["page"]) == ("/dash/risk?days=7", "risk")

    assert client.delete(f"/v1/views/{made['id']}").status_code == 204
    assert client.delete(f"/v1/views/{made['id']}").status_code == 404
    assert list_names(client) == ["The log"]
    trail = read_audit_trail(tenant_clients.lab, made["id"])
    assert trail == [(f"saved_view.{verb}", "USER") for verb in ("save", "update", "delete")]


@pytest.mark.both_engines
def test_others_see_a_view_only_while_it_is_shared(sofia: tuple[str, httpx.Client], emil: httpx.Client) -> None:
    _, client = sofia
    path = f"/v1/views/{save(client)['id']}"
    assert list_names(emil) == []
    assert (emil.patch(path, json={"name": "Mine"}).status_code, emil.delete(path).status_code) == (404, 404)

    client.patch(path, json={"shared": True})
    assert list_names(emil) == [VIEW["name"]]
    for refused in (emil.patch(path, json={"name": "Mine"}), emil.delete(path)):
        assert (refused.status_code, refused.json()["details"]["reason"]) == (403, "not_the_owner")
    save(emil)  # a name is a person's own
    client.patch(path, json={"shared": False})
    assert len(list_names(emil)) == 1


def test_an_owner_deletes_what_a_person_shares_who_has_left(tenant_clients: TenantClients) -> None:
    user_id, client = tenant_clients.person("analyst")
    with client:
        path = f"/v1/views/{save(client, shared=True)['id']}"
    with tenant_clients.owner() as owner:
        assert owner.delete(path).status_code == 403
        assert owner.delete(f"/v1/users/{user_id}").status_code in (200, 204)
        with tenant_clients.person("member")[1] as member:
            assert member.delete(path).status_code == 403
        assert owner.patch(path, json={"name": "Ours"}).status_code == 403
        assert owner.delete(path).status_code == 204
        assert list_names(owner) == []


def test_the_private_views_of_a_person_end_when_they_leave(tenant_clients: TenantClients) -> None:
    user_id, client = tenant_clients.person("analyst")
    with client, tenant_clients.owner() as owner:
        private, shared = save(client), save(client, name="For all", shared=True)
        assert owner.delete(f"/v1/users/{user_id}").status_code in (200, 204)
        assert list_names(owner) == ["For all"]
    trail = [read_audit_trail(tenant_clients.lab, made["id"])[1:] for made in (private, shared)]
    assert trail == [[("saved_view.delete", "USER")], []]


def test_another_tenant_and_a_key_see_no_views(sofia: tuple[str, httpx.Client], tenant_clients: TenantClients) -> None:
    made = save(sofia[1], shared=True)
    other = tenant_clients.lab.orgs.create_tenant("Curious", plan=Plan.FREE)
    with tenant_clients.owner(other) as stranger, tenant_clients.with_key() as key:
        assert list_names(stranger) == []
        assert stranger.delete(f"/v1/views/{made['id']}").status_code == 404
        for refused in (key.get("/v1/views"), key.post("/v1/views", json=VIEW)):
            assert (refused.status_code, refused.json()["details"]["required_credential"]) == (403, "jwt")


def test_a_name_stands_once_for_a_page(sofia: tuple[str, httpx.Client]) -> None:
    _, client = sofia
    made = save(client)
    save(client, page="policy")
    other = save(client, name="Another")
    for refused in (
        client.post("/v1/views", json=VIEW),
        client.patch(f"/v1/views/{other['id']}", json={"name": VIEW["name"]}),
    ):
        assert (refused.status_code, refused.json()["details"]["view_id"]) == (409, made["id"])
    assert client.patch(f"/v1/views/{made['id']}", json={"name": VIEW["name"]}).status_code == 200
    client.delete(f"/v1/views/{made['id']}")
    save(client)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "x" * 101),
        ("name", "two\nlines"),
        ("page", "secrets"),
        ("query", "days=30 &x"),
        ("query", "a=1#b"),
        ("query", "name=Zürich"),
        ("query", "x" * 4_097),
        ("shared", "yes"),
    ],
    ids=["empty", "long", "lines", "page", "space", "fragment", "umlaut", "long query", "word"],
)
def test_what_is_no_view_is_refused_at_its_field(sofia: tuple[str, httpx.Client], field: str, value: object) -> None:
    _, client = sofia
    refused = client.post("/v1/views", json={**VIEW, field: value})
    assert (refused.status_code, refused.json()["code"]) == (400, "VALIDATION_ERROR"), refused.text
    assert [each["field"] for each in refused.json()["details"]["fields"]] == [f"/{field}"]
    if field != "page":
        made = save(client)
        assert client.patch(f"/v1/views/{made['id']}", json={field: value}).status_code == 400
        assert list_names(client) == [VIEW["name"]]


def test_a_person_has_as_many_views_as_the_limit(
    sofia: tuple[str, httpx.Client], emil: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rules.MAX_VIEWS == 200
    monkeypatch.setattr(rules, "MAX_VIEWS", 1)
    _, client = sofia
    made = save(client)
    save(emil)  # others have their own
    refused = client.post("/v1/views", json={**VIEW, "name": "One more"})
    assert (refused.status_code, refused.json()["details"]["limit"]) == (409, 1)
    assert client.delete(f"/v1/views/{made['id']}").status_code == 204
    save(client)
