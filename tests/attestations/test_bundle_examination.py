"""`examine_bundle`: every offline step on its own, so that one failure does not hide another."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from attestlab import Bundle, MintRequest, Verdict, examine_bundle, sha256, verify_bundle
from attestlab.attestations.rendering import render_bundle
from attestlab.attestations.rules import Reason
from attestlab.attestations.verification.steps import State, StepResult
from attestlab.core.crypto.signing import Algorithm
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller

ORDER = ["content", "status", "governance", "key", "signature", "transparency"]
FILE = b"the file"


@pytest.fixture
def document(lab: Installation, caller: Caller) -> dict[str, Any]:
    issuer = lab.issuers.create(
        {"name": "Northfield", "domain": "northfield.example"}, caller=caller, alg=Algorithm.ED25519
    )
    request = MintRequest(
        issuer_id=issuer.issuer.id,
        kid=issuer.keys[0].kid,
        schema="degree",
        claims={"student_name": "Ada"},
        file_sha256=sha256(FILE),
        file_size=len(FILE),
    )
    minted = lab.attestations.mint(request, caller=caller)
    found, proof, head = lab.attestations.load_evidence(minted.id, caller=caller)
    rendered = render_bundle(found, proof, head, now=lab.clock.now())
    shown: dict[str, Any] = json.loads(rendered.model_dump_json(by_alias=True))
    return shown


def examine(lab: Installation, document: dict[str, Any], **at_hand: bytes) -> tuple[StepResult, ...]:
    return examine_bundle(Bundle.parse(document), trust=lab.trust, now=lab.clock.now(), **at_hand)


def failed(results: tuple[StepResult, ...]) -> list[str]:
    return [result.step for result in results if result.state is State.FAILED]


def test_the_steps_run_in_the_order_of_the_service_and_agree_with_the_verdict(
    lab: Installation, document: dict[str, Any]
) -> None:
    results = examine(lab, document, file_sha256=sha256(FILE))
    report = verify_bundle(Bundle.parse(document), trust=lab.trust, now=lab.clock.now(), file_sha256=sha256(FILE))

    assert [result.step for result in results] == ORDER
    assert sorted(results, key=lambda each: each.step) == sorted(report.report.results, key=lambda each: each.step)
    assert report.verdict is Verdict.VALID


def test_a_changed_claim_fails_the_signature_and_the_log_which_commits_to_it(
    lab: Installation, document: dict[str, Any]
) -> None:
    changed = copy.deepcopy(document)
    changed["attestation"]["payload"]["claims"]["student_name"] = "Eve"

    assert failed(examine(lab, changed)) == ["signature", "transparency"]


def test_a_wrong_file_does_not_hide_that_the_path_is_wrong_too(lab: Installation, document: dict[str, Any]) -> None:
    changed = copy.deepcopy(document)
    changed["inclusion_proof"]["hashes"][0] = f"sha256:{'00' * 32}"

    assert failed(examine(lab, changed, file_sha256=sha256(b"another"))) == ["content", "transparency"]


def test_an_attestation_that_contradicts_its_log_entries_fails_before_any_step(
    lab: Installation, document: dict[str, Any]
) -> None:
    changed = copy.deepcopy(document)
    changed["attestation"]["status"] = "REVOKED"

    (result,) = examine(lab, changed)

    assert (result.step, result.reasons) == ("transparency", (Reason.TRANSPARENCY_PROOF_FAILED,))
