"""Receipt types over HTTP: created, versioned, listed and deprecated; what is wrong is named and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.crypto.canonical_json import canonical, sha256_b64url
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan, Scope
from support.in_process_server import make_client, serve_in_thread
from support.orgs import TenantClients, read_audit_trail
from support.outbox import read_events_of_type
from support.receipt_types import SCHEMA, TYPES, create_type, make_type

pytestmark = pytest.mark.one_world


@pytest.fixture
def clients(lab: Installation) -> Iterator[TenantClients]:
    tenant = lab.orgs.create_tenant("Northfield Parcels", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url:
        yield TenantClients(lab, url, tenant)


@pytest.fixture
def client(clients: TenantClients) -> Iterator[httpx.Client]:
    with clients.with_key() as made:
        yield made


def versions_in(answer: httpx.Response) -> list[tuple[str, str]]:
    return [(item["name"], item["version"]) for item in answer.json()["items"]]


@pytest.mark.both_engines
def test_a_type_is_created_versioned_listed_and_deprecated(client: httpx.Client, clock: FixedClock) -> None:
    first = create_type(client, display_name=" Delivery of a parcel ", description="Who got what.\n")
    assert first["schema"] == SCHEMA
    assert first["schema_hash"] == sha256_b64url(canonical(SCHEMA))
    assert (first["display_name"], first["description"]) == ("Delivery of a parcel", "Who got what.\n")
    assert (first["status"], first["deprecated_at"], first["deprecation_reason"]) == ("active", None, None)
    clock.advance(timedelta(seconds=1))
    second = create_type(client, version="1.10.0", schema={"$id": "https://parcels.example/delivery"})
    clock.advance(timedelta(seconds=1))
    other = create_type(client, "batch.test", version="0.1.0-rc.1")

    assert client.get(f"{TYPES}/delivery").json() == second
    assert client.get(f"{TYPES}/delivery@1.0.0").json() == first
    assert client.get(f"{TYPES}/batch.test").json() == other
    assert client.get(TYPES).json() == {"items": [other, second], "next_cursor": None}
    assert client.get(TYPES, params={"versions": "all"}).json()["items"] == [other, second, first]

    clock.advance(timedelta(seconds=1))
    deprecated = client.post(f"{TYPES}/delivery/deprecate", json={"version": "1.10.0", "reason": "too strict"}).json()
    ended = {"status": "deprecated", "deprecation_reason": "too strict", "deprecated_at": deprecated["deprecated_at"]}
    assert deprecated == {**second, **ended}
    assert deprecated["deprecated_at"] > other["created_at"]
    assert client.get(f"{TYPES}/delivery").json() == deprecated
    assert client.get(TYPES, params={"status": "active"}).json()["items"] == [other, first]
    assert client.get(TYPES, params={"status": "deprecated"}).json()["items"] == [deprecated]
    assert client.get(TYPES).json()["items"] == [other, deprecated]


@pytest.mark.both_engines
def test_all_versions_are_deprecated_without_a_version(client: httpx.Client) -> None:
    for version in ("1.0.0", "1.1.0", "2.0.0"):
        create_type(client, version=version)
    client.post(f"{TYPES}/delivery/deprecate", json={"version": "1.1.0", "reason": "wrong"})

    answer = client.post(f"{TYPES}/delivery/deprecate")

    every = {item["version"]: item for item in client.get(TYPES, params={"versions": "all"}).json()["items"]}
    assert answer.json() == every["2.0.0"]
    assert {item["status"] for item in every.values()} == {"deprecated"}
    assert every["1.1.0"]["deprecation_reason"] == "wrong"


def list_facts(clients: TenantClients, kind: str, name: str) -> list[dict[str, Any]]:
    """The events of a type, which all tests of the module share, about one receipt type."""
    return [event for event in read_events_of_type(clients.lab, kind) if event["receipt_type"] == name]


def test_a_repeated_deprecation_changes_nothing(
    client: httpx.Client, clients: TenantClients, clock: FixedClock
) -> None:
    create_type(client, "repeated")
    once = client.post(f"{TYPES}/repeated/deprecate", json={"reason": "old"})
    clock.advance(timedelta(minutes=1))

    again = client.post(f"{TYPES}/repeated/deprecate", json={"version": "1.0.0", "reason": "very old"})

    assert (once.status_code, again.status_code, again.json()) == (200, 200, once.json())
    assert list_facts(clients, "receipt.type.deprecated", "repeated") == [
        {"receipt_type": "repeated", "deprecated_at": once.json()["deprecated_at"]}
    ]


def test_a_change_is_published_and_audited(client: httpx.Client, clients: TenantClients) -> None:
    created = create_type(client, "published")
    changed = client.post(f"{TYPES}/published/deprecate", json={"version": "1.0.0"}).json()

    named = {"receipt_type": "published", "receipt_version": "1.0.0"}
    made = list_facts(clients, "receipt.type.created", "published")
    ended = list_facts(clients, "receipt.type.deprecated", "published")
    assert made == [{**named, "created_at": created["created_at"]}]
    assert ended == [{**named, "deprecated_at": changed["deprecated_at"]}]
    trail = read_audit_trail(clients.lab, created["id"])
    assert trail == [("receipt_type.create", "API_KEY"), ("receipt_type.deprecate", "API_KEY")]


@pytest.mark.parametrize(
    ("newest", "version", "reason"),
    [
        ("1.0.0", "1.0.0", None),
        ("1.10.0", "1.9.0", "version_not_higher"),
        ("1.0.0", "1.0.0-rc.1", "version_not_higher"),
        ("1.0.0-rc.10", "1.0.0-rc.9", "version_not_higher"),
        ("1.0.0-rc.a", "1.0.0-rc.1", "version_not_higher"),
        ("1.0.0+a", "1.0.0+b", "version_not_higher"),
        ("2.0.0", "1.99999999999999999999.0", "version_not_higher"),
    ],
)
def test_a_version_that_is_not_higher_is_a_conflict(
    client: httpx.Client, newest: str, version: str, reason: str | None
) -> None:
    first = create_type(client, version=newest)

    refused = client.post(TYPES, json=make_type(version=version))

    assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT")
    assert refused.json()["details"].get("reason") == reason
    assert client.get(TYPES, params={"versions": "all"}).json()["items"] == [first]


def test_a_version_stays_taken_after_its_deprecation(client: httpx.Client) -> None:
    create_type(client, version="2.0.0")
    client.post(f"{TYPES}/delivery/deprecate")

    assert client.post(TYPES, json=make_type(version="2.0.0")).status_code == 409
    assert client.post(TYPES, json=make_type(version="1.0.0")).status_code == 409
    assert create_type(client, version="2.0.1")["status"] == "active"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("name", value) for value in ("", "A", "-a", ".a", "a b", "a@1", "ä", "x" * 65, "a\n", 7, None, [])),
        *(("version", value) for value in ("", "1", "1.0", "1.0.0.0", "v1.0.0", "01.0.0", "1.0.0-", "1.0.0-01")),
        *(("version", value) for value in ("1.0.0+", "1.0.0\n", "1.0.0-ä", f"1.0.0-{'x' * 59}", "latest", 1, None)),
        *(("schema", value) for value in (None, True, "{}", [], {"type": "banana"}, {"type": "string"}, {"type": []})),
        *(("schema", {"properties": value}) for value in (7, {"a": 7}, {"a": {"minLength": -1}})),
        ("schema", {"$schema": "http://json-schema.org/draft-07/schema#"}),
        ("schema", {"description": "x" * 65_536}),
        *(("display_name", value) for value in ("", " ", "x" * 201, "a\nb", "a\u202eb", 7)),
        *(("description", value) for value in ("x" * 2001, 7, None)),
        *((name, "active") for name in ("status", "id", "created_at", "schema_hash", "payload_schema")),
    ],
)
def test_a_wrong_field_is_named_and_nothing_is_stored(client: httpx.Client, field: str, value: object) -> None:
    refused = client.post(TYPES, json=make_type(**{field: value}) if field != "name" else {**make_type(), field: value})

    assert refused.status_code == 400, refused.text
    assert refused.json()["details"]["fields"][0]["field"].startswith(f"/{field}"), refused.text
    assert client.get(TYPES).json()["items"] == []


@pytest.mark.parametrize("field", ["name", "version", "schema"])
def test_a_missing_field_is_named(client: httpx.Client, field: str) -> None:
    refused = client.post(TYPES, json={name: value for name, value in make_type().items() if name != field})

    assert [fault["field"] for fault in refused.json()["details"]["fields"]] == [f"/{field}"]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"version": "1"}, "/version"),
        ({"version": 1}, "/version"),
        ({"reason": ""}, "/reason"),
        ({"reason": "x" * 1001}, "/reason"),
        ({"reason": 7}, "/reason"),
        ({"name": "delivery"}, "/name"),
        ([], ""),
    ],
)
def test_a_wrong_deprecation_is_named_and_changes_nothing(client: httpx.Client, body: object, place: str) -> None:
    created = create_type(client)

    refused = client.post(f"{TYPES}/delivery/deprecate", json=body)

    assert refused.status_code == 400, refused.text
    assert refused.json()["details"]["fields"][0]["field"] == place
    assert client.get(f"{TYPES}/delivery").json() == created


def test_what_does_not_exist_is_not_found(client: httpx.Client, clients: TenantClients) -> None:
    create_type(client)
    stranger = clients.lab.orgs.create_tenant("Southfield", plan=Plan.ENTERPRISE)
    with make_client(clients.url, key=stranger.api_key) as foreign:
        create_type(foreign, "theirs")
        unknown = [
            client.get(f"{TYPES}/{name}").status_code for name in ("nothing", "delivery@2.0.0", "delivery@", "theirs")
        ]
        refused = [client.post(f"{TYPES}/{name}/deprecate").status_code for name in ("nothing", "theirs")]
        refused.append(client.post(f"{TYPES}/delivery/deprecate", json={"version": "9.9.9"}).status_code)
        assert versions_in(foreign.get(TYPES)) == [("theirs", "1.0.0")]
        assert create_type(foreign)["name"] == "delivery"

    assert (unknown, refused) == ([404] * 4, [404] * 3)
    assert versions_in(client.get(TYPES)) == [("delivery", "1.0.0")]


@pytest.mark.both_engines
def test_pages_are_stable_while_types_are_added(client: httpx.Client, clock: FixedClock) -> None:
    for number in range(5):
        clock.advance(timedelta(seconds=1))
        create_type(client, version=f"1.{number}.0")
    first = client.get(TYPES, params={"versions": "all", "limit": 2}).json()
    clock.advance(timedelta(seconds=1))
    create_type(client, version="2.0.0")

    rest = client.get(TYPES, params={"versions": "all", "limit": 4, "cursor": first["next_cursor"]})
    skipped = client.get(TYPES, params={"versions": "all", "limit": 2, "offset": 4})
    other = client.get(TYPES, params={"limit": 2, "cursor": first["next_cursor"]})

    assert [item["version"] for item in first["items"]] == ["1.4.0", "1.3.0"]
    assert [version for _, version in versions_in(rest)] == ["1.2.0", "1.1.0", "1.0.0"]
    assert [version for _, version in versions_in(skipped)] == ["1.1.0", "1.0.0"]
    assert rest.json()["next_cursor"] is None
    assert other.json()["details"]["fields"][0]["field"] == "/cursor"


def test_a_page_of_the_largest_schemas_is_whole(client: httpx.Client) -> None:
    schema = {"description": 'é"\\' * 10_900}
    for number in range(3):
        create_type(client, f"type-{number}", schema=schema)

    assert [item["schema"] for item in client.get(TYPES).json()["items"]] == [schema] * 3


@pytest.mark.both_engines
def test_of_twenty_equal_versions_at_once_one_is_created(clients: TenantClients) -> None:
    with clients.with_key() as client, ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: client.post(TYPES, json=make_type()), range(20)))

        assert sorted(answer.status_code for answer in answers) == [201] + [409] * 19
        assert versions_in(client.get(TYPES, params={"versions": "all"})) == [("delivery", "1.0.0")]


@pytest.mark.both_engines
def test_the_plan_limits_types_and_versions(clients: TenantClients) -> None:
    limits = {"receipt_types": 3, "versions_per_receipt_type": 2}
    small = clients.lab.orgs.create_tenant("Small", plan=Plan.ENTERPRISE)
    clients.lab.orgs.set_plan(small.tenant_id, Plan.ENTERPRISE, limits)
    with make_client(clients.url, key=small.api_key) as client, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: client.post(TYPES, json=make_type(f"type-{number}")), range(8)))
        assert sorted(answer.status_code for answer in answers) == [201] * 3 + [402] * 5
        refused = next(answer for answer in answers if answer.status_code == 402).json()
        assert refused["code"] == "QUOTA_EXCEEDED"
        assert refused["details"].items() >= {"resource": "receipt_types", "limit": 3, "used": 3}.items()

        name = client.get(TYPES).json()["items"][0]["name"]
        further = [client.post(TYPES, json=make_type(name, version)) for version in ("1.1.0", "1.2.0")]
        assert [answer.status_code for answer in further] == [201, 402]
        assert further[1].json()["details"]["resource"] == "versions_per_receipt_type"

        client.post(f"{TYPES}/{name}/deprecate")
        assert create_type(client, "one-more")["status"] == "active"


def test_reads_and_writes_need_their_scopes(clients: TenantClients) -> None:
    with clients.with_key(Scope.ATTESTATIONS_READ) as reader, clients.with_key(Scope.ISSUERS_WRITE) as writer:
        created = create_type(writer)
        statuses = [
            reader.get(TYPES).status_code,
            reader.get(f"{TYPES}/delivery").status_code,
            reader.post(TYPES, json=make_type(version="2.0.0")).status_code,
            reader.post(f"{TYPES}/delivery/deprecate").status_code,
            writer.get(TYPES).status_code,
        ]
        assert statuses == [200, 200, 403, 403, 403]
        assert reader.get(f"{TYPES}/delivery").json() == created


def test_a_version_is_cached_by_its_entity_tag(client: httpx.Client) -> None:
    create_type(client)
    tag = client.get(f"{TYPES}/delivery").headers["ETag"]

    assert client.get(f"{TYPES}/delivery", headers={"If-None-Match": tag}).status_code == 304
    client.post(f"{TYPES}/delivery/deprecate")
    assert client.get(f"{TYPES}/delivery", headers={"If-None-Match": tag}).status_code == 200


def test_a_repeated_creation_with_a_key_is_replayed(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": str(uuid4())}
    first, again = (client.post(TYPES, json=make_type(), headers=headers) for _ in range(2))

    assert (first.status_code, again.status_code, again.content) == (201, 201, first.content)
    assert first.headers["Location"] == f"{TYPES}/delivery@1.0.0"


def test_a_name_may_contain_what_addresses_escape(client: httpx.Client) -> None:
    created = create_type(client, "a.b_c-d", "1.0.0-rc.1+build.5")

    assert client.get(f"{TYPES}/a.b_c-d@1.0.0-rc.1+build.5").json() == created
    assert client.get(f"{TYPES}/a.b_c-d%401.0.0-rc.1%2Bbuild.5").json() == created
