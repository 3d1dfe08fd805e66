"""The one search box: an index, an id, a hash, a key and an issuer each lead to an entry."""

from __future__ import annotations

import pytest

from attestlab import Lab
from attestlab_dashboards.log import subject
from attestlab_dashboards.log.events import EVENTS
from attestlab_dashboards.log.evidence import load_evidence
from attestlab_dashboards.log.panes.kpis import load_tiles
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.log.step_views import StepState
from attestlab_dashboards.log.subject import find_subject
from support.log_inspector import CLAIMS


def index_of(lab: Lab, text: str) -> int | None:
    found = find_subject(lab, LogState().change(find=text)).entry
    return None if found is None else found.log_index


def test_an_attestation_is_found_by_each_of_its_names(demo_lab: Lab) -> None:
    attestation = next(each for each in demo_lab.attestations if each.document_hash)
    leaf = demo_lab.log.lookup(attestation).leaf_hash
    index = attestation.log_index

    for name in (str(index), f" {index:,} ", str(attestation.id), attestation.url, leaf, leaf[7:].upper()):
        assert index_of(demo_lab, name) == index
    assert index_of(demo_lab, str(attestation.document_hash)) == index


def test_the_hash_of_a_file_is_never_taken_for_a_leaf(demo_lab: Lab) -> None:
    leaf = demo_lab.log.lookup(demo_lab.attestations[0]).leaf_hash.removeprefix("sha256:")
    pasted, dropped = LogState().change(find=leaf), EVENTS["document"](LogState(), leaf)

    assert find_subject(demo_lab, pasted).entry is not None
    assert (dropped.find, dropped.file) == (leaf, leaf)
    assert find_subject(demo_lab, dropped).unattested == leaf
    assert EVENTS["document"](LogState(find="7"), "no hash") == LogState(find="7")


def test_a_document_that_was_attested_twice_shows_the_valid_attestation_and_names_the_other(own_lab: Lab) -> None:
    first, second = [
        own_lab.mint(b"a diploma", issuer="Northfield University", schema="degree", claims=CLAIMS) for _ in "ab"
    ]
    digest = str(first.document_hash)
    both = find_subject(own_lab, LogState(find=digest))
    own_lab.attestations.revoke(second, "a test")
    after = find_subject(own_lab, LogState(find=digest))
    assert both.entry is not None
    assert after.entry is not None

    assert (both.entry.log_index, both.others) == (second.log_index, ((first.log_index, "VALID"),))
    assert (after.entry.log_index, after.others) == (first.log_index, ((second.log_index, "REVOKED"),))
    twin = EVENTS["twin"](LogState(find=digest), f"{second.log_index}.{digest}")
    assert twin == LogState(find=str(second.log_index), file=digest)


def test_the_valid_attestation_is_found_however_many_newer_ones_were_withdrawn(
    own_lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "MAX_TWINS", 2)
    first, *newer = [
        own_lab.mint(b"a contract", issuer="Northfield University", schema="degree", claims=CLAIMS) for _ in "abcd"
    ]
    for each in newer:
        own_lab.attestations.revoke(each, "a test")
    found = find_subject(own_lab, LogState(find=str(first.document_hash)))

    assert found.entry is not None
    assert found.entry.log_index == first.log_index
    assert (len(found.others), found.has_more) == (2, True)


@pytest.mark.parametrize(
    "name", ["northfield-1", "Northfield University", "NORTHFIELD UNIVERSITY", "northfield.example.edu"]
)
def test_a_key_or_an_issuer_leads_to_its_newest_mint(demo_lab: Lab, name: str) -> None:
    issuer = demo_lab.issuers["Northfield University"]
    newest = next(demo_lab.attestations.list(issuer_id=issuer.id, limit=1))

    found = index_of(demo_lab, issuer.domain if "." in name else name)

    assert found == newest.log_index
    assert index_of(demo_lab, str(issuer.id)) == newest.log_index


@pytest.mark.parametrize(
    "text",
    ["999999", "ab" * 32, "sha256:" + "cd" * 32, "no such name", "'; --", "00000000-0000-7000-8000-000000000000"],
)
def test_what_the_log_does_not_have_is_named(demo_lab: Lab, text: str) -> None:
    subject = find_subject(demo_lab, LogState(find=text))

    assert subject.entry is None
    assert text.removeprefix("sha256:") in (subject.unattested or subject.missing)


def test_without_a_search_the_newest_attestation_is_shown(demo_lab: Lab) -> None:
    assert find_subject(demo_lab, LogState()).attestation_id == str(demo_lab.attestations[0].id)


def test_a_dropped_file_is_also_compared(demo_lab: Lab) -> None:
    attestation = next(each for each in demo_lab.attestations if each.document_hash)

    state = EVENTS["find"](LogState(), str(attestation.document_hash))
    examination = load_evidence(demo_lab, state).examination

    assert examination is not None
    assert (examination.steps[1].name, examination.steps[1].state) == ("content", StepState.GOOD)


def test_another_file_fails_the_second_step(demo_lab: Lab) -> None:
    attestation = next(each for each in demo_lab.attestations if each.document_hash)

    state = EVENTS["file"](LogState(find=str(attestation.id)), "ab" * 32)
    examination = load_evidence(demo_lab, state).examination

    assert examination is not None
    assert (examination.steps[1].state, examination.verdict.value) == (StepState.FAILED, "ALTERED")


def test_each_example_of_the_search_box_finds_an_entry(demo_lab: Lab) -> None:
    examples = load_tiles(demo_lab, LogState()).examples

    assert [label for label, _ in examples] == ["index", "id", "key", "issuer"]
    for _, text in examples:
        assert find_subject(demo_lab, LogState(find=text)).entry is not None
