"""The platform's issuer: made once, by whichever way comes first, and the operator's like any other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest

from attestlab.core.crypto.signing import Algorithm
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.issuers.rules import IssuerStatus
from attestlab.protections.platform_issuer import NAME, PlatformIssuer
from attestlab.protections.shapes import ProtectionIn
from support.policies.activation import create_active_policy, read_decisions
from support.policies.documents import make_condition, make_document, make_rule
from support.protections import PROTECTIONS, Consumer, make_protection_body


def list_names(lab: Installation) -> list[str]:
    return [made.issuer.name for made in lab.issuers.page(caller=lab.operator_caller())]


@pytest.mark.both_engines
def test_many_at_once_make_one(lab: Installation) -> None:
    assert list_names(lab) == []

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: lab.platform_issuer.ensure(), range(4)))

    assert list_names(lab) == [NAME]
    assert list(fsck(lab)) == []


@pytest.mark.parametrize(
    ("portal_url", "domain"),
    [
        ("https://proof.example.org/lab", "proof.example.org"),
        ("http://127.0.0.1:8080", "attestlab.invalid"),
        ("http://[::1]", "attestlab.invalid"),
        ("http://localhost", "attestlab.invalid"),
    ],
)
def test_its_domain_is_that_of_the_service(lab: Installation, portal_url: str, domain: str) -> None:
    issuer = PlatformIssuer(storage=lab.storage, clock=lab.clock, issuers=lab.issuers, portal_url=portal_url)

    assert issuer.domain == domain


def test_a_suspended_one_protects_nothing(ada: Consumer, lab: Installation) -> None:
    ada.protect("one")
    operator = lab.operator_caller()
    (made,) = lab.issuers.page(caller=operator)
    lab.issuers.set_governance(made.issuer.id, status=IssuerStatus.SUSPENDED, caller=operator)

    refused = ada.client.post(PROTECTIONS, json=make_protection_body("two"))

    assert (refused.status_code, refused.json()["details"]["reason"]) == (403, "issuer_not_active")
    assert ada.client.get(PROTECTIONS).json()["total"] == 1


def test_the_newest_active_key_signs(ada: Consumer, lab: Installation) -> None:
    ada.protect("one")
    operator = lab.operator_caller()
    (made,) = lab.issuers.page(caller=operator)
    lab.signing_keys.rotate(made.keys[0].kid, new_kid="next", alg=Algorithm.ED25519, caller=operator)

    row = lab.attestations.get(UUID(ada.protect("two")["attestation_id"]), caller=operator)

    assert row.kid == "next"


def test_a_failure_after_the_mint_leaves_neither(ada: Consumer, lab: Installation) -> None:
    ada.protect("one")
    caller = lab.orgs.service_caller(ada.tenant_id)
    body = ProtectionIn.model_validate(make_protection_body("two"))
    prepared = lab.protections.prepare(body, caller=caller)
    assert prepared is not None
    with lab.storage.read() as connection:
        before = lab.log.head(connection).size

    with pytest.raises(RuntimeError), lab.storage.write() as tx:
        lab.protections.create(prepared, tx=tx)
        raise RuntimeError("between mint and commit")

    with lab.storage.read() as connection:
        assert lab.log.head(connection).size == before
    assert ada.client.get(PROTECTIONS).json()["total"] == 1
    assert ada.protect("two")["attestation_status"] == "VALID"
    assert list(fsck(lab)) == []


def test_the_operators_policies_decide_and_a_denial_is_recorded(ada: Consumer, lab: Installation) -> None:
    ada.protect("one")
    operator = lab.operator_caller()
    self_signed = make_condition("trust_tier", "eq", "SELF_SIGNED")
    create_active_policy(
        lab, operator, make_document(make_rule("unverified", "DENY", self_signed), default_effect="ALLOW")
    )

    refused = ada.client.post(PROTECTIONS, json=make_protection_body("two"))

    assert (refused.status_code, refused.json()["details"]["reason"]) == (403, "policy_denied")
    decisions = read_decisions(lab, operator.tenant_id)
    assert [decision["id"] for decision in decisions] == [refused.json()["details"]["decision_id"]]
    assert ada.client.get(PROTECTIONS).json()["total"] == 1
