"""A log entry counts for one attestation, signed with one key, over one payload."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from attestlab.attestations.bundle.verifier import verify_entry_subject
from attestlab.attestations.rules import AttestedClaims, Statement, payload_bytes
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.errors import ProofInvalid
from attestlab.log import entries

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
ID, ISSUER = UUID(int=1), UUID(int=2)
CLAIMS = b'{"student_name":"Ada"}'
STATEMENT = Statement(ID, ISSUER, "main", Algorithm.ED25519, "degree", "application/json", "p", None, "c", None, NOW)
SPOKEN_OF: dict[str, Any] = {"claims": CLAIMS, "signature": "a.b.c", "public_key": b"k", "nonce": bytes(32)}


def entry() -> dict[str, Any]:
    """The entry of a mint of `STATEMENT`."""
    commit = entries.commitment(SPOKEN_OF["nonce"], payload_bytes("degree", CLAIMS), SPOKEN_OF["signature"])
    raw = entries.minted_entry(
        attestation_id=ID, issuer_id=ISSUER, kid="main", alg="Ed25519", public_spki=b"k", at=NOW, commit=commit
    )
    return entries.parse_entry(raw).members


def spoken_of(statement: Statement = STATEMENT, changed_entry: dict[str, Any] | None = None, **changes: Any) -> None:
    shown = {**SPOKEN_OF, **changes}
    content = AttestedClaims(statement, shown.pop("claims"))
    verify_entry_subject(changed_entry or entry(), shown.pop("nonce"), content=content, **shown)


def test_entry_matches_the_minted_attestation() -> None:
    """Whenever it was logged; each other member of the entry is compared."""
    spoken_of()

    for name, value in entry().items():
        changed = {**entry(), name: f"{value}x"}
        with nullcontext() if name in ("at", "v") else pytest.raises(ProofInvalid):
            spoken_of(changed_entry=changed)


@pytest.mark.parametrize(
    "changes", [{"id": UUID(int=3)}, {"issuer_id": UUID(int=3)}, {"kid": "other"}, {"alg": Algorithm.ES256}], ids=str
)
def test_entry_of_another_attestation_is_rejected(changes: dict[str, Any]) -> None:
    with pytest.raises(ProofInvalid, match="another attestation"):
        spoken_of(replace(STATEMENT, **changes))


def test_entry_of_another_key_is_rejected() -> None:
    with pytest.raises(ProofInvalid, match="another public key"):
        spoken_of(public_key=b"another")


@pytest.mark.parametrize(
    "changes", [{"claims": b'{"student_name":"Eve"}'}, {"signature": "a.b.d"}, {"nonce": bytes(31) + b"1"}], ids=str
)
def test_commitment_opens_to_no_other_payload(changes: dict[str, Any]) -> None:
    """So the holder of an external key, who signs twice under one id, shows only what was logged."""
    with pytest.raises(ProofInvalid, match="commitment"):
        spoken_of(**changes)
