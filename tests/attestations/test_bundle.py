"""A bundle is believed as it stands, or not at all: whatever one changes in it, it is not VALID any more."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.verifier import verify_bundle
from attestlab.attestations.minting import MintRequest
from attestlab.attestations.rendering import render_bundle as rendered
from attestlab.attestations.rules import Verdict
from attestlab.cli import verify as verify_command
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from support.bundle_changes import COPIES_OF_ALL, find_believed, verdict

# These are unsigned; `not_checked` says so.
UNPROVEN = {
    "/attestation/custody",
    "/attestation/metadata",
    "/attestation/metadata/ref",
    "/attestation/subject_reference",
    "/attestation/supersedes_attestation_id",
    "/attestation/pack_id",
}
COPIES = {"/attestation/alg", "/attestation/schema", "/attestation/attestation_id", *COPIES_OF_ALL}
FILE = bytes(range(32))


def minted(lab: Installation, caller: Caller, **changes: Any) -> dict[str, Any]:
    """The bundle of a fresh attestation, as it goes over the wire."""
    issuer = lab.issuers.create(
        {"name": "Northfield", "domain": "northfield.example"}, caller=caller, alg=Algorithm.ES256
    )
    request = {
        "issuer_id": issuer.issuer.id,
        "kid": issuer.keys[0].kid,
        "schema": "degree",
        "claims": {"student_name": "Ada", "honors": ["first"], "extra": [{"of": 2}]},
        "metadata": {"ref": "A-1"},
        "subject_reference": "s-1",
        "expiry_at": lab.clock.now() + timedelta(days=1),
    }
    done = lab.attestations.mint(MintRequest(**{**request, **changes}), caller=caller)
    return bundle_of(lab, caller, done.id)


def bundle_of(lab: Installation, caller: Caller, attestation_id: UUID) -> dict[str, Any]:
    """A bundle as it goes over the wire now."""
    found, proof, head = lab.attestations.load_evidence(attestation_id, caller=caller)
    shown: dict[str, Any] = json.loads(rendered(found, proof, head, now=lab.clock.now()).model_dump_json(by_alias=True))
    return shown


@pytest.fixture
def bundle(lab: Installation, caller: Caller, clock: FixedClock) -> dict[str, Any]:
    for _ in range(5):
        minted(lab, caller)
    fresh = minted(lab, caller, file_sha256=FILE)
    clock.advance(timedelta(minutes=2))
    with lab.storage.write() as tx:
        lab.list_statuses(tx)
    return bundle_of(lab, caller, UUID(fresh["attestation"]["id"]))


def test_changing_any_member_of_a_bundle_invalidates_it(lab: Installation, bundle: dict[str, Any]) -> None:
    """
    The unsigned parts are not compared. A copy may be missing; a copy that says something else is refused.
    """
    assert verdict(lab, bundle) is Verdict.VALID
    unproven, copies = find_believed(lab, bundle)
    assert unproven <= UNPROVEN
    assert copies <= UNPROVEN | COPIES


def test_wrong_inclusion_path_is_rejected(lab: Installation, caller: Caller, bundle: dict[str, Any]) -> None:
    other = minted(lab, caller)

    assert verdict(lab, {**bundle, "inclusion_proof": other["inclusion_proof"]}) is None
    assert verdict(lab, {**bundle, "log_entry": other["log_entry"]}) is Verdict.INVALID
    assert verdict(lab, {**bundle, "signed_tree_head": other["signed_tree_head"]}) is Verdict.INVALID
    assert verdict(lab, {**bundle, "key": other["key"]}) is None


def test_another_log_with_the_same_name_is_not_trusted(
    lab: Installation, bundle: dict[str, Any], tmp_path: Any, clock: FixedClock
) -> None:
    from attestlab.settings import Settings

    impostor, made = Installation.init(
        Settings(data=tmp_path / "impostor", database_url=None, log_origin=lab.log_id), clock=clock
    )
    caller = impostor.orgs.service_caller(made.tenant.tenant_id)
    forged = minted(impostor, caller)

    assert verdict(impostor, forged) is Verdict.VALID
    assert verdict(lab, forged) is Verdict.INVALID
    impostor.close()


def test_claims_of_maximal_depth_verify_offline(
    lab: Installation, caller: Caller, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    deep: Any = "end"
    for _ in range(62):
        deep = [deep]
    (tmp_path / "bundle.json").write_text(
        json.dumps(minted(lab, caller, schema="custom", claims={"subject": "s", "x": deep}))
    )
    with lab.storage.read() as connection:
        (tmp_path / "trust.txt").write_text(f"log {lab.log.vkey(connection)}\nquorum none\n")

    code = verify_command.command([str(tmp_path / "bundle.json"), "--trust", str(tmp_path / "trust.txt")])

    assert code in (verify_command.VALID, verify_command.OTHER_VERDICT), (
        "the clock of this story may have left its expiry behind"
    )
    assert "Unusable" not in capsys.readouterr().err


@pytest.mark.parametrize(("sha256", "reason"), [(FILE, "document_hash_not_stored"), (None, None)], ids=["file", "none"])
def test_file_without_an_attested_hash_is_reported_as_unchecked(
    lab: Installation, caller: Caller, sha256: bytes | None, reason: str | None
) -> None:
    """
    As online: the verdict is of the attestation, and the reason says that nothing was stored to compare.
    """
    claims_only = Bundle.parse(minted(lab, caller))

    report = verify_bundle(claims_only, trust=lab.trust, now=lab.clock.now(), file_sha256=sha256)

    assert report.verdict is Verdict.VALID
    assert ("document_hash_not_stored" in [r.value for r in report.report.reasons]) == (reason is not None)
