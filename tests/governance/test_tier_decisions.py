"""A proof of a domain beside the platform's decisions: what the platform decided on a tier, no tenant undoes alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from governance_story import Board

from attestlab.issuers.txt_resolver import DnsResolver
from support.log.entries import read_log_entries
from support.name_server import NameServer, serve_dns


@pytest.fixture
def dns(board: Board) -> Iterator[NameServer]:
    with serve_dns() as opened:
        board.lab.domain_proofs.resolver = DnsResolver(opened.address)
        yield opened


def prove(board: Board, dns: NameServer) -> dict[str, Any]:
    """Write the record, have it checked."""
    path = f"/v1/issuers/{board.issuer['id']}/domain-proof"
    challenge = board.key.get(path).json()
    dns.texts[challenge["record_name"]] = [challenge["record_value"]]
    answer = board.key.post(f"{path}/check")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.both_engines
def test_proof_does_not_restore_a_tier_lowered_by_the_platform(board: Board, dns: NameServer) -> None:
    assert prove(board, dns)["trust_tier"] == "BASIC"
    board.decide("CHANGE_TRUST_TIER", "reviewer", new_trust_tier="SELF_SIGNED")
    entries = len(read_log_entries(board.lab))

    again = prove(board, dns)

    assert (again["proven"], again["trust_tier"]) == (True, "SELF_SIGNED")
    assert len(read_log_entries(board.lab)) == entries


def test_proof_of_another_domain_is_recorded_without_restoring_the_tier(board: Board, dns: NameServer) -> None:
    prove(board, dns)
    board.decide("CHANGE_TRUST_TIER", "reviewer", new_trust_tier="SELF_SIGNED")
    issuer = f"/v1/issuers/{board.issuer['id']}"
    assert board.key.patch(issuer, json={"domain": "elsewhere.example.edu"}).status_code == 200
    before = board.key.get(f"{issuer}/domain-proof").json()

    again = prove(board, dns)

    assert (before["proven"], again["proven"]) == (False, True)
    assert (again["domain"], again["trust_tier"]) == ("elsewhere.example.edu", "SELF_SIGNED")
    assert board.key.get(f"{issuer}/domain-proof").json()["proven"]
    assert board.key.get(issuer).json()["trust_tier"] == "SELF_SIGNED"


def test_platform_can_raise_the_tier_again(board: Board, dns: NameServer) -> None:
    prove(board, dns)
    board.decide("CHANGE_TRUST_TIER", "reviewer", new_trust_tier="SELF_SIGNED")
    board.decide("CHANGE_TRUST_TIER", "reviewer", new_trust_tier="BASIC")

    assert prove(board, dns)["trust_tier"] == "BASIC"


def test_proof_raises_the_tier_after_an_unrelated_decision(board: Board, dns: NameServer) -> None:
    board.decide("CHANGE_RISK_RATING", "reviewer", new_risk_rating="HIGH")

    assert prove(board, dns)["trust_tier"] == "BASIC"
