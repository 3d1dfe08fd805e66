"""What a bundle shows offline of what became of an attestation and its key: the verdicts that the service gives."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.report import OfflineReport
from attestlab.attestations.bundle.verifier import verify_bundle
from attestlab.attestations.minting import MintRequest
from attestlab.attestations.rendering import render_bundle as rendered
from attestlab.attestations.verification.status_proof import NO_STATUS_LIST
from attestlab.cli import verify as verify_command
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.errors import ValidationFailed
from attestlab.demos.display import steps
from attestlab.installation import Installation
from attestlab.issuers.rules import IssuerStatus
from attestlab.orgs.rules import Caller

pytestmark = pytest.mark.one_world


class Story:
    """An issuer with a key, and what may become of what it signed."""

    def __init__(self, lab: Installation, caller: Caller, clock: FixedClock, kid: str = "main") -> None:
        self.lab, self.caller, self.clock = lab, caller, clock
        profile = {"name": "Northfield", "domain": "north.example"}
        self.issuer = lab.issuers.create(profile, caller=caller, alg=Algorithm.ED25519, kid=kid).issuer.id

    def request(self, **changes: Any) -> MintRequest:
        named: dict[str, Any] = {"issuer_id": self.issuer, "kid": "main", "schema": "degree"}
        return MintRequest(**{**named, "claims": {"student_name": "Ada"}, **changes})

    def mint(self, **changes: Any) -> UUID:
        return self.lab.attestations.mint(self.request(**changes), caller=self.caller).id

    def list_statuses(self) -> None:
        self.clock.advance(timedelta(minutes=2))
        with self.lab.storage.write() as tx:
            self.lab.list_statuses(tx)

    def expire(self) -> None:
        with self.lab.storage.write() as tx:
            self.lab.expire(tx)

    def bundle(self, attestation_id: UUID) -> dict[str, Any]:
        found, proofs, head = self.lab.attestations.load_evidence(attestation_id, caller=self.caller)
        text = rendered(found, proofs, head, now=self.clock.now()).model_dump_json(by_alias=True)
        shown: dict[str, Any] = json.loads(text)
        return shown

    def offline(self, document: dict[str, Any], now: datetime | None = None) -> OfflineReport:
        return verify_bundle(Bundle.parse(document), trust=self.lab.trust, now=now or self.clock.now())


@pytest.fixture
def story(lab: Installation, caller: Caller, clock: FixedClock) -> Story:
    return Story(lab, caller, clock)


def revoked(story: Story) -> UUID:
    made = story.mint()
    story.lab.attestations.revoke(made, reason="typo", caller=story.caller)
    return made


def superseded(story: Story) -> UUID:
    made = story.mint()
    story.lab.attestations.supersede(made, story.request(), caller=story.caller)
    return made


def expired(story: Story) -> UUID:
    made = story.mint(expiry_at=story.clock.now() + timedelta(seconds=1))
    story.clock.advance(timedelta(seconds=2))
    story.expire()
    return made


def run_out(story: Story) -> UUID:
    made = story.mint(expiry_at=story.clock.now() + timedelta(seconds=1))
    story.clock.advance(timedelta(seconds=2))
    return made


def rotated_key(story: Story) -> UUID:
    made = story.mint()
    story.lab.signing_keys.rotate("main", new_kid="next", alg=Algorithm.ED25519, caller=story.caller)
    return made


def revoked_key(story: Story) -> UUID:
    made = story.mint()
    story.lab.signing_keys.revoke("main", reason="retired", caller=story.caller)
    return made


def compromised_key(story: Story) -> UUID:
    made = story.mint()
    story.lab.signing_keys.compromise("main", reason="lost", caller=story.caller)
    return made


def stolen_key(story: Story) -> UUID:
    stolen_at = story.clock.now()
    made = story.mint()
    story.lab.signing_keys.compromise("main", reason="lost", compromised_at=stolen_at, caller=story.caller)
    return made


def suspended_issuer(story: Story) -> UUID:
    made = story.mint()
    story.lab.issuers.set_governance(story.issuer, status=IssuerStatus.SUSPENDED, caller=story.caller)
    return made


def reinstated_issuer(story: Story) -> UUID:
    made = suspended_issuer(story)
    story.lab.issuers.set_governance(story.issuer, status=IssuerStatus.ACTIVE, caller=story.caller)
    return made


def revoked_issuer(story: Story) -> UUID:
    made = story.mint()
    story.lab.issuers.set_governance(story.issuer, status=IssuerStatus.REVOKED, caller=story.caller)
    return made


ENDS = [
    (Story.mint, "VALID", "status_current"),
    (revoked, "REVOKED", "attestation_revoked"),
    (superseded, "SUPERSEDED", "attestation_superseded"),
    (expired, "EXPIRED", "attestation_expired"),
    (run_out, "EXPIRED", "attestation_expired"),
    (rotated_key, "VALID", "key_rotated"),
    (revoked_key, "VALID", "key_revoked"),
    (compromised_key, "VALID", "key_compromised"),
    (stolen_key, "INVALID", "key_compromised"),
    (suspended_issuer, "VALID", "issuer_suspended"),
    (reinstated_issuer, "VALID", "governance_ok"),
    (revoked_issuer, "VALID", "issuer_revoked"),
]


@pytest.mark.parametrize("when", ["listed since", "listed before", "never listed"])
@pytest.mark.parametrize(("become", "verdict", "reason"), ENDS, ids=[end[0].__name__ for end in ENDS])
def test_bundle_verdict_equals_the_online_verdict(
    story: Story, become: Callable[[Story], UUID], verdict: str, reason: str, when: str
) -> None:
    if when == "listed before":
        story.mint()
        story.list_statuses()
    made = become(story)
    if when == "listed since":
        story.list_statuses()

    online, report = story.lab.attestations.verify(made).report, story.offline(story.bundle(made))

    assert (online.verdict.value, report.verdict.value) == (verdict, verdict)
    assert reason in online.reasons
    shown = when == "listed since" or reason not in ("status_current", "governance_ok")
    assert (reason in report.report.reasons) == shown
    assert (report.as_of is not None) == (when == "listed since")


@pytest.mark.parametrize(("become", "verdict", "reason"), ENDS[1:4], ids=[end[0].__name__ for end in ENDS[1:4]])
def test_bundle_without_its_status_entry_is_rejected(
    story: Story, become: Callable[[Story], UUID], verdict: str, reason: str
) -> None:
    """
    The status list of the log shows the status that the stripped entry showed.
    """
    made = become(story)
    story.list_statuses()
    hiding = story.bundle(made)
    hiding["attestation"] |= {"status": "VALID", "status_log_index": None, "revoked_at": None}
    hiding["attestation"] |= {"revocation_reason": None, "superseded_by_attestation_id": None}
    hiding["status_proof"]["attestation"] = None

    report = story.offline(hiding, now=story.clock.now() - timedelta(days=1))

    assert report.verdict.value == "INVALID"
    assert "is missing from the bundle" in report.report.results[0].detail


def test_outdated_key_entry_is_rejected(story: Story) -> None:
    made = stolen_key(story)
    story.list_statuses()
    hiding = story.bundle(made)
    hiding["status_proof"]["key"]["newest"] = hiding["status_proof"]["key"]["first"]

    assert story.offline(hiding).verdict.value == "INVALID"


@pytest.mark.parametrize("become", [suspended_issuer, revoked_issuer])
def test_outdated_issuer_entry_is_rejected(story: Story, become: Callable[[Story], UUID]) -> None:
    made = become(story)
    story.list_statuses()
    hiding = story.bundle(made)
    hiding["status_proof"]["issuer"]["newest"] = hiding["status_proof"]["issuer"]["first"]

    report = story.offline(hiding)

    assert report.verdict.value == "INVALID"
    assert "is missing from the bundle" in report.report.results[0].detail


def test_entry_of_another_issuer_is_rejected(
    story: Story, lab: Installation, caller: Caller, clock: FixedClock
) -> None:
    forged, other = story.bundle(suspended_issuer(story)), Story(lab, caller, clock, kid="other")
    forged["status_proof"]["issuer"] = other.bundle(other.mint(kid="other"))["status_proof"]["issuer"]

    assert story.offline(forged).verdict.value == "INVALID"


@pytest.mark.parametrize("part", ["status_proof", "issuer", "key"])
def test_bundle_without_a_status_history_is_invalid(story: Story, part: str) -> None:
    """
    Otherwise the holder could leave out a revocation together with its proof.
    """
    bundle = story.bundle(stolen_key(story))
    del (bundle if part == "status_proof" else bundle["status_proof"])[part]

    with pytest.raises(ValidationFailed, match=f"/{part}"):
        Bundle.parse(bundle)


@pytest.mark.own_world
def test_bundle_older_than_a_revocation_reports_its_log_size(story: Story) -> None:
    made = story.mint()
    story.list_statuses()
    before = story.bundle(made)
    story.lab.attestations.revoke(made, reason="a test", caller=story.caller)

    report = story.offline(before)

    assert (report.verdict.value, report.as_of) == ("VALID", 3)
    assert report.not_checked[0].startswith("whether, after the first 3 entries of the log, the attestation or its key")


def test_missing_status_list_is_reported_as_unchecked(story: Story) -> None:
    bundle = story.bundle(story.mint())

    report = story.offline(bundle)

    assert bundle["status_proof"]["list"] is None
    assert (report.verdict.value, report.as_of) == ("VALID", None)
    assert "the attestation or its key was revoked, or its issuer" in report.not_checked[0]
    assert "the bundle has no status list" in report.not_checked[0]
    assert not {"status_current", "governance_ok"} & {reason.value for reason in report.report.reasons}


STANDING = ("status", "governance", "key")


def states(report: OfflineReport) -> dict[str, str]:
    return {finding.step: finding.state.value for finding in report.report.results}


def test_steps_without_a_status_list_are_open(story: Story) -> None:
    made = story.mint()
    fresh = story.offline(story.bundle(made))
    story.list_statuses()
    later = story.offline(story.bundle(made))

    assert fresh.verdict.value == later.verdict.value == "VALID"
    content = {"content": "not_checked"}  # neither a document nor a payload was presented
    assert states(fresh) == {step: "open" if step in STANDING else "ok" for step in states(fresh)} | content
    assert {finding.detail for finding in fresh.report.results if finding.is_open} == {NO_STATUS_LIST}
    assert states(later) == dict.fromkeys(states(later), "ok") | content


def test_status_proven_by_an_entry_is_not_open(story: Story) -> None:
    """A revocation ends the attestation, and one of the issuer is final; both have their own entries."""
    ended = story.mint()
    story.lab.attestations.revoke(ended, reason="typo", caller=story.caller)
    assert states(story.offline(story.bundle(ended)))["status"] == "failed"

    before = story.mint()
    story.lab.issuers.set_governance(story.issuer, status=IssuerStatus.REVOKED, caller=story.caller)
    assert states(story.offline(story.bundle(before))) == {
        "transparency": "ok",
        "signature": "ok",
        "content": "not_checked",
        "status": "open",
        "governance": "ok",
        "key": "open",
    }


def test_document_without_attested_hash_leaves_the_step_open(story: Story) -> None:
    bundle = Bundle.parse(story.bundle(story.mint()))
    report = verify_bundle(bundle, trust=story.lab.trust, now=story.clock.now(), file_sha256=bytes(32))

    assert (report.verdict.value, states(report)["content"]) == ("VALID", "open")


def test_command_and_frame_show_the_three_step_states(
    story: Story, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = story.bundle(story.mint())
    (tmp_path / "bundle.json").write_text(json.dumps(bundle))
    with story.lab.storage.read() as connection:
        (tmp_path / "trust.txt").write_text(f"log {story.lab.log.vkey(connection)}\nquorum none\n")
    arguments = [str(tmp_path / "bundle.json"), "--trust", str(tmp_path / "trust.txt")]

    assert verify_command.command(arguments) == verify_command.VALID
    lines = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    assert [(mark, step) for mark, step, _ in lines[1:7]] == [
        ("ok", "transparency"), ("ok", "signature"), ("-", "content"), *(("open", step) for step in STANDING),
    ]  # fmt: skip
    assert lines[3][2] == "not checked: name the document with --file, or the payload with --payload"
    assert all(said == NO_STATUS_LIST for mark, _, said in lines[1:7] if mark == "open")
    assert verify_command.command([*arguments, "--json"]) == verify_command.VALID
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert [(check["ok"], check["state"]) for check in checks] == [
        *[(True, "ok")] * 2,
        (False, "not_checked"),
        *[(False, "open")] * 3,
    ]
    assert list(steps(story.offline(bundle))["result"]) == ["ok", "ok", "not checked", *["open"] * 3]


def test_final_status_leaves_only_the_key_open(story: Story) -> None:
    report = story.offline(story.bundle(revoked(story)))

    assert report.verdict.value == "REVOKED"
    assert report.not_checked[0].startswith("whether its key was revoked")


def test_status_entry_of_another_attestation_is_rejected(story: Story) -> None:
    mine, other = story.mint(), revoked(story)
    forged = copy.deepcopy(story.bundle(mine))
    forged["status_proof"]["attestation"] = story.bundle(other)["status_proof"]["attestation"]
    forged["attestation"]["status"] = "REVOKED"

    assert story.offline(forged).verdict.value == "INVALID"


def test_final_status_without_its_entry_is_rejected(story: Story) -> None:
    forged = story.bundle(story.mint())
    forged["attestation"]["status"] = "REVOKED"

    assert story.offline(forged).verdict.value == "INVALID"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("revocation_reason", "another reason"),
        ("revocation_reason", None),
        ("revoked_at", "2020-01-01T00:00:00.000Z"),
        ("status_log_index", 0),
        ("superseded_by_attestation_id", "0193b5a0-7f3c-7abc-8def-0123456789ab"),
    ],
)
def test_revocation_fields_of_a_bundle_must_equal_the_log(story: Story, name: str, value: Any) -> None:
    """
    The reason too, of which the log holds a commitment that only the bundle's nonce opens.
    """
    bundle = story.bundle(revoked(story))
    changed = {**bundle, "attestation": {**bundle["attestation"], name: value}}

    assert story.offline(bundle).verdict.value == "REVOKED"
    assert story.offline(changed).verdict.value == "INVALID"


@pytest.mark.own_world
def test_command_reports_what_is_known_of_the_status(
    story: Story, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    made = story.mint()
    story.list_statuses()
    (tmp_path / "bundle.json").write_text(json.dumps(story.bundle(made)))
    with story.lab.storage.read() as connection:
        (tmp_path / "trust.txt").write_text(f"log {story.lab.log.vkey(connection)}\nquorum none\n")
    arguments = [str(tmp_path / "bundle.json"), "--trust", str(tmp_path / "trust.txt")]

    assert verify_command.command(arguments) == verify_command.VALID
    assert "status  as of the first 3 entries" in capsys.readouterr().out
    assert verify_command.command([*arguments, "--json"]) == verify_command.VALID
    assert json.loads(capsys.readouterr().out)["status_as_of"] == 3
    assert verify_command.command([*arguments, "--as-of", "3"]) == verify_command.VALID
    assert verify_command.command([*arguments, "--as-of", "4"]) == verify_command.COULD_NOT_CHECK
    assert "as of the first 4 entries" in capsys.readouterr().err
