"""Whatever happens to an issuer stands in the log, in the outbox and in the trail, or did not happen."""

from __future__ import annotations

from datetime import timedelta

import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import Conflict
from attestlab.installation import Installation
from attestlab.issuers.rules import IssuerStatus, RiskRating, TrustTier
from attestlab.log.entries import profile_name, sha256_name
from attestlab.orgs.rules import Caller
from support.issuers import RegisterIssuer
from support.log.entries import read_log_entries
from support.outbox import read_events


def test_an_issuer_and_its_first_key_are_one_entry_each(lab: Installation, register: RegisterIssuer) -> None:
    made = register(alg=Algorithm.ED25519, kid="first", jurisdiction="CH")
    standing, key = read_log_entries(lab)
    issuer_id = str(made.issuer.id)

    assert standing.members == {
        "v": 1,
        "type": "issuer.status",
        "issuer_id": issuer_id,
        "status": "ACTIVE",
        "trust_tier": "SELF_SIGNED",
        "risk_rating": "LOW",
        "jurisdiction": "CH",
        "profile": profile_name(made.issuer.name, made.issuer.domain),
        "at": "2026-11-21T12:00:00.000Z",
        "seq": 0,
        "prev": None,
    }
    assert key.members == {
        "v": 1,
        "type": "key.status",
        "issuer_id": issuer_id,
        "kid": "first",
        "alg": "Ed25519",
        "public_key": b64url_encode(made.keys[0].spki),
        "status": "active",
        "at": "2026-11-21T12:00:00.000Z",
        "seq": 0,
        "prev": None,
    }
    assert made.keys[0].log_index == 1


def test_an_issuer_without_a_key_is_possible(lab: Installation, register: RegisterIssuer, caller: Caller) -> None:
    made = register()

    assert list(made.keys) == []
    assert [type_ for type_, _ in read_events(lab, caller)] == ["issuer.created"]


def test_a_new_jurisdiction_continues_the_issuers_chain(
    lab: Installation, register: RegisterIssuer, caller: Caller
) -> None:
    issuer_id = register(jurisdiction="CH").issuer.id
    lab.issuers.update(issuer_id, {"jurisdiction": "nl"}, caller=caller)
    _, second = read_log_entries(lab)
    with lab.storage.read() as connection:
        first_leaf = lab.log.inclusion(connection, 0).leaf_hash

    assert (second.members["jurisdiction"], second.members["seq"]) == ("NL", 1)
    assert second.members["prev"] == sha256_name(first_leaf)


def test_a_new_display_name_is_an_event_and_no_entry(
    lab: Installation, register: RegisterIssuer, caller: Caller, clock: FixedClock
) -> None:
    issuer_id = register().issuer.id
    clock.advance(timedelta(hours=1))
    changed = lab.issuers.update(issuer_id, {"display_name": "R", "primary_color": "#FFFFFF"}, caller=caller)

    assert len(read_log_entries(lab)) == 1
    assert read_events(lab, caller)[-1] == (
        "issuer.updated",
        {
            "issuer_id": str(issuer_id),
            "changed": "display_name,primary_color",
            "updated_at": "2026-11-21T13:00:00.000Z",
        },
    )
    assert (changed.issuer.created_at, changed.issuer.updated_at) == (
        clock.now() - timedelta(hours=1),
        clock.now(),
    )
    assert lab.issuers.get(issuer_id, caller=caller) == changed


def test_change_to_the_same_value_writes_nothing(
    lab: Installation, register: RegisterIssuer, caller: Caller, clock: FixedClock
) -> None:
    made = register(jurisdiction="CH")
    clock.advance(timedelta(hours=1))
    again = lab.issuers.update(made.issuer.id, {"jurisdiction": "ch", "name": "Registry"}, caller=caller)

    assert again == made
    assert (len(read_log_entries(lab)), len(read_events(lab, caller))) == (1, 1)


def test_suspension_is_logged_published_and_stops_mints(
    lab: Installation, register: RegisterIssuer, caller: Caller
) -> None:
    issuer_id = register(alg=Algorithm.ED25519, kid="k").issuer.id
    lab.issuers.set_governance(issuer_id, status=IssuerStatus.SUSPENDED, caller=caller)
    with lab.storage.read() as connection:
        key = lab.issuers.get_signing_key(connection, tenant_id=caller.tenant_id, issuer_id=issuer_id, kid="k")

    assert key.issuer_status is IssuerStatus.SUSPENDED
    assert read_log_entries(lab)[-1].members["status"] == "SUSPENDED"
    assert read_events(lab, caller)[-1][0] == "issuer.suspended"


def test_revocation_stores_its_log_index(lab: Installation, register: RegisterIssuer, caller: Caller) -> None:
    issuer_id = register().issuer.id
    lab.issuers.set_governance(issuer_id, risk_rating=RiskRating.CRITICAL, caller=caller)
    revoked = lab.issuers.set_governance(issuer_id, status=IssuerStatus.REVOKED, caller=caller)

    assert revoked.issuer.revoked_index == 2
    assert [entry.members["status"] for entry in read_log_entries(lab)] == ["ACTIVE", "ACTIVE", "REVOKED"]
    assert [entry.members["risk_rating"] for entry in read_log_entries(lab)] == ["LOW", "CRITICAL", "CRITICAL"]


def test_domain_can_change_until_it_is_verified(lab: Installation, register: RegisterIssuer, caller: Caller) -> None:
    issuer_id = register(domain="typo.example").issuer.id
    assert lab.issuers.update(issuer_id, {"domain": "R.Example"}, caller=caller).issuer.domain == "r.example"
    lab.issuers.set_governance(issuer_id, trust_tier=TrustTier.BASIC, caller=caller)

    with pytest.raises(Conflict):
        lab.issuers.update(issuer_id, {"domain": "other.example"}, caller=caller)
    same = lab.issuers.update(issuer_id, {"domain": "r.example", "name": "Renamed"}, caller=caller)
    assert (same.issuer.domain, same.issuer.name) == ("r.example", "Renamed")


def test_two_changes_of_one_transaction_are_two_chained_entries(
    lab: Installation, register: RegisterIssuer, caller: Caller
) -> None:
    with lab.storage.write() as tx:
        issuer_id = register(tx=tx).issuer.id
        lab.issuers.update(issuer_id, {"jurisdiction": "CH"}, caller=caller, tx=tx)
        lab.issuers.update(issuer_id, {"jurisdiction": None}, caller=caller, tx=tx)

    assert [(entry.members["seq"], entry.members["jurisdiction"]) for entry in read_log_entries(lab)] == [
        (0, None),
        (1, "CH"),
        (2, None),
    ]
