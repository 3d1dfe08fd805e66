"""What the page says about an entry is what the facade's verbs answer."""

from __future__ import annotations

import json

import pytest

from attestlab import Lab, Verdict
from attestlab.core.errors import ValidationFailed
from attestlab_dashboards.log.evidence import load_evidence
from attestlab_dashboards.log.page import ask_service, check_pasted_bundle
from attestlab_dashboards.log.panes.bundle import draw_bundle_check, load_bundle_check
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.log.step_views import StepState
from support.log_inspector import mint


def test_each_entry_of_the_log_is_proven_under_its_signed_head(demo_lab: Lab) -> None:
    for index in (0, 1, 20, len(demo_lab.log) - 1):
        evidence = load_evidence(demo_lab, LogState(find=str(index)))
        proof = demo_lab.log.proof(index)

        assert evidence.path is not None
        assert evidence.is_included
        assert [f"sha256:{each.hash.hex()}" for each in evidence.path.siblings] == proof.hashes
        assert f"sha256:{evidence.path.nodes[0].hex()}" == proof.leaf_hash
        assert f"sha256:{evidence.path.nodes[-1].hex()}" == proof.root_hash


def test_the_steps_agree_with_the_facade_for_valid_and_for_withdrawn_attestations(own_lab: Lab) -> None:
    mint(own_lab, 2)
    withdrawn, valid = own_lab.attestations[:2]
    withdrawn.revoke("a test")
    trust = own_lab.log.vkey().trust_policy

    for attestation, verdict in ((valid, Verdict.VALID), (withdrawn, Verdict.REVOKED)):
        examination = load_evidence(own_lab, LogState(find=str(attestation.id))).examination
        offline = attestation.bundle().verify(trust=trust)

        assert examination is not None
        assert examination.verdict is offline.verdict is verdict
        assert list(examination.not_checked) == offline.not_checked
        assert examination.steps[0].name == "resolve"
        assert len(examination.steps) == 8


def test_a_withdrawn_attestation_stops_at_the_third_step(own_lab: Lab) -> None:
    mint(own_lab, 1)
    own_lab.attestations[0].revoke("a test")

    evidence = load_evidence(own_lab, LogState())

    assert evidence.examination is not None
    states = [step.state for step in evidence.examination.steps]
    assert states[2] is StepState.FAILED
    assert set(states[3:]) == {StepState.SKIPPED}


def test_the_end_of_an_attestation_has_a_path_and_leads_to_its_attestation(own_lab: Lab) -> None:
    mint(own_lab, 1)
    ended = own_lab.attestations[0]
    index = ended.revoke("a test").log_index

    evidence = load_evidence(own_lab, LogState(find=str(index)))

    assert evidence.is_included
    assert evidence.examination is None
    assert evidence.subject.attestation_id == str(ended.id)


def test_a_pinned_policy_of_another_log_is_not_satisfied(demo_lab: Lab) -> None:
    pinned = demo_lab.log.vkey().trust_policy
    own = load_evidence(demo_lab, LogState(trust=pinned))
    witnessed = pinned.replace(
        "quorum none",
        "witness w1 witness.example/w1+da598b40+BP1Bnm3WPcH0C5UTtNeFqzlSG5q+bIf+k0zLUOA9n0M5\nquorum w1",
    )
    demanding = load_evidence(demo_lab, LogState(trust=witnessed))

    assert own.trust is not None
    assert own.trust.is_pinned
    assert own.is_included
    assert not demanding.is_included
    assert "did not cosign" in demanding.refusal
    with pytest.raises(ValidationFailed):
        load_evidence(demo_lab, LogState(trust="no policy"))


def test_the_answer_of_the_service_completes_the_eighth_step(own_lab: Lab) -> None:
    mint(own_lab, 1)
    attestation = own_lab.attestations[0]
    before = load_evidence(own_lab, LogState())

    notice = ask_service(own_lab, LogState(), {"id": str(attestation.id)})
    after = load_evidence(own_lab, notice.state)

    assert before.examination is not None
    assert after.examination is not None
    assert before.examination.steps[7].state is StepState.SILENT
    assert after.examination.steps[7].state is StepState.GOOD
    assert notice.state.answer.split() == [str(each) for each in attestation.verify().reasons]


def test_a_pasted_bundle_is_checked_and_a_changed_one_rejected(demo_lab: Lab) -> None:
    document = demo_lab.attestations[0].bundle().document
    changed = json.loads(json.dumps(document))
    changed["attestation"]["payload"]["claims"]["student_name"] = "Eve"

    checks = []
    for each in (document, changed):
        state = check_pasted_bundle(demo_lab, LogState(), {"bundle": json.dumps(each)}).state
        checks.append(load_bundle_check(demo_lab, state))

    assert [check.examination and check.examination.verdict for check in checks] == [Verdict.VALID, Verdict.INVALID]
    assert "pin your own" in str(draw_bundle_check(checks[0], LogState()))


@pytest.mark.parametrize("text", ["", "  ", "{}", "[1]", "not json", '{"attestation": {}}', "\ud800", "[" * 5_000])
def test_a_text_that_is_no_bundle_says_why(demo_lab: Lab, text: str) -> None:
    check = load_bundle_check(demo_lab, LogState(bundle=text))

    assert check.examination is None
    assert bool(check.refusal) is bool(text.strip())
    assert draw_bundle_check(check, LogState(bundle=text))


@pytest.mark.parametrize("place", ["attestation", "key", "inclusion_proof", "log_entry", "signed_tree_head"])
def test_a_bundle_with_a_missing_or_strange_part_is_refused_or_rejected(demo_lab: Lab, place: str) -> None:
    document = json.loads(json.dumps(demo_lab.attestations[0].bundle().document))
    for strange in ({}, None, {"name": 1, "hashes": ["sha256:" + "00" * 32] * 3}, []):
        check = load_bundle_check(demo_lab, LogState(bundle=json.dumps({**document, place: strange})))

        assert check.refusal or (check.examination is not None and check.examination.verdict is not Verdict.VALID)
        assert draw_bundle_check(check, LogState())


def test_each_member_of_a_bundle_may_be_missing_without_a_failure_of_ours(demo_lab: Lab) -> None:
    document = json.loads(json.dumps(demo_lab.attestations[0].bundle().document))
    for part, members in document.items():
        for name in members if isinstance(members, dict) else ():
            changed = {**document, part: {each: value for each, value in members.items() if each != name}}

            check = load_bundle_check(demo_lab, LogState(bundle=json.dumps(changed)))

            assert draw_bundle_check(check, LogState())
