"""The inbox of an account that is exported or deleted."""

from __future__ import annotations

import json

import pytest

from attestlab.consumer.accounts.store import PersonalAccount, get_account
from attestlab.consumer.inbox.account_part import InboxPart
from support.inbox import INBOX, Recipient, Registry
from support.orgs import PASSWORD

pytestmark = pytest.mark.one_world


def account_of(registry: Registry, recipient: Recipient) -> PersonalAccount:
    with registry.lab.storage.read() as connection:
        return get_account(connection.execute, recipient.user_id)


def test_an_export_has_each_item_as_the_account_sees_it(registry: Registry, ada: Recipient) -> None:
    minted, named = registry.mint(recipient_email=ada.email), registry.mint()
    registry.delivered(named, username=ada.username, safe_metadata={"title": "Yours"})
    first, _ = ada.list()["items"][::-1]
    ada.client.post(f"{INBOX}/{first['id']}/decline", json={"reason": "Not mine."})
    registry.mint(recipient_email=registry.address("grace"))

    with registry.lab.storage.read() as connection:
        exported = InboxPart().export(connection.execute, account_of(registry, ada))

    assert json.loads(json.dumps(exported)) == exported
    by_attestation = {each["attestation_id"]: each for each in exported}
    assert set(by_attestation) == {minted["id"], named["id"]}
    shown_to_issuer = by_attestation[named["id"]]
    assert (shown_to_issuer["username"], shown_to_issuer["recipient_email"], shown_to_issuer["safe_metadata"]) == (
        ada.username,
        None,
        {"title": "Yours"},
    )
    assert sum(each["decline_reason"] == "Not mine." for each in exported) == 1


@pytest.mark.both_engines
def test_what_a_deleted_account_read_is_forgotten_and_its_deliveries_stay(registry: Registry, ada: Recipient) -> None:
    minted = [registry.mint(recipient_email=ada.email) for _ in range(3)]
    for state, item in zip(("READ", "ARCHIVED"), ada.list()["items"], strict=False):
        ada.client.patch(f"{INBOX}/{item['id']}", json={"read_state": state})
    account, before = account_of(registry, ada), [registry.delivery_of(each) for each in minted]

    with registry.lab.storage.write() as tx:
        InboxPart().erase(tx, account, registry.lab.clock.now())

    assert {state: ada.list(read_state=state)["total"] for state in ("UNREAD", "READ", "ARCHIVED")} == {
        "UNREAD": 3,
        "READ": 0,
        "ARCHIVED": 0,
    }
    assert [registry.delivery_of(each) for each in minted] == before


def test_unread_items_are_counted_for_the_profile(registry: Registry, ada: Recipient) -> None:
    for _ in range(2):
        registry.mint(recipient_email=ada.email)
    ada.client.patch(f"{INBOX}/{ada.list()['items'][0]['id']}", json={"read_state": "READ"})

    assert ada.client.get("/v1/consumer/me").json()["unread"] == 1
    assert len(ada.client.get("/v1/consumer/export").json()["parts"]["inbox"]) == 2


def test_a_deleted_account_leaves_the_issuer_what_it_knew(registry: Registry, ada: Recipient) -> None:
    minted = registry.mint(recipient_email=ada.email)
    before = registry.delivery_of(minted)

    deleted = ada.client.post("/v1/consumer/me/delete", json={"password": PASSWORD})

    assert deleted.status_code == 204, deleted.text
    assert registry.delivery_of(minted) == before
