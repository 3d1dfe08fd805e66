"""What a consumer holds: record, bundle and exports of what was delivered to them; everything else is not found."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from support.attestations import make_mint_body, mint
from support.in_process_server import make_client
from support.inbox import INBOX, Recipient, Registry

pytestmark = pytest.mark.one_world
FORMS = ("", "/proof-bundle", "/sd-jwt", "/open-badge")


@pytest.fixture
def holder(registry: Registry, ada: Recipient) -> Iterator[httpx.Client]:
    """Ada with her key."""
    made = ada.client.post("/v1/consumer/api-keys", json={"name": "mine"}).json()
    with make_client(str(registry.client.base_url), key=made["secret"]) as client:
        yield client


def statuses(client: httpx.Client, attestation_id: str) -> list[int]:
    return [client.get(f"/v1/attestations/{attestation_id}{form}").status_code for form in FORMS]


@pytest.mark.both_engines
def test_a_holder_reads_and_exports_what_was_delivered(
    registry: Registry, ada: Recipient, holder: httpx.Client
) -> None:
    mine = registry.mint(recipient_email=ada.email)
    registry.mint(recipient_email=registry.address("grace"))
    shared = registry.mint()
    registry.delivered(shared, username=ada.username)

    listed = holder.get("/v1/attestations").json()["items"]

    assert [row["id"] for row in listed] == [shared["id"], mine["id"]]
    assert statuses(holder, mine["id"]) == [200] * len(FORMS)
    for form in FORMS[:2]:
        path = f"/v1/attestations/{mine['id']}{form}"
        assert holder.get(path).json() == registry.client.get(path).json()
    filtered = holder.get("/v1/attestations", params={"schema": "degree", "status": "REVOKED"}).json()
    assert filtered["items"] == []


@pytest.mark.both_engines
def test_pages_of_a_holder_follow_each_other(registry: Registry, ada: Recipient) -> None:
    minted = [registry.mint(recipient_email=ada.email)["id"] for _ in range(3)]

    first = ada.client.get("/v1/attestations", params={"limit": 2}).json()
    second = ada.client.get("/v1/attestations", params={"limit": 2, "cursor": first["next_cursor"]}).json()

    assert [row["id"] for row in first["items"] + second["items"]] == minted[::-1]


def test_what_was_not_delivered_or_was_declined_is_not_found(
    registry: Registry, ada: Recipient, holder: httpx.Client
) -> None:
    foreign, declined = registry.mint(), registry.mint(recipient_email=ada.email)
    (item,) = holder.get(INBOX).json()["items"]
    assert holder.post(f"{INBOX}/{item['id']}/decline").status_code == 200

    for attestation in (foreign, declined):
        assert statuses(holder, attestation["id"]) == [404] * len(FORMS)
    assert holder.get("/v1/attestations").json()["items"] == []


def test_what_waits_for_an_address_is_not_found(registry: Registry, ada: Recipient) -> None:
    waiting = registry.mint(recipient_email=registry.address("work"))
    assert statuses(ada.client, waiting["id"]) == [404] * len(FORMS)

    registry.verify_address(ada, registry.address("work"))

    assert statuses(ada.client, waiting["id"]) == [200] * len(FORMS)


def test_a_holder_changes_nothing_and_mints_nothing(registry: Registry, ada: Recipient) -> None:
    mine = registry.mint(recipient_email=ada.email)
    path, body = f"/v1/attestations/{mine['id']}", make_mint_body(registry.issuer)

    superseded = ada.client.post(f"{path}/supersede", json=body, headers={"Idempotency-Key": "one"})
    minted = mint(ada.client, body)
    revoked = ada.client.post(f"{path}/revoke", json={"reason": "a test"})

    assert (superseded.status_code, minted.status_code, revoked.status_code) == (404, 404, 403)
    assert registry.client.get(path).json()["status"] == "VALID"
