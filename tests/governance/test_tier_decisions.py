"""A proof of a domain beside the platform's decisions: what the platform decided on a tier, no tenant undoes alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from attestlab.issuers.txt_resolver import DnsResolver
from support.governance import GovernanceScenario
from support.log.entries import read_log_entries
from support.name_server import NameServer, serve_dns


@pytest.fixture
def dns(governance: GovernanceScenario) -> Iterator[NameServer]:
    with serve_dns() as opened:
        governance.lab.domain_proofs.resolver = DnsResolver(opened.address)
        yield opened


def prove(governance: GovernanceScenario, dns: NameServer) -> dict[str, Any]:
    """Write the record, have it checked."""
    path = f"/v1/issuers/{governance.issuer['id']}/domain-proof"
    challenge = governance.key.get(path).json()
    dns.texts[challenge["record_name"]] = [challenge["record_value"]]
    answer = governance.key.post(f"{path}/check")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.both_engines
def test_proof_does_not_restore_a_tier_lowered_by_the_platform(governance: GovernanceScenario, dns: NameServer) -> None:
    assert prove(governance, dns)["trust_tier"] == "BASIC"
    governance.decide("CHANGE_TRUST_TIER", "reviewer", new_trust_tier="SELF_SIGNED")
    entries = len(read_log_entries(governance.lab))

    again = prove(governance, dns)

    assert (again["proven"], again["trust_tier"]) == (True, "SELF_SIGNED")
    assert len(read_log_entries(governance.lab)) == entries


def test_proof_of_another_domain_is_recorded_without_restoring_the_tier(
    governance: GovernanceScenario, dns: NameServer
) -> None:
    prove(governance, dns)
    governance.decide("CHANGE_TRUST_TIER", "reviewer", new_trust_tier="SELF_SIGNED")
    issuer = f"/v1/issuers/{governance.issuer['id']}"
    assert governance.key.patch(issuer, json={"domain": "elsewhere.example.edu"}).status_code == 200
    before = governance.key.get(f"{issuer}/domain-proof").json()

    again = prove(governance, dns)

    assert (before["proven"], again["proven"]) == (False, True)
    assert (again["domain"], again["trust_tier"]) == ("elsewhere.example.edu", "SELF_SIGNED")
    assert governance.key.get(f"{issuer}/domain-proof").json()["proven"]
    assert governance.key.get(issuer).json()["trust_tier"] == "SELF_SIGNED"


def test_platform_can_raise_the_tier_again(governance: GovernanceScenario, dns: NameServer) -> None:
    prove(governance, dns)
    governance.decide("CHANGE_TRUST_TIER", "reviewer", new_trust_tier="SELF_SIGNED")
    governance.decide("CHANGE_TRUST_TIER", "reviewer", new_trust_tier="BASIC")

    assert prove(governance, dns)["trust_tier"] == "BASIC"


def test_proof_raises_the_tier_after_an_unrelated_decision(governance: GovernanceScenario, dns: NameServer) -> None:
    governance.decide("CHANGE_RISK_RATING", "reviewer", new_risk_rating="HIGH")

    assert prove(governance, dns)["trust_tier"] == "BASIC"
