"""Step 8 offline: a verifier's own policies see what the service's would, and are not fooled by what a bundle omits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from attestlab.attestations import policy_context, store
from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.report import OfflineReport
from attestlab.attestations.bundle.verifier import verify_bundle
from attestlab.attestations.bundle.verifier_policies import VerifierPolicies
from attestlab.cli import verify as verify_command
from attestlab.core.clock import FixedClock
from attestlab.core.errors import ValidationFailed
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.policy.formats.toml import format_toml
from attestlab.policy.language.attributes import PLATFORM
from attestlab.policy.language.document import Document
from support.governance import GovernanceScenario, open_governance_scenario
from support.policies.documents import make_condition, make_document, make_rule

HIGH_RISK = make_rule("high-risk", "DENY", make_condition("risk_rating", "eq", "HIGH"), reason="The issuer is a risk.")


@pytest.fixture
def governance(lab: Installation, caller: Caller) -> Iterator[GovernanceScenario]:
    with open_governance_scenario(lab) as made:
        yield made


def minted(governance: GovernanceScenario) -> str:
    made: str = governance.minted().json()["id"]
    return made


def bundle_of(governance: GovernanceScenario, attestation_id: str) -> dict[str, Any]:
    assert isinstance(governance.lab.clock, FixedClock)
    governance.lab.clock.advance(timedelta(minutes=2))
    with governance.lab.storage.write() as tx:
        governance.lab.list_statuses(tx)
    found: dict[str, Any] = governance.key.get(f"/v1/attestations/{attestation_id}/proof-bundle").json()
    return found


def checked(governance: GovernanceScenario, bundle: dict[str, Any], *policies: dict[str, Any]) -> OfflineReport:
    own = VerifierPolicies.read(json.dumps(each).encode() for each in policies)
    now = governance.lab.clock.now()
    return verify_bundle(Bundle.parse(bundle), trust=governance.lab.trust, now=now, policies=own)


def about_verifying(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return make_document(*rules, **{"category": "VERIFY", "default_effect": "ALLOW", **more})


def nothing(governance: GovernanceScenario) -> None:
    """A fresh issuer."""


def of_high_risk(governance: GovernanceScenario) -> None:
    governance.decide("CHANGE_RISK_RATING", "reviewer", new_risk_rating="HIGH")


def of_a_higher_tier(governance: GovernanceScenario) -> None:
    governance.decide("CHANGE_TRUST_TIER", "reviewer", new_trust_tier="VERIFIED")


def suspended(governance: GovernanceScenario) -> None:
    governance.decide("SUSPEND_ISSUER", "admin")


def moved(governance: GovernanceScenario) -> None:
    changed = governance.key.patch(f"/v1/issuers/{governance.issuer['id']}", json={"jurisdiction": "CH"})
    assert changed.status_code == 200, changed.text


def rotated(governance: GovernanceScenario) -> None:
    path = f"/v1/issuers/keys/{governance.issuer['keys'][0]['kid']}/rotate"
    assert governance.key.post(path, json={"new_kid": "next", "alg": "Ed25519"}).status_code in (200, 201)


@pytest.mark.parametrize("happens", [nothing, of_high_risk, of_a_higher_tier, suspended, moved, rotated])
def test_offline_context_equals_the_online_context(
    governance: GovernanceScenario, clock: FixedClock, happens: Callable[[GovernanceScenario], None]
) -> None:
    made = minted(governance)
    clock.advance(timedelta(days=40))
    happens(governance)

    proof = Bundle.parse(bundle_of(governance, made)).status_proof
    with governance.lab.storage.read() as connection:
        row = store.get_with_evidence(connection, UUID(made))

    assert proof is not None
    assert proof.issuer is not None
    offline_they_see = policy_context.build_bundle_context(issuer=proof.issuer, key=proof.key, now=clock.now())
    assert offline_they_see == policy_context.build_record_context(row, now=clock.now())
    assert offline_they_see.keys() <= PLATFORM.keys()


def test_denial_has_reasons_and_policies_of_other_issuers_do_not_apply(governance: GovernanceScenario) -> None:
    of_high_risk(governance)
    bundle = bundle_of(governance, minted(governance))
    elsewhere = about_verifying(HIGH_RISK, target_type="ISSUER", target_id=str(uuid4()))
    here = {**elsewhere, "target_id": governance.issuer["id"]}
    watching = about_verifying(HIGH_RISK, mode="MONITOR")

    denied = checked(governance, bundle, elsewhere, here)

    assert (denied.verdict.value, denied.report.reasons[-1].value) == ("INVALID", "policy_denied")
    assert denied.report.results[-1].detail == "The issuer is a risk. (high-risk)"
    for harmless in (elsewhere, watching):
        passed = checked(governance, bundle, harmless)
        assert (passed.verdict.value, passed.report.reasons[-1].value) == ("VALID", "policy_ok")


def test_bundle_without_a_status_list_is_denied(governance: GovernanceScenario) -> None:
    of_high_risk(governance)
    bundle = bundle_of(governance, minted(governance))
    bundle["status_proof"]["list"] = None

    assert checked(governance, bundle).verdict.value == "VALID"
    assert checked(governance, bundle, about_verifying(HIGH_RISK, mode="MONITOR")).verdict.value == "VALID"
    denied = checked(governance, bundle, about_verifying(HIGH_RISK))
    assert denied.report.reasons[-1].value == "policy_denied"
    assert "no status list" in denied.report.results[-1].detail


def test_policies_are_not_evaluated_after_a_final_status(governance: GovernanceScenario) -> None:
    made = minted(governance)
    ended = governance.key.post(
        f"/v1/attestations/{made}/revoke", json={"reason": "typo"}, headers={"Idempotency-Key": str(uuid4())}
    )
    assert ended.status_code == 200, ended.text
    report = checked(governance, bundle_of(governance, made), about_verifying(default_effect="DENY", rules=[HIGH_RISK]))

    assert report.verdict.value == "REVOKED"
    assert "policy" not in {finding.step for finding in report.report.results}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (json.dumps(make_document(HIGH_RISK)), "category MINT"),
        (
            json.dumps(about_verifying(make_rule("a", "DENY", make_condition("risk_ratng", "eq", "HIGH")))),
            "risk_rating",
        ),
        ("name = ", "not TOML"),
        ("{", "JSON"),
        ("\xff", "UTF-8"),
    ],
)
def test_invalid_verifier_policy_is_rejected(text: str, says: str) -> None:
    with pytest.raises(ValidationFailed, match=says):
        VerifierPolicies.read([text.encode("latin-1")])


def test_policies_may_have_a_byte_order_mark_and_line_ends_of_windows(governance: GovernanceScenario) -> None:
    as_json = json.dumps(about_verifying(HIGH_RISK), indent=1)
    as_toml = format_toml(Document.read(about_verifying(HIGH_RISK)))
    bundle = Bundle.parse(bundle_of(governance, minted(governance)))

    saved = [text.replace("\n", "\r\n").encode("utf-8-sig") for text in (as_json, as_toml)]
    report = verify_bundle(
        bundle, trust=governance.lab.trust, now=governance.lab.clock.now(), policies=VerifierPolicies.read(saved)
    )

    assert report.verdict.value == "VALID"


def test_command_reads_policies_in_json_and_toml(
    governance: GovernanceScenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_high_risk(governance)
    with governance.lab.storage.read() as connection:
        (tmp_path / "trust.txt").write_text(f"log {governance.lab.log.vkey(connection)}\nquorum none\n")
    (tmp_path / "bundle.json").write_text(json.dumps(bundle_of(governance, minted(governance))))
    (tmp_path / "risks.toml").write_text(format_toml(Document.read(about_verifying(HIGH_RISK))))
    (tmp_path / "any.json").write_text(
        json.dumps(about_verifying(make_rule("any", "ALLOW", make_condition("status", "eq", "ACTIVE"))))
    )
    checks = [str(tmp_path / "bundle.json"), "--trust", str(tmp_path / "trust.txt")]
    allowing, denying = ["--policy", str(tmp_path / "any.json")], ["--policy", str(tmp_path / "risks.toml")]

    assert verify_command.command([*checks, *allowing]) == verify_command.VALID
    assert "policy_ok" in capsys.readouterr().out
    assert verify_command.command([*checks, *allowing, *denying]) == verify_command.OTHER_VERDICT
    assert "policy_denied  The issuer is a risk. (high-risk, any)" in capsys.readouterr().out
    assert verify_command.command([*checks, "--policy", str(tmp_path / "none.toml")]) == verify_command.COULD_NOT_CHECK
    assert (
        verify_command.command([*checks, "--policy", str(tmp_path / "trust.txt"), "--json"])
        == verify_command.COULD_NOT_CHECK
    )
    assert verify_command.command([*checks, "--payload", str(tmp_path / "trust.txt")]) == verify_command.OTHER_VERDICT
    assert "payload_hash_mismatch" in capsys.readouterr().out
