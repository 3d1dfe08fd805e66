"""A bundle that was made once keeps its verdict: those of every release, by the verifier of today."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.verifier import verify_bundle
from attestlab.attestations.rules import Verdict
from attestlab.attestations.schemas.catalogue import ContentType
from attestlab.cli import verify as verify_command
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import parse_time
from attestlab.log.note.trust_policy import TrustPolicy
from support.release_bundles import FOLDER, TRUST, VERDICTS

RELEASES = sorted(path.parent for path in FOLDER.glob(f"*/{VERDICTS}"))


def verdicts(release: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((release / VERDICTS).read_text())
    return found


BUNDLES = [(release / f"{name}.json", expected) for release in RELEASES for name, expected in verdicts(release).items()]
NAMES = [f"{path.parent.name}-{path.stem}" for path, _ in BUNDLES]


@pytest.mark.parametrize(("path", "expected"), BUNDLES, ids=NAMES)
def test_bundle_keeps_its_verdict(path: Path, expected: dict[str, Any]) -> None:
    trust = TrustPolicy.parse((path.parent / TRUST).read_bytes())

    report = verify_bundle(Bundle.read(path.read_bytes()), trust=trust, now=parse_time(expected["now"]))

    assert report.verdict.value == expected["verdict"]
    assert [reason.value for reason in report.report.reasons] == expected["reasons"]


@pytest.mark.parametrize(("path", "expected"), BUNDLES, ids=NAMES)
def test_command_exits_with_the_status_of_the_verdict(path: Path, expected: dict[str, Any]) -> None:
    code = verify_command.command([str(path), "--trust", str(path.parent / TRUST)])

    assert code == (verify_command.VALID if expected["verdict"] == "VALID" else verify_command.OTHER_VERDICT)


@pytest.mark.parametrize("release", RELEASES, ids=[release.name for release in RELEASES])
def test_each_algorithm_content_type_and_verdict_has_a_bundle(release: Path) -> None:
    documents = [json.loads(path.read_text())["attestation"] for path, _ in BUNDLES if path.parent == release]

    assert {document["alg"] for document in documents} == {alg.value for alg in Algorithm}
    assert {document["content_type"] for document in documents} == {kind.value for kind in ContentType}
    assert {expected["verdict"] for expected in verdicts(release).values()} == {
        verdict.value
        for verdict in (Verdict.VALID, Verdict.INVALID, Verdict.REVOKED, Verdict.SUPERSEDED, Verdict.EXPIRED)
    }
