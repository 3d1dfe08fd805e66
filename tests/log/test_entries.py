"""What an entry says, and what a stored one must look like to be believed."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from uuid import UUID

import pytest

from attestlab.core.errors import IntegrityFailed, ValidationFailed
from attestlab.log import entries
from attestlab.log.entries import FIRST_LINK, Link

AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
ISSUER = UUID("01935f00-0000-7000-8000-000000000001")
NONCE = bytes(range(32))


def minted() -> bytes:
    commit = entries.commitment(NONCE, b'{"a":1}', "h..s")
    return entries.minted_entry(
        attestation_id=UUID(int=1), issuer_id=ISSUER, kid="k", alg="Ed25519", public_spki=b"spki", at=AT, commit=commit
    )


def test_a_minted_entry_is_canonical_json_of_the_contract() -> None:
    said = json.loads(minted())
    assert said == {
        "v": 1,
        "type": "attestation.minted",
        "id": str(UUID(int=1)),
        "issuer_id": str(ISSUER),
        "kid": "k",
        "alg": "Ed25519",
        "key": "sha256:" + hashlib.sha256(b"spki").hexdigest(),
        "at": "2026-11-21T12:00:00.000Z",
        "commit": "sha256:" + hashlib.sha256(NONCE + b'{"payload":{"a":1},"signature":"h..s"}').hexdigest(),
    }
    assert minted() == json.dumps(said, sort_keys=True, separators=(",", ":")).encode()


def test_commitment_hides_the_payload_and_requires_a_full_nonce() -> None:
    """
    Payloads can be guessed; without 32 random bytes before them a hash would confirm the guess.
    """
    assert entries.commitment(NONCE, b"{}", "h..s") != entries.commitment(bytes(32), b"{}", "h..s")
    with pytest.raises(ValidationFailed):
        entries.commitment(b"short", b"{}", "h..s")


def test_status_entry_carries_its_chain_link() -> None:
    first = entries.key_status_entry(
        FIRST_LINK, issuer_id=ISSUER, kid="k", alg="Ed25519", public_spki=b"spki", status="active", at=AT
    )
    prev = hashlib.sha256(b"\x00" + first).digest()
    second = entries.key_status_entry(
        Link(1, prev),
        issuer_id=ISSUER,
        kid="k",
        alg="Ed25519",
        public_spki=b"spki",
        status="revoked",
        at=AT,
        reason="lost",
    )

    assert entries.parse_entry(first).link == FIRST_LINK
    assert entries.parse_entry(second).link == Link(1, prev)
    assert entries.parse_entry(first).subject == entries.parse_entry(second).subject == f"key:{ISSUER}:k"
    assert json.loads(second)["prev"] == f"sha256:{prev.hex()}"
    assert "reason" not in json.loads(first)


def test_issuer_status_entry_belongs_to_the_issuer_chain() -> None:
    entry = entries.issuer_status_entry(
        FIRST_LINK,
        issuer_id=ISSUER,
        status="ACTIVE",
        trust_tier="SELF_SIGNED",
        risk_rating="LOW",
        jurisdiction=None,
        profile=entries.profile_name("Northfield", "northfield.example"),
        at=AT,
    )
    read = entries.parse_entry(entry)
    assert (read.kind, read.subject, read.members["jurisdiction"]) == ("issuer.status", f"issuer:{ISSUER}", None)
    canonical = b'{"domain":"northfield.example","name":"Northfield"}'
    assert read.members["profile"] == "sha256:" + hashlib.sha256(canonical).hexdigest()


def test_issuer_without_a_domain_has_a_profile() -> None:
    digest = hashlib.sha256('{"domain":null,"name":"Österreich"}'.encode()).hexdigest()

    assert entries.profile_name("Österreich", None) == f"sha256:{digest}"


def test_a_minted_entry_belongs_to_no_chain() -> None:
    assert (entries.parse_entry(minted()).subject, entries.parse_entry(minted()).link) == (None, None)


@pytest.mark.parametrize(
    "entry",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"type":"attestation.minted","v":2}',
        b'{"type":"attestation.unheard_of","v":1}',
        b'{"v":1}',
        b'{"type": "attestation.minted","v":1}',
        b'{"type":"key.status","v":1}',
        b'{"issuer_id":"i","kid":"k","prev":null,"seq":"0","type":"key.status","v":1}',
        b'{"issuer_id":"i","kid":"k","prev":null,"seq":true,"type":"key.status","v":1}',
        b'{"issuer_id":"i","kid":"k","prev":"00","seq":1,"type":"key.status","v":1}',
        b'{"issuer_id":"i","prev":null,"profile":null,"seq":0,"type":"issuer.status","v":1}',
        b'{"issuer_id":"i","prev":null,"profile":"sha256:0","seq":0,"type":"issuer.status","v":1}',
    ],
)
def test_entry_of_unknown_format_is_rejected(entry: bytes) -> None:
    with pytest.raises(IntegrityFailed):
        entries.parse_entry(entry)
