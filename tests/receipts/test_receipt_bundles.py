"""A receipt's bundle verifies offline, and is believed as it stands, or not at all."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.report import OfflineReport
from attestlab.attestations.bundle.verifier import verify_bundle
from attestlab.attestations.rules import Verdict
from attestlab.cli import verify as verify_command
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.canonical_json import canonical, sha256_b64url
from attestlab.core.encoding import b64url_decode
from support.bundle_changes import COPIES_OF_ALL, changed, find_believed, verdict
from support.receipts import ReceiptDesk

pytestmark = pytest.mark.one_world

# These are unsigned; `not_checked` says so.
UNPROVEN = {
    "/receipt/tenant_id",
    "/receipt/metadata",
    "/receipt/metadata/route",
    "/receipt/retention_policy",
    "/receipt/retain_until",
    "/receipt/verify_url",
}
COPIES = {"/receipt/log", *COPIES_OF_ALL}


def check(desk: ReceiptDesk, bundle: dict[str, Any], **more: Any) -> OfflineReport:
    return verify_bundle(Bundle.parse(bundle), trust=desk.lab.trust, now=desk.lab.clock.now(), **more)


@pytest.fixture
def receipt(desk: ReceiptDesk, clock: FixedClock) -> dict[str, Any]:
    """A receipt that a status list covers."""
    minted = desk.mint()
    clock.advance(timedelta(minutes=2))
    desk.list_statuses()
    return minted


@pytest.mark.both_engines
def test_a_bundle_verifies_offline_as_the_service_does(
    desk: ReceiptDesk, receipt: dict[str, Any], clock: FixedClock
) -> None:
    bundle = desk.bundle(receipt)
    payload = b64url_decode(sha256_b64url(canonical({"n": 3})))

    valid = check(desk, bundle, payload_sha256=payload)
    altered = check(desk, bundle, payload_sha256=bytes(32))
    desk.change(receipt, "redact")
    redacted = check(desk, desk.bundle(receipt), payload_sha256=payload)
    desk.change(receipt, "revoke", reason="damaged")
    clock.advance(timedelta(minutes=2))
    desk.list_statuses()
    revoked = check(desk, desk.bundle(receipt))

    assert bundle["receipt"] == receipt
    assert (valid.verdict, valid.as_of) == (Verdict.VALID, bundle["status_proof"]["list"]["entry"]["log_index"])
    assert {"payload_hash_ok", "status_current"} <= {reason.value for reason in valid.report.reasons}
    assert (altered.verdict, revoked.verdict) == (Verdict.ALTERED, Verdict.REVOKED)
    assert redacted.verdict is Verdict.VALID
    assert "payload_redacted" in [reason.value for reason in redacted.report.reasons]
    assert "the receipt's tenant, metadata and retention, which are not signed" in valid.not_checked


def test_changing_any_member_of_a_bundle_invalidates_it(desk: ReceiptDesk, receipt: dict[str, Any]) -> None:
    bundle = desk.bundle(receipt)

    assert verdict(desk.lab, bundle) is Verdict.VALID
    unproven, copies = find_believed(desk.lab, bundle)
    assert unproven <= UNPROVEN
    assert copies <= UNPROVEN | COPIES


def test_a_revocation_that_a_list_shows_cannot_be_left_out(
    desk: ReceiptDesk, receipt: dict[str, Any], clock: FixedClock
) -> None:
    desk.change(receipt, "revoke")
    clock.advance(timedelta(minutes=2))
    desk.list_statuses()
    bundle = desk.bundle(receipt)
    hidden = changed(bundle, "/status_proof/receipt", None)
    for name, value in {"status": "ACTIVE", "revoked_at": None, "status_log_index": None}.items():
        hidden = changed(hidden, f"/receipt/{name}", value)

    report = check(desk, hidden)

    assert report.verdict is Verdict.INVALID
    assert "a change that is missing" in report.report.results[-1].detail


def test_a_receipt_is_no_attestation(desk: ReceiptDesk, receipt: dict[str, Any]) -> None:
    """Neither in a bundle nor by its entry; a bundle of both is refused."""
    bundle = desk.bundle(receipt)

    assert verdict(desk.lab, {**bundle, "attestation": bundle["receipt"]}) is None
    renamed = {**bundle, "attestation": bundle["receipt"]}
    del renamed["receipt"]
    assert verdict(desk.lab, renamed) is None
    with desk.clients.anonymous() as anyone:
        answer = anyone.post("/v1/verify", json={"attestation_id": receipt["receipt_id"]}).json()
    assert answer["verdict"] == "NOT_FOUND"


@pytest.fixture
def trust(desk: ReceiptDesk, tmp_path: Path) -> Path:
    path = tmp_path / "trust.txt"
    with desk.lab.storage.read() as connection:
        path.write_text(f"log {desk.lab.log.vkey(connection)}\nquorum none\n")
    return path


def test_the_command_line_verifies_a_bundle(
    desk: ReceiptDesk, receipt: dict[str, Any], trust: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, payload = tmp_path / "bundle.json", tmp_path / "payload.json"
    payload.write_bytes(canonical({"n": 3}))
    arguments = [str(path), "--trust", str(trust)]

    path.write_text(json.dumps(desk.bundle(receipt)))
    valid = verify_command.command([*arguments, "--payload", str(payload)])
    shown = capsys.readouterr().out
    as_json = verify_command.command([*arguments, "--json"])
    read = json.loads(capsys.readouterr().out)
    desk.change(receipt, "revoke")
    path.write_text(json.dumps(desk.bundle(receipt)))
    revoked = verify_command.command(arguments)

    assert (valid, as_json, revoked) == (0, 0, 1)
    assert f"receipt {receipt['receipt_id']}" in shown
    assert (read["verdict"], read["receipt_id"]) == ("VALID", receipt["receipt_id"])
