"""fsck and followers know receipts: each test makes one change, which they find."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import delete, update

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.db.transaction import Transaction
from attestlab.integrity.fsck import fsck
from attestlab.log import entries
from attestlab.log.entries import EntryType
from attestlab.log.follower.auditor import BrokenStatusChain, UnauthorisedMint
from attestlab.receipts.store import receipts
from support.lab_checks import make_follower
from support.receipts import ReceiptDesk

pytestmark = pytest.mark.tampered


def change_row(desk: ReceiptDesk, receipt: dict[str, Any], **values: Any) -> None:
    """Change the row of a receipt behind the service's back."""
    with desk.lab.storage.engine.begin() as connection:
        connection.execute(update(receipts).where(receipts.c.id == UUID(receipt["receipt_id"])).values(**values))


def problems(desk: ReceiptDesk, kind: str = "receipt") -> set[str]:
    return {problem.message for problem in fsck(desk.lab) if problem.kind == kind}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"payload": canonical({"n": 4})}, "The payload does not match the signed payload hash."),
        ({"subject": "parcel 8"}, "The subject does not match the signed subject hash."),
        ({"receipt_version": "2.0.0"}, "The JWS payload is not the expected statement."),
        ({"nonce": bytes(32)}, "The log entry's commitment does not open to this payload and signature."),
        ({"payload": None}, "its payload, subject or nonce is missing, and it was not redacted"),
        ({"status": "REVOKED"}, "the row's status is REVOKED, but its log index of a change is None"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_fsck_finds_a_changed_row(desk: ReceiptDesk, values: dict[str, Any], message: str) -> None:
    change_row(desk, desk.mint(), **values)

    found = problems(desk)
    assert any(message in each for each in found), found
    assert len(found) > 1, "the audit trail has its digest, too"


def test_fsck_finds_a_receipt_that_is_missing(desk: ReceiptDesk) -> None:
    receipt = desk.mint()
    with desk.lab.storage.engine.begin() as connection:
        connection.execute(delete(receipts).where(receipts.c.id == UUID(receipt["receipt_id"])))

    assert "1 minted entries, 0 receipts" in problems(desk)


def test_fsck_finds_a_status_that_the_log_does_not_have(desk: ReceiptDesk) -> None:
    revoked, other = desk.mint(), desk.mint()
    desk.change(revoked, "revoke", reason="damaged")
    change_row(desk, revoked, revocation_reason="lost")
    change_row(desk, other, status="REVOKED", changed_index=1)

    assert {"its status entry differs in reason"} <= problems(desk)
    assert any("its status entry differs in type" in each for each in problems(desk))
    assert any("more status entries than rows" in each or "fewer" in each for each in problems(desk))


def test_fsck_finds_what_a_redaction_left(desk: ReceiptDesk) -> None:
    receipt = desk.mint()
    desk.change(receipt, "redact")
    change_row(desk, receipt, extra="{}")

    assert "it was redacted, and still has payload, subject, nonce or metadata" in problems(desk)


def append(desk: ReceiptDesk, make: Any) -> None:
    """Append an entry to the log that the service would not make."""
    with desk.lab.storage.write() as tx:
        make(tx)


def test_a_follower_finds_a_status_without_a_mint(desk: ReceiptDesk, tmp_path: Any) -> None:
    receipt = desk.mint()
    facts: dict[str, Any] = {"status": "REVOKED", "at": desk.lab.clock.now(), "issuer_id": UUID(desk.issuer["id"])}

    def end(tx: Transaction) -> None:
        entry = entries.receipt_status_entry(
            entries.FIRST_LINK, receipt_id=UUID(int=7), minted_index=receipt["log_index"], **facts
        )
        subject = entries.receipt_subject(UUID(int=7))
        desk.lab.log.append(tx, entry, kind=EntryType.RECEIPT_STATUS, subject=subject)

    append(desk, end)

    with pytest.raises(Exception, match="is not its mint") as caught:
        make_follower(desk.lab, tmp_path / "state").advance(lambda _seen: None)
    assert isinstance(caught.value.__cause__, BrokenStatusChain)
    assert "the log has 1 more status entries than rows that changed" in problems(desk)


def test_a_follower_finds_a_mint_by_a_key_that_is_not_active(desk: ReceiptDesk, tmp_path: Any) -> None:
    desk.mint()

    def mint(tx: Transaction) -> None:
        entry = entries.receipt_minted_entry(
            receipt_id=UUID(int=7),
            issuer_id=UUID(desk.issuer["id"]),
            kid="unknown",
            alg="Ed25519",
            public_spki=b"key",
            at=desk.lab.clock.now(),
            commit=bytes(32),
        )
        desk.lab.log.append(tx, entry, kind=EntryType.RECEIPT_MINTED)

    append(desk, mint)

    with pytest.raises(Exception, match="not in the log there") as caught:
        make_follower(desk.lab, tmp_path / "state").advance(lambda _seen: None)
    assert isinstance(caught.value.__cause__, UnauthorisedMint)
    assert "2 minted entries, 1 receipts" in problems(desk)
