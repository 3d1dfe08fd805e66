"""`attestlab receipt verify`: a bundle offline, or a receipt by its id, with the exit status of the verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.attestations import make_mint_body, mint
from support.fork_server import run_command
from support.receipts import ReceiptDesk

UNKNOWN = "0193b5a0-7f3c-7abc-8def-0123456789ab"
pytestmark = pytest.mark.one_world


@pytest.fixture
def trust(desk: ReceiptDesk, tmp_path: Path) -> Path:
    path = tmp_path / "log.policy"
    with desk.lab.storage.read() as connection:
        path.write_text(f"log {desk.lab.log.vkey(connection)}\nquorum none\n")
    return path


def run(*words: object) -> tuple[int, str, str]:
    done = run_command("receipt", "verify", *map(str, words))
    return done.returncode, done.stdout, done.stderr


def test_a_bundle_is_verified_offline(desk: ReceiptDesk, trust: Path, tmp_path: Path) -> None:
    receipt: dict[str, Any] = desk.mint(payload={"n": 3, "note": "left"})
    bundle, same, other = (tmp_path / f"{name}.json" for name in ("bundle", "same", "other"))
    bundle.write_text(json.dumps(desk.bundle(receipt)))
    same.write_text('{ "note": "left",\n  "n": 3 }')
    other.write_text('{"n": 4}')

    status, shown, _ = run(bundle, "--trust", trust, "--payload", same)

    assert (status, f"receipt {receipt['receipt_id']}" in shown) == (0, True)
    assert run(bundle, "--trust", trust, "--payload", other)[0] == 1
    assert json.loads(run(bundle, "--trust", trust, "--json")[1])["receipt_id"] == receipt["receipt_id"]
    assert run(bundle)[0] == 3  # no trust policy
    desk.change(receipt, "revoke")
    bundle.write_text(json.dumps(desk.bundle(receipt)))
    assert run(bundle, "--trust", trust)[0] == 1


def test_a_receipt_is_verified_by_the_service_that_has_it(desk: ReceiptDesk, tmp_path: Path) -> None:
    receipt, url = desk.mint(), desk.clients.url
    payload = tmp_path / "payload.json"
    payload.write_text('{"n": 4}')

    status, shown, _ = run(receipt["receipt_id"], "--url", url)

    assert (status, shown.startswith(f"VALID  receipt {receipt['receipt_id']}"), "signature_ok" in shown) == (
        0,
        True,
        True,
    )
    altered = run(receipt["receipt_id"], "--url", url, "--payload", payload, "--json")
    assert (altered[0], json.loads(altered[1])["verdict"]) == (1, "ALTERED")
    assert run(UNKNOWN, "--url", url)[0] == 1


def test_unusable_input_has_one_line_and_no_verdict(desk: ReceiptDesk, trust: Path, tmp_path: Path) -> None:
    minted = mint(desk.client, make_mint_body(desk.issuer)).json()
    attestation, listed = tmp_path / "attestation.json", tmp_path / "list.json"
    attestation.write_text(desk.client.get(f"/v1/attestations/{minted['id']}/proof-bundle").text)
    listed.write_text("[1]")
    refusals = {
        "neither a file nor the id of a receipt": run("no-such-file.json", "--url", desk.clients.url),
        "the bundle of an attestation": run(attestation, "--trust", trust),
        "Which lab?": run(UNKNOWN),
        "Pass a dict": run(UNKNOWN, "--url", desk.clients.url, "--payload", listed),
    }

    for words, (status, shown, said) in refusals.items():
        assert (status, shown, words in said, said.count("\n")) == (2, "", True, 1), (words, said)


def test_a_service_that_does_not_answer_is_no_verdict() -> None:
    status, shown, said = run(UNKNOWN, "--url", "http://127.0.0.1:9")

    assert (status, shown, said.count("\n")) == (3, "", 1), said
