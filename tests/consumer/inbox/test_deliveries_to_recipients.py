"""Deliveries by an issuer: to an address or a username, once for each account, to at most twenty recipients."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from attestlab.delivery import waiting
from attestlab.orgs.rules import Plan, Scope
from support.consumers import ConsumerPortal
from support.in_process_server import make_client
from support.inbox import INBOX, Recipient, Registry
from support.orgs import create_api_key
from support.sweeping import sweep_once

pytestmark = pytest.mark.one_world
MAX_RECIPIENTS = 20


@pytest.mark.both_engines
def test_an_attestation_is_delivered_to_a_username_with_a_mail(registry: Registry, ada: Recipient) -> None:
    minted = registry.mint()

    delivery = registry.delivered(minted, username=ada.username, safe_metadata={"title": "Your <b>degree</b>"})

    item = ada.only_item()
    assert delivery == {
        "id": item["id"],
        "attestation_id": minted["id"],
        "delivery_state": "DELIVERED",
        "created_at": item["created_at"],
    }
    assert item["safe_metadata"] == {"title": "Your <b>degree</b>"}
    assert registry.mailed_to() == [ada.email]
    shown = registry.delivery_of(minted)
    (shown_to_issuer,) = shown["items"]
    assert (shown_to_issuer["username"], shown_to_issuer["recipient_email"], shown["recipient_email"]) == (
        ada.username,
        None,
        None,
    )


def test_an_account_has_an_attestation_once_whatever_reached_it(registry: Registry, ada: Recipient) -> None:
    registry.verify_address(ada, registry.address("work"))
    minted = registry.mint(recipient_email=ada.email)
    first = registry.delivery_of(minted)["items"]

    answers = [
        registry.deliver(minted, recipient_email=ada.email),
        registry.deliver(minted, username=ada.username),
        registry.deliver(minted, recipient_email=registry.address("work").upper()),
    ]

    assert [answer.status_code for answer in answers] == [200] * 3
    assert {answer.json()["id"] for answer in answers} == {ada.only_item()["id"]}
    assert registry.delivery_of(minted)["items"] == first
    assert registry.mailed_to() == [ada.email]


@pytest.mark.both_engines
def test_an_unknown_address_is_pending_until_an_account_has_it(registry: Registry) -> None:
    minted = registry.mint()
    delivery = registry.delivered(minted, recipient_email=registry.address("Grace"))
    again = registry.deliver(minted, recipient_email=registry.address("grace"))

    grace = registry.consumer("grace")

    assert delivery["delivery_state"] == "PENDING"
    assert (again.status_code, again.json()) == (200, delivery)
    with grace.client:
        assert grace.only_item()["id"] == delivery["id"]
        assert grace.list()["total"] == 1
    (shown_to_issuer,) = registry.delivery_of(minted)["items"]
    assert (shown_to_issuer["delivery_state"], shown_to_issuer["recipient_email"]) == (
        "DELIVERED",
        registry.address("grace"),
    )


def test_the_invitation_in_the_mail_opens_an_account_that_has_it(registry: Registry) -> None:
    address = registry.address("grace")
    minted = registry.mint(recipient_email=address)

    with registry.clients.anonymous() as client:
        portal = ConsumerPortal(registry.lab, registry.clients.url, client)
        opened = portal.sign_up(address, invitation_token=portal.token_of(address)).json()

    with make_client(registry.clients.url, token=opened["tokens"]["access_token"]) as grace:
        (item,) = grace.get(INBOX).json()["items"]
    assert (opened["status"], item["attestation_id"]) == ("ACTIVE", minted["id"])
    assert registry.delivery_of(minted)["delivery_state"] == "DELIVERED"


@pytest.mark.both_engines
def test_a_further_address_claims_what_waits_but_no_second_item(registry: Registry, ada: Recipient) -> None:
    both, other = registry.mint(recipient_email=ada.email), registry.mint(recipient_email=registry.address("work"))
    registry.delivered(both, recipient_email=registry.address("work"))

    claimed = registry.verify_address(ada, registry.address("work"))

    assert claimed == 1
    assert {item["attestation_id"] for item in ada.list()["items"]} == {both["id"], other["id"]}
    assert ada.list()["total"] == 2
    assert [each["delivery_state"] for each in registry.delivery_of(both)["items"]] == ["DELIVERED"] * 2


@pytest.mark.both_engines
def test_the_sweeper_delivers_what_is_too_much_for_one_write(
    registry: Registry, ada: Recipient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "MAX_AT_ONCE", 2)
    minted = [registry.mint(recipient_email=registry.address("work")) for _ in range(5)]
    registry.mint(recipient_email=registry.address("stranger"))

    claimed, shown = registry.verify_address(ada, registry.address("work")), ada.list()["total"]
    asyncio.run(sweep_once(registry.lab))

    assert (claimed, shown) == (2, 2)
    assert {item["attestation_id"] for item in ada.list()["items"]} == {each["id"] for each in minted}
    assert registry.lab.deliveries.find_rest() is None


@pytest.mark.both_engines
def test_the_rest_is_not_delivered_to_an_account_that_lost_the_address(registry: Registry, ada: Recipient) -> None:
    registry.mint(recipient_email=registry.address("work"))
    awaited = waiting.WaitingAddress(registry.address("work"), ada.user_id)

    with registry.lab.storage.write() as tx:
        assert not registry.lab.deliveries.deliver_rest(tx, awaited=awaited, at_most=10)

    assert ada.list()["total"] == 0


def test_a_mint_to_a_further_address_reaches_the_account(registry: Registry, ada: Recipient) -> None:
    registry.verify_address(ada, registry.address("work"))

    minted = registry.mint(recipient_email=registry.address("work").upper())

    assert ada.only_item()["attestation_id"] == minted["id"]
    assert registry.delivery_of(minted)["recipient_email"] == registry.address("work")
    assert registry.mailed_to() == [registry.address("work")]


@pytest.mark.both_engines
def test_concurrent_deliveries_never_exceed_twenty_recipients(registry: Registry, ada: Recipient) -> None:
    minted = registry.mint(recipient_email=ada.email)
    bodies = [{"recipient_email": registry.address(f"person{number}")} for number in range(MAX_RECIPIENTS + 4)]
    bodies += [{"username": ada.username}] * 2

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda body: registry.deliver(minted, **body), bodies))

    assert sorted(answer.status_code for answer in answers) == [200] * 2 + [201] * 19 + [409] * 5
    refused = [answer.json() for answer in answers if answer.status_code == 409]
    assert {each["details"]["reason"] for each in refused} == {"too_many_recipients"}
    assert {each["details"]["limit"] for each in refused} == {MAX_RECIPIENTS}
    assert len(registry.delivery_of(minted)["items"]) == MAX_RECIPIENTS
    assert len(registry.mailed_to()) == MAX_RECIPIENTS


@pytest.mark.both_engines
def test_the_same_delivery_at_once_is_one(registry: Registry) -> None:
    minted = registry.mint()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: registry.deliver(minted, recipient_email=registry.address("a")), range(8)))

    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert registry.mailed_to() == [registry.address("a")]


def test_only_a_valid_attestation_of_ones_own_is_delivered(registry: Registry, ada: Recipient) -> None:
    minted, revoked = registry.mint(), registry.mint()
    registry.client.post(f"/v1/attestations/{revoked['id']}/revoke", json={"reason": "a test"})
    stranger = registry.lab.orgs.create_tenant("Stranger", plan=Plan.FREE)

    with make_client(str(registry.client.base_url), key=stranger.api_key) as client:
        foreign = client.post(f"{INBOX}/deliver", json={"attestation_id": minted["id"], "username": ada.username})
    ended = registry.deliver(revoked, username=ada.username)
    unknown = registry.deliver({"id": str(uuid4())}, username=ada.username)

    assert (foreign.status_code, unknown.status_code) == (404, 404)
    assert (ended.status_code, ended.json()["details"]["status"]) == (409, "REVOKED")
    assert ada.list(read_state="ALL")["total"] == 0
    assert registry.mailed_to() == []


UNKNOWN = "unknown@people.example"
BAD_DELIVERIES: list[tuple[dict[str, Any], int, str | None]] = [
    ({}, 400, "/recipient_email"),
    ({"recipient_email": None, "username": None}, 400, "/recipient_email"),
    ({"recipient_email": UNKNOWN, "username": "ada"}, 400, "/recipient_email"),
    ({"recipient_email": "nonsense"}, 400, "/recipient_email"),
    ({"recipient_email": f"{'a' * 250}@people.example"}, 400, "/recipient_email"),
    ({"recipient_email": "a@people.example\nBcc: eve@evil.example"}, 400, "/recipient_email"),
    ({"recipient_email": 7}, 400, "/recipient_email"),
    ({"username": ""}, 400, "/username"),
    ({"username": "a" * 31}, 400, "/username"),
    ({"username": ["ada"]}, 400, "/username"),
    ({"username": "unknown"}, 404, None),
    ({"username": "ada' OR '1'='1"}, 404, None),
    ({"recipient_email": UNKNOWN, "attestation_id": None}, 400, "/attestation_id"),
    ({"recipient_email": UNKNOWN, "attestation_id": "x"}, 400, "/attestation_id"),
    ({"recipient_email": UNKNOWN, "safe_metadata": []}, 400, "/safe_metadata"),
    ({"recipient_email": UNKNOWN, "safe_metadata": {"a": "x" * 4096}}, 400, "/safe_metadata"),
    ({"recipient_email": UNKNOWN, "read_state": "READ"}, 400, "/read_state"),
]


def test_a_bad_delivery_stores_nothing(registry: Registry) -> None:
    minted = registry.mint()

    for body, status, field in BAD_DELIVERIES:
        refused = registry.deliver(minted, **body)
        assert refused.status_code == status, (body, refused.text)
        named = [fault["field"] for fault in refused.json()["details"].get("fields", [])]
        assert named == ([] if field is None else [field]), body
    assert registry.client.get(f"/v1/attestations/{minted['id']}/delivery").status_code == 404
    assert registry.mailed_to() == []


def test_metadata_of_exactly_the_limit_come_back_as_sent(registry: Registry, ada: Recipient) -> None:
    metadata = {"a": "ä" * 2044}  # with the member's name and braces 4,096 bytes

    registry.delivered(registry.mint(), username=ada.username, safe_metadata=metadata)

    assert ada.only_item()["safe_metadata"] == metadata


def test_only_those_who_mint_deliver(registry: Registry, ada: Recipient) -> None:
    minted = registry.mint()
    body = {"attestation_id": minted["id"], "username": ada.username}
    reader = registry.clients.with_key(Scope.ATTESTATIONS_READ)
    _, analyst = registry.clients.person("analyst")
    _, member = registry.clients.person("member")

    with reader, analyst, member:
        answers = [each.post(f"{INBOX}/deliver", json=body) for each in (ada.client, reader, analyst, member)]

    assert [answer.status_code for answer in answers] == [403, 403, 403, 201]
    assert answers[0].json()["details"] | {"request_id": ""} == {"required_realm": "tenant", "request_id": ""}


def test_a_person_of_a_team_receives_too(registry: Registry) -> None:
    """Their account has no inbox to read, but the delivery is theirs and no invitation is sent."""
    stranger = registry.lab.orgs.create_tenant("Stranger", plan=Plan.FREE)

    delivery = registry.delivered(registry.mint(), recipient_email=stranger.owner_email)

    assert delivery["delivery_state"] == "DELIVERED"


def test_recipients_by_name_are_counted_by_the_blast_radius(registry: Registry, ada: Recipient) -> None:
    registry.delivered(registry.mint(recipient_email=registry.address("grace")), username=ada.username)

    radius = registry.client.get(f"/v1/issuers/{registry.issuer['id']}/blast-radius").json()

    recipients = [each["recipient"] for each in radius["by_recipient"]]
    assert sorted(recipients) == sorted([ada.username, registry.address("grace")])


def test_a_key_of_another_tenant_sees_no_recipients(registry: Registry, ada: Recipient) -> None:
    minted = registry.mint(recipient_email=ada.email)
    stranger = registry.lab.orgs.create_tenant("Stranger", plan=Plan.FREE)
    key = create_api_key(registry.lab, stranger)

    with make_client(str(registry.client.base_url), key=key) as client:
        hidden = client.get(f"/v1/attestations/{minted['id']}/delivery")

    assert hidden.status_code == 404
    assert ada.client.get(f"/v1/attestations/{minted['id']}/delivery").status_code == 404


def test_openapi_has_the_answer_to_a_repetition(registry: Registry) -> None:
    described = registry.client.get("/openapi.json").json()["paths"]

    for path in (f"{INBOX}/deliver", "/v1/billing/addons/attach"):
        responses = described[path]["post"]["responses"]
        assert responses["200"]["content"] == responses["201"]["content"]
        assert "already" in responses["200"]["description"]
