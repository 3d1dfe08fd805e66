"""`lab.receipts`: the verbs of a program, over HTTP."""

from __future__ import annotations

import attestlab
from attestlab.client.handles.bundles import ReceiptBundleHandle
from support.orgs import create_api_key
from support.receipts import ReceiptDesk


def test_a_program_mints_verifies_redacts_and_revokes(desk: ReceiptDesk) -> None:
    key = create_api_key(desk.lab, desk.clients.tenant)
    with attestlab.connect(desk.clients.url, key) as lab:
        receipt = lab.receipts.mint("delivery", {"n": 3}, issuer=desk.issuer["name"], subject="parcel 7")
        bundle = lab.receipts[receipt.receipt_id].bundle()

        assert [each.receipt_id for each in lab.receipts.list(subject="parcel 7")] == [receipt.receipt_id]
        assert receipt.verify(payload={"n": 3}).verdict.value == "VALID"
        assert lab.receipts.verify(receipt, payload={"n": 4}).verdict.value == "ALTERED"
        assert isinstance(bundle, ReceiptBundleHandle)
        assert (bundle.verify().verdict.value, lab.verify(bundle.document).verdict.value) == ("VALID", "VALID")
        assert lab.receipts.bundle(str(receipt.receipt_id)).receipt_id == receipt.receipt_id
        assert lab.log.lookup(receipt).log_index == lab.log.lookup(receipt.receipt_id).log_index == receipt.log_index
        assert lab.receipts.df()["receipt_id"].to_list() == [str(receipt.receipt_id)]
        assert lab.receipts.redact(receipt, "asked to").payload is None
        assert receipt.revoke("damaged").status == "REVOKED"
