"""Webhook endpoints over HTTP: created within the plan, changed, disabled, rotated and deleted."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import insert, select

from attestlab.core.clock import FixedClock
from attestlab.core.errors import NotFound
from attestlab.core.records.actors import SystemActor
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan, Scope
from attestlab.webhooks import endpoint_store
from attestlab.webhooks.rules import MAX_FILTERS, DisabledReason
from attestlab.webhooks.tables import WebhookEndpointHealthRecord, WebhookEndpointRecord
from support.in_process_server import make_client
from support.orgs import TenantClients, read_audit_trail
from support.webhook_endpoints import URL, create_endpoint

pytestmark = pytest.mark.one_world

PATH = "/v1/webhooks/endpoints"


def find_row(lab: Installation, endpoint_id: str) -> WebhookEndpointRecord:
    """The stored row, also of a deleted endpoint."""
    table = endpoint_store.endpoints
    with lab.storage.read() as connection:
        return WebhookEndpointRecord._make(
            connection.execute(select(*table.c).where(table.c.id == UUID(endpoint_id))).one()
        )


def open_secrets(lab: Installation, endpoint_id: str) -> list[str]:
    return lab.webhooks.signing_secrets(find_row(lab, endpoint_id), at=lab.clock.now())


def first_fault(response: httpx.Response) -> dict[str, Any]:
    assert response.status_code == 400, response.text
    fault: dict[str, Any] = response.json()["details"]["fields"][0]
    return fault


@pytest.mark.both_engines
def test_secret_is_shown_once_and_sealed(tenant_clients: TenantClients) -> None:
    with tenant_clients.with_key() as key:
        response = key.post(PATH, json={"name": "Cases", "url": URL, "event_filters": ["attestation.*"]})
        made = response.json()
        again, listed = key.get(response.headers["Location"]).json(), key.get(PATH).json()["items"]

    assert response.status_code == 201
    assert len(base64.b64decode(made["secret"].removeprefix("whsec_"), validate=True)) == 32
    assert made["status"] == "active"
    assert again == {name: value for name, value in made.items() if name != "secret"}
    assert listed == [again]
    assert made["secret"].encode() not in find_row(tenant_clients.lab, made["id"]).secret
    assert open_secrets(tenant_clients.lab, made["id"]) == [made["secret"]]


def test_replayed_creation_has_the_same_secret(tenant_clients: TenantClients) -> None:
    body = {"name": "Cases", "url": URL, "event_filters": ["attestation.*"]}
    with tenant_clients.with_key() as key:
        first, second = (key.post(PATH, json=body, headers={"Idempotency-Key": "k"}) for _ in range(2))
        listed = key.get(PATH).json()["items"]

    assert (first.content, second.headers["Idempotent-Replayed"]) == (second.content, "true")
    assert len(listed) == 1


@pytest.mark.both_engines
def test_list_is_newest_first_and_paged(tenant_clients: TenantClients, clock: FixedClock) -> None:
    with tenant_clients.with_key() as key:
        for number in range(3):
            clock.advance(timedelta(milliseconds=1))
            create_endpoint(key, name=f"endpoint {number}")
        page = key.get(PATH, params={"limit": 2}).json()
        rest = key.get(PATH, params={"cursor": page["next_cursor"]}).json()

    names = [each["name"] for each in [*page["items"], *rest["items"]]]
    assert names == ["endpoint 2", "endpoint 1", "endpoint 0"]
    assert (len(page["items"]), rest["next_cursor"]) == (2, None)


@pytest.mark.both_engines
def test_plan_caps_endpoints_that_are_not_deleted(tenant_clients: TenantClients) -> None:
    starter = tenant_clients.lab.orgs.create_tenant("Starter", plan=Plan.STARTER)
    with make_client(tenant_clients.url, key=starter.api_key) as key, tenant_clients.with_key() as other:
        made = [create_endpoint(key) for _ in range(3)]
        key.patch(f"{PATH}/{made[0]['id']}", json={"status": "disabled"})
        refused = key.post(PATH, json={"name": "One more", "url": URL, "event_filters": ["key.*"]})
        create_endpoint(other)
        assert key.delete(f"{PATH}/{made[1]['id']}").status_code == 204
        create_endpoint(key)

    details = {name: refused.json()["details"][name] for name in ("resource", "limit", "used")}
    assert (refused.status_code, refused.json()["code"]) == (402, "QUOTA_EXCEEDED")
    assert details == {"resource": "webhook_endpoints", "limit": 3, "used": 3}


def test_filters_are_event_types_or_categories(tenant_clients: TenantClients) -> None:
    filters = ["attestation.created", "risk.*", "risk.signal.*", "policy.*", "webhook.test", "risk.*"]
    with tenant_clients.with_key() as key:
        made = create_endpoint(key, event_filters=filters)

    assert made["event_filters"] == filters[:-1]


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("attestation.craeted", "attestation.created"),
        ("attestations.*", "attestation.*"),
        ("Key.Rotated", "key.rotated"),
        ("risk.signal.creat*", "risk.signal.created"),
    ],
)
def test_unknown_filter_is_refused_with_the_nearest_name(
    tenant_clients: TenantClients, name: str, nearest: str
) -> None:
    with tenant_clients.with_key() as key:
        response = key.post(PATH, json={"name": "Cases", "url": URL, "event_filters": ["key.*", name]})

    fault = first_fault(response)
    assert (fault["field"], fault["code"]) == ("/event_filters/1", "unknown_event_type")
    assert repr(name) in fault["message"]
    assert f"Did you mean {nearest}?" in fault["message"]


@pytest.mark.parametrize("name", ["*", "attestation", ".*", "x" * 66, "attestation.*.created", "a\x00b"])
def test_filter_without_a_near_name_is_refused_with_the_place_of_the_list(
    tenant_clients: TenantClients, name: str
) -> None:
    with tenant_clients.with_key() as key:
        response = key.post(PATH, json={"name": "Cases", "url": URL, "event_filters": [name]})

    assert response.status_code == 400


@pytest.mark.parametrize("filters", [[], ["key.*"] * (MAX_FILTERS + 1)])
def test_number_of_filters_is_bounded(tenant_clients: TenantClients, filters: list[str]) -> None:
    with tenant_clients.with_key() as key:
        response = key.post(PATH, json={"name": "Cases", "url": URL, "event_filters": filters})

    assert first_fault(response)["field"] == "/event_filters"


@pytest.mark.parametrize(
    "url",
    [
        "http://receiver.example.com/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://localhost/",
        "https://user:password@receiver.example.com/",
        "ftp://receiver.example.com/",
        "receiver.example.com",
        "https://receiver.example.com/" + "x" * 2048,
    ],
)
def test_url_is_https_and_public(tenant_clients: TenantClients, url: str) -> None:
    with tenant_clients.with_key() as key:
        made = create_endpoint(key)
        created = key.post(PATH, json={"name": "Cases", "url": url, "event_filters": ["key.*"]})
        changed = key.patch(f"{PATH}/{made['id']}", json={"url": url})

    assert (first_fault(created)["field"], first_fault(changed)["field"]) == ("/url", "/url")


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "x" * 101, "turned \u202e around"])
def test_name_is_one_line(tenant_clients: TenantClients, name: str) -> None:
    with tenant_clients.with_key() as key:
        response = key.post(PATH, json={"name": name, "url": URL, "event_filters": ["key.*"]})

    assert first_fault(response)["field"] == "/name"


@pytest.mark.both_engines
def test_patch_changes_what_it_names(tenant_clients: TenantClients, clock: FixedClock) -> None:
    with tenant_clients.with_key() as key:
        made = create_endpoint(key)
        clock.advance(timedelta(minutes=1))
        same = key.patch(f"{PATH}/{made['id']}", json={"name": made["name"], "status": "active"}).json()
        renamed = key.patch(f"{PATH}/{made['id']}", json={"name": "Renamed"}).json()
        moved = key.patch(f"{PATH}/{made['id']}", json={"url": URL + "/2", "event_filters": ["key.rotated"]}).json()

    assert same == {name: value for name, value in made.items() if name != "secret"}
    assert (renamed["name"], renamed["url"]) == ("Renamed", URL)
    assert renamed["updated_at"] > made["updated_at"]
    assert (moved["name"], moved["url"], moved["event_filters"]) == ("Renamed", URL + "/2", ["key.rotated"])


@pytest.mark.both_engines
def test_enabling_forgets_failures(tenant_clients: TenantClients) -> None:
    lab = tenant_clients.lab
    with tenant_clients.with_key() as key:
        made = create_endpoint(key)
        row = find_row(lab, made["id"])
        failing = WebhookEndpointHealthRecord(row.id, lab.clock.now(), None, 10, lab.clock.now())
        with lab.storage.write() as tx:
            tx.exec(insert(endpoint_store.health).values(failing._asdict()))
            lab.webhooks.disable(tx, row, DisabledReason.FAILING, actor=SystemActor("attestlab-webhooks"))
        disabled = key.get(f"{PATH}/{made['id']}").json()
        enabled = key.patch(f"{PATH}/{made['id']}", json={"status": "active"}).json()

    assert (disabled["status"], disabled["disabled_reason"]) == ("disabled", "failing")
    assert (enabled["status"], enabled["disabled_reason"]) == ("active", None)
    with lab.storage.read() as connection:
        own = select(endpoint_store.health.c.endpoint_id).where(endpoint_store.health.c.endpoint_id == row.id)
        assert connection.execute(own).first() is None


def test_tenant_disables_an_endpoint(tenant_clients: TenantClients) -> None:
    with tenant_clients.with_key() as key:
        made = create_endpoint(key)
        disabled = key.patch(f"{PATH}/{made['id']}", json={"status": "disabled"}).json()

    assert (disabled["status"], disabled["disabled_reason"]) == ("disabled", "requested")


@pytest.mark.both_engines
def test_deletion_removes_the_endpoint_and_its_secrets(tenant_clients: TenantClients) -> None:
    with tenant_clients.with_key() as key:
        made = create_endpoint(key)
        place = f"{PATH}/{made['id']}"
        key.post(f"{place}/rotate", json={"overlap_seconds": 60})
        deleted = key.delete(place)
        answers = [key.get(place), key.patch(place, json={"name": "x"}), key.delete(place), key.post(f"{place}/rotate")]
        listed = key.get(PATH).json()["items"]

    assert deleted.status_code == 204
    assert {each.status_code for each in answers} == {404}
    assert listed == []
    row = find_row(tenant_clients.lab, made["id"])
    assert (row.secret, row.old_secret, row.old_secret_until) == (b"", None, None)


@pytest.mark.both_engines
def test_rotation_replaces_the_secret_at_once(tenant_clients: TenantClients, clock: FixedClock) -> None:
    with tenant_clients.with_key() as key:
        made = create_endpoint(key)
        clock.advance(timedelta(minutes=1))
        response = key.post(f"{PATH}/{made['id']}/rotate")

    rotated = response.json()
    assert response.status_code == 200
    assert rotated["secret"].startswith("whsec_")
    assert rotated["secret"] != made["secret"]
    assert (rotated["id"], rotated["old_secret_until"]) == (made["id"], None)
    assert rotated["rotated_at"] > made["created_at"]
    assert open_secrets(tenant_clients.lab, made["id"]) == [rotated["secret"]]
    assert find_row(tenant_clients.lab, made["id"]).old_secret is None


@pytest.mark.both_engines
def test_overlap_keeps_the_old_secret_until_its_end(tenant_clients: TenantClients, clock: FixedClock) -> None:
    lab = tenant_clients.lab
    with tenant_clients.with_key() as key:
        made = create_endpoint(key)
        rotated = key.post(f"{PATH}/{made['id']}/rotate", json={"overlap_seconds": 60}).json()
    clock.advance(timedelta(seconds=59))
    during = open_secrets(lab, made["id"])
    clock.advance(timedelta(seconds=1))

    assert during == [rotated["secret"], made["secret"]]
    assert open_secrets(lab, made["id"]) == [rotated["secret"]]


@pytest.mark.parametrize("seconds", [-1, 86_401, 1.5, "60"])
def test_overlap_is_at_most_a_day(tenant_clients: TenantClients, seconds: object) -> None:
    with tenant_clients.with_key() as key:
        made = create_endpoint(key)
        response = key.post(f"{PATH}/{made['id']}/rotate", json={"overlap_seconds": seconds})

    assert first_fault(response)["field"] == "/overlap_seconds"
    assert open_secrets(tenant_clients.lab, made["id"]) == [made["secret"]]


@pytest.mark.parametrize(("role", "may_write"), [("admin", True), ("analyst", False), ("member", False)])
def test_people_need_a_role_to_write(tenant_clients: TenantClients, role: str, may_write: bool) -> None:
    body = {"name": "Cases", "url": URL, "event_filters": ["key.*"]}
    _, person = tenant_clients.person(role)
    with person, tenant_clients.with_key(Scope.WEBHOOKS_WRITE) as key:
        made = create_endpoint(key)
        written = person.post(PATH, json=body).status_code
        read = [person.get(path).status_code for path in (PATH, f"{PATH}/{made['id']}", "/v1/webhooks/events")]

    assert written == (201 if may_write else 403)
    assert read == [200, 200, 200]


def test_every_change_is_audited(tenant_clients: TenantClients) -> None:
    with tenant_clients.with_key() as key:
        made = create_endpoint(key)
        place = f"{PATH}/{made['id']}"
        key.patch(place, json={"name": "Renamed"})
        key.post(f"{place}/rotate")
        key.delete(place)

    verbs = [f"webhook_endpoint.{verb}" for verb in ("create", "update", "rotate", "delete")]
    assert read_audit_trail(tenant_clients.lab, made["id"]) == [(verb, "API_KEY") for verb in verbs]


def test_endpoint_of_another_tenant_is_missing(tenant_clients: TenantClients) -> None:
    lab = tenant_clients.lab
    stranger = lab.orgs.service_caller(lab.orgs.create_tenant("Stranger", plan=Plan.FREE).tenant_id)
    with tenant_clients.with_key() as key:
        made = create_endpoint(key)

    with pytest.raises(NotFound):
        lab.webhooks.rotate(UUID(made["id"]), caller=stranger)
    assert list(lab.webhooks.list_page(caller=stranger)) == []
