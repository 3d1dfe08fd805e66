"""The inbox over HTTP: a consumer lists, reads, archives and declines what issuers delivered."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from attestlab.installation import Installation
from support.in_process_server import make_client
from support.inbox import INBOX, Recipient, Registry
from support.orgs import read_audit_trail

pytestmark = pytest.mark.one_world


@pytest.mark.both_engines
def test_a_minted_attestation_is_in_its_recipients_inbox(registry: Registry, ada: Recipient) -> None:
    minted = registry.mint(recipient_email=ada.email.upper())

    page = ada.list()

    assert (page["total"], page["next_cursor"]) == (1, None)
    (item,) = page["items"]
    assert item == {
        "id": registry.delivery_of(minted)["items"][0]["id"],
        "issuer_id": registry.issuer["id"],
        "issuer_name": "Northfield University",
        "attestation_id": minted["id"],
        "delivery_state": "DELIVERED",
        "read_state": "UNREAD",
        "safe_metadata": {"schema": "degree", "issuer_name": "Northfield University", "title": "Degree"},
        "attestation_status": "VALID",
        "share_url": minted["share_url"],
        "created_at": item["created_at"],
        "updated_at": item["created_at"],
    }


def test_an_item_comes_with_its_attestation_and_stays_unread(registry: Registry, ada: Recipient) -> None:
    minted = registry.mint(recipient_email=ada.email)
    item = ada.only_item()

    detail = ada.client.get(f"{INBOX}/{item['id']}").json()

    attestation = detail.pop("attestation")
    assert detail == item
    assert attestation == registry.client.get(f"/v1/attestations/{minted['id']}").json()
    assert ada.list()["total"] == 1


@pytest.mark.both_engines
def test_each_read_state_may_follow_each_other_and_lists_have_their_own(registry: Registry, ada: Recipient) -> None:
    registry.mint(recipient_email=ada.email)
    item = ada.only_item()
    order = ("READ", "ARCHIVED", "UNREAD", "ARCHIVED", "READ", "UNREAD", "UNREAD")

    for state in order:
        changed = ada.client.patch(f"{INBOX}/{item['id']}", json={"read_state": state})
        assert (changed.status_code, changed.json()["read_state"]) == (200, state)
        totals = {each: ada.list(read_state=each)["total"] for each in ("UNREAD", "READ", "ARCHIVED", "ALL")}
        assert totals == {"UNREAD": 0, "READ": 0, "ARCHIVED": 0, "ALL": 1, state: 1}


def test_the_issuer_does_not_learn_what_the_recipient_read(registry: Registry, ada: Recipient) -> None:
    minted = registry.mint(recipient_email=ada.email)
    item = ada.only_item()
    before = registry.delivery_of(minted)

    ada.client.patch(f"{INBOX}/{item['id']}", json={"read_state": "READ"})

    assert registry.delivery_of(minted) == before
    trail = registry.client.get("/v1/audit/events", params={"resource_id": item["id"]}).json()["items"]
    assert [event["action"] for event in trail] == ["delivery.create"]
    assert ("inbox_item.update", "USER") in read_audit_trail(registry.lab, item["id"])


@pytest.mark.both_engines
def test_a_declined_attestation_is_archived_for_good_and_stays_valid(registry: Registry, ada: Recipient) -> None:
    minted = registry.mint(recipient_email=ada.email)
    item = ada.only_item()
    path = f"{INBOX}/{item['id']}"

    declined = ada.client.post(f"{path}/decline", json={"reason": "It is not mine."}).json()
    again = ada.client.post(f"{path}/decline", json={"reason": "Another reason."}).json()
    reread = ada.client.patch(path, json={"read_state": "READ"})
    redelivered = registry.deliver(minted, recipient_email=ada.email)

    assert (declined["delivery_state"], declined["read_state"]) == ("DECLINED", "ARCHIVED")
    assert again == declined
    assert (reread.status_code, reread.json()["details"]["reason"]) == (409, "declined")
    assert (redelivered.status_code, redelivered.json()["delivery_state"]) == (200, "DECLINED")
    assert ada.client.get(path).json()["attestation"] is None
    (shown_to_issuer,) = registry.delivery_of(minted)["items"]
    assert (shown_to_issuer["delivery_state"], shown_to_issuer["decline_reason"]) == ("DECLINED", "It is not mine.")
    assert shown_to_issuer["declined_at"] == declined["updated_at"]
    assert registry.client.get(f"/v1/attestations/{minted['id']}").json()["status"] == "VALID"
    assert registry.mailed_to() == [ada.email]


def test_a_decline_needs_no_reason(registry: Registry, ada: Recipient) -> None:
    minted = registry.mint(recipient_email=ada.email)

    answer = ada.client.post(f"{INBOX}/{ada.only_item()['id']}/decline")

    assert answer.status_code == 200, answer.text
    assert registry.delivery_of(minted)["items"][0]["decline_reason"] is None


@pytest.mark.both_engines
def test_pages_follow_each_other_newest_first(registry: Registry, ada: Recipient) -> None:
    minted = [registry.mint(recipient_email=ada.email)["id"] for _ in range(5)]
    for state, item in zip(("READ", "ARCHIVED"), ada.list()["items"], strict=False):
        ada.client.patch(f"{INBOX}/{item['id']}", json={"read_state": state})

    found, cursor = [], None
    while True:
        page = ada.list(read_state="ALL", limit=2, **({} if cursor is None else {"cursor": cursor}))
        found += [item["attestation_id"] for item in page["items"]]
        assert page["total"] == 5
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert sorted(found) == sorted(minted)
    ids = [item["id"] for item in ada.list(read_state="ALL")["items"]]
    assert ids == sorted(ids, reverse=True)
    assert len(ada.list(limit=2)["items"]) == 2


def test_a_cursor_of_another_filter_is_refused(registry: Registry, ada: Recipient) -> None:
    for _ in range(2):
        registry.mint(recipient_email=ada.email)
    cursor = ada.list(limit=1)["next_cursor"]

    refused = ada.client.get(INBOX, params={"read_state": "ALL", "limit": 1, "cursor": cursor})

    assert refused.status_code == 400
    assert [fault["field"] for fault in refused.json()["details"]["fields"]] == ["/cursor"]


def test_another_persons_item_is_like_an_unknown_one(registry: Registry, ada: Recipient) -> None:
    registry.mint(recipient_email=ada.email)
    item = ada.only_item()
    grace = registry.consumer("grace")

    with grace.client as client:
        for item_id in (item["id"], str(uuid4())):
            path = f"{INBOX}/{item_id}"
            answers = [
                client.get(path),
                client.patch(path, json={"read_state": "READ"}),
                client.post(f"{path}/decline", json={}),
            ]
            assert [answer.status_code for answer in answers] == [404] * 3
            assert {answer.json()["message"] for answer in answers} == {f"No inbox item {item_id} is known."}
    assert ada.only_item() == item


BAD_CHANGES: list[tuple[str, str, dict[str, Any], str]] = [
    ("PATCH", "", {}, "/read_state"),
    ("PATCH", "", {"read_state": None}, "/read_state"),
    ("PATCH", "", {"read_state": "ALL"}, "/read_state"),
    ("PATCH", "", {"read_state": "READ", "delivery_state": "PENDING"}, "/delivery_state"),
    ("POST", "/decline", {"reason": ""}, "/reason"),
    ("POST", "/decline", {"reason": "x" * 1001}, "/reason"),
    ("POST", "/decline", {"reason": 7}, "/reason"),
    ("POST", "/decline", {"why": "x"}, "/why"),
]


def test_a_bad_change_changes_nothing(registry: Registry, ada: Recipient) -> None:
    registry.mint(recipient_email=ada.email)
    item = ada.only_item()

    for method, path, body, field in BAD_CHANGES:
        refused = ada.client.request(method, f"{INBOX}/{item['id']}{path}", json=body)
        assert refused.status_code == 400, (path, body)
        assert [fault["field"] for fault in refused.json()["details"]["fields"]] == [field]
    assert ada.only_item() == item


def test_a_bad_query_is_refused(ada: Recipient) -> None:
    bad: list[dict[str, Any]] = [{"read_state": "unread"}, {"limit": 0}, {"limit": 101}, {"cursor": "x"}, {"a": "b"}]

    assert [ada.client.get(INBOX, params=query).status_code for query in bad] == [400] * len(bad)


def test_a_tenant_has_no_inbox(registry: Registry) -> None:
    answer = registry.client.get(INBOX)

    assert (answer.status_code, answer.json()["details"]["required_realm"]) == (403, "consumer")


def test_a_consumers_key_opens_the_inbox(registry: Registry, ada: Recipient, lab: Installation) -> None:
    registry.mint(recipient_email=ada.email)
    made = ada.client.post("/v1/consumer/api-keys", json={"name": "mine"}).json()

    with make_client(str(registry.client.base_url), key=made["secret"]) as client:
        item = client.get(INBOX).json()["items"][0]
        read = client.patch(f"{INBOX}/{item['id']}", json={"read_state": "READ"})

    assert read.status_code == 200
    assert ada.only_item()["read_state"] == "READ"
