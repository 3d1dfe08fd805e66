"""The playground: each flip changes one bit of a copy, and the offline verifier names the step that it breaks."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest

import attestlab
from attestlab import Bundle, Lab, TrustPolicy, Verdict
from attestlab.core.encoding import b64url_decode
from attestlab_dashboards.log.evidence import load_evidence
from attestlab_dashboards.log.state import Flip, LogState
from attestlab_dashboards.log.step_views import StepState
from attestlab_dashboards.log.tamper import flip_copy, list_obstacles

FLIPS = [flip for flip in Flip if flip is not Flip.NOTHING]


@pytest.fixture(scope="module")
def documents(demo_lab: Lab) -> list[Mapping[str, Any]]:
    """A bundle of each issuer, so that every algorithm is there."""
    newest = {str(each.issuer_id): each for each in reversed(list(demo_lab.attestations))}
    assert len({each.alg for each in newest.values()}) >= 4
    return [each.bundle().document for each in newest.values()]


def bytes_of(document: Mapping[str, Any], flip: Flip) -> bytes:
    """What a flip changes, as bytes."""
    match flip:
        case Flip.CLAIM:
            return json.dumps(document["attestation"]["payload"]["claims"], sort_keys=True).encode()
        case Flip.SIGNATURE:
            return b64url_decode(document["attestation"]["signature"].rpartition(".")[2])
        case Flip.ENTRY:
            return base64.b64decode(document["log_entry"]["entry_b64"])
        case Flip.PATH:
            return b"".join(bytes.fromhex(each[7:]) for each in document["inclusion_proof"]["hashes"])
    return base64.b64decode(document["signed_tree_head"]["checkpoint"].split("\n")[2])


@pytest.mark.parametrize("flip", FLIPS)
def test_a_flip_changes_one_bit_of_the_copy_alone(documents: list[Mapping[str, Any]], flip: Flip) -> None:
    for document in documents:
        before = deepcopy(document)

        flipped = flip_copy(document, flip)

        assert document == before
        assert flipped is not None
        pairs = zip(bytes_of(document, flip), bytes_of(flipped.document, flip), strict=True)
        assert sum((one ^ other).bit_count() for one, other in pairs) == 1
        assert flip is Flip.PATH or bytes_of(flipped.document, Flip.PATH) == bytes_of(document, Flip.PATH)


@pytest.mark.parametrize("flip", FLIPS)
def test_the_verifier_rejects_every_flipped_copy(demo_lab: Lab, documents: list[Mapping[str, Any]], flip: Flip) -> None:
    trust = TrustPolicy.parse(demo_lab.log.vkey().trust_policy)
    for document in documents:
        flipped = flip_copy(document, flip)
        assert flipped is not None

        verdicts = [
            attestlab.verify_bundle(Bundle.parse(each), trust=trust, now=datetime.now(UTC)).verdict
            for each in (document, flipped.document)
        ]

        assert verdicts == [Verdict.VALID, Verdict.INVALID]


@pytest.mark.parametrize(("flip", "step"), list(zip(FLIPS, [6, 6, 7, 7, 7], strict=True)))
def test_a_flip_fails_the_step_that_it_breaks_and_later_ones_are_not_reached(
    demo_lab: Lab, flip: Flip, step: int
) -> None:
    evidence = load_evidence(demo_lab, LogState(flip=flip))

    assert evidence.examination is not None
    states = [each.state for each in evidence.examination.steps]
    assert states[step - 1] is StepState.FAILED
    assert StepState.FAILED not in states[: step - 1]
    assert set(states[step:]) == {StepState.SKIPPED}
    assert evidence.examination.verdict is Verdict.INVALID


@pytest.mark.parametrize(
    ("flip", "breaks_path", "is_included"),
    [
        (Flip.NOTHING, False, True),
        (Flip.CLAIM, False, True),
        (Flip.SIGNATURE, False, True),
        (Flip.ENTRY, True, False),
        (Flip.PATH, True, False),
        (Flip.ROOT, False, False),
    ],
)
def test_the_path_shows_what_a_flip_breaks(demo_lab: Lab, flip: Flip, *, breaks_path: bool, is_included: bool) -> None:
    evidence = load_evidence(demo_lab, LogState(flip=flip))

    assert evidence.path is not None
    assert (evidence.path.broken_at is not None) is breaks_path
    assert evidence.is_included is is_included


def test_an_entry_without_a_bundle_has_neither_claim_nor_signature_to_flip(demo_lab: Lab) -> None:
    evidence = load_evidence(demo_lab, LogState(find="0", flip=Flip.CLAIM))

    assert set(evidence.obstacles) == {Flip.CLAIM, Flip.SIGNATURE}
    assert evidence.flipped is None
    assert evidence.is_included
    assert load_evidence(demo_lab, LogState(find="0", flip=Flip.ENTRY)).is_included is False


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"a": "***", "b": "Zoë"}, {"a": "***", "b": "Znë"}),
        ({"n": 12}, {"n": 13}),
        ({"a": True, "b": None, "c": "é"}, None),
    ],
)
def test_a_claim_remains_readable_when_its_bit_flips(
    documents: list[Mapping[str, Any]], claims: dict[str, object], expected: dict[str, object] | None
) -> None:
    document = deepcopy(dict(documents[0]))
    document["attestation"]["payload"]["claims"] = claims
    flipped = flip_copy(document, Flip.CLAIM)

    assert (Flip.CLAIM in list_obstacles(document)) is (expected is None)
    assert (flipped and flipped.document["attestation"]["payload"]["claims"]) == expected
