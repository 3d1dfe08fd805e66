"""What ends with an account, and is exported with it."""

from __future__ import annotations

from uuid import UUID

import pytest

from attestlab.attestations.rules import Status
from attestlab.consumer.accounts import store as account_store
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.protections.account_part import ProtectionsPart
from attestlab.protections.store import select_protected
from support.in_process_server import make_client, wait_until
from support.protections import PORTFOLIO, PROTECTIONS, Consumer, hash_of, verify


def test_the_export_has_all_that_is_kept(ada: Consumer, grace: Consumer, lab: Installation, url: str) -> None:
    made = ada.protect("sunset", file_name="sunset.png", file_size=7, visibility="public")
    grace.protect("dawn")
    verify(url, made)
    wait_until(lambda: ada.client.get(PROTECTIONS).json()["items"][0]["verification_count"], 1)

    with lab.storage.read() as connection:
        account = account_store.get_account(connection.execute, ada.user_id)
        exported = ProtectionsPart().export(connection.execute, account)
        assert ProtectionsPart().count(connection.execute, account) == 1

    names = {"id", "attestation_id", "content_hash", "title", "description", "content_type", "category", "file_name"}
    names |= {"file_size", "visibility", "source", "created_at", "updated_at"}
    days = [{"day": "2026-11-21", "valid": 1, "other": 0}]
    assert exported == [{**{name: made[name] for name in names}, "verifications": days}]


def test_an_account_holds_what_its_protections_name(ada: Consumer, grace: Consumer, lab: Installation) -> None:
    made, deleted = ada.protect("sunset"), ada.protect("dawn")
    grace.protect("night")
    ada.client.delete(f"{PROTECTIONS}/{deleted['id']}")

    with lab.storage.read() as connection:
        held = connection.execute(select_protected(ada.tenant_id)).scalars().all()

    assert list(map(str, held)) == [made["attestation_id"]]


@pytest.mark.both_engines
def test_a_deleted_account_leaves_attestations_that_name_no_person(ada: Consumer, lab: Installation, url: str) -> None:
    ada.choose_profile("ada")
    made = ada.protect("sunset", visibility="public", description="By Ada", file_name="ada.png")

    with lab.storage.write() as tx:
        account = account_store.get_account(tx.exec, ada.user_id)
        ProtectionsPart().erase(tx, account, lab.clock.now())

    assert ada.client.get(PROTECTIONS).json() == {"items": [], "total": 0, "next_cursor": None}
    with make_client(url) as anyone:
        assert anyone.get(f"{PORTFOLIO}/ada").json()["protections"] == []
    assert verify(url, made, document_hash=hash_of("sunset")) == "VALID"
    row = lab.attestations.get(UUID(made["attestation_id"]), caller=lab.operator_caller())
    assert (Status(row.status), row.recipient_email) == (Status.VALID, None)
    assert list(fsck(lab)) == []
