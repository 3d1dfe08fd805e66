"""`verify.*`: a bundle checked offline, from its text to the verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from attestlab.attestations.bundle.bundle import Bundle, verify_bundle
from attestlab.attestations.rules import Verdict
from attestlab.log.note.trust_policy import TrustPolicy
from benchmarks import world
from benchmarks.figures import Figure

ROUNDS = 9
TIMES = 300
NEIGHBOURS = 40  # other attestations in the log, so that the proof has a path


def figures(folder: Path) -> Iterator[Figure]:
    """An Ed25519 bundle that the real server gave; the pinned policy is read once, as a verifier does."""
    with world.served(folder / "data") as lab:
        ids = [lab.mint()["id"] for _ in range(NEIGHBOURS)]
        text, trust = lab.bundle(ids[NEIGHBOURS // 2]), TrustPolicy.unwitnessed(lab.log_vkey)
    yield Figure.of_rounds("verify.offline_us", [_each_us(text, trust) for _ in range(ROUNDS)], "us")


def _each_us(text: str, trust: TrustPolicy) -> float:
    begin = perf_counter()
    for _ in range(TIMES):
        report = verify_bundle(Bundle.parse(json.loads(text)), trust=trust, now=datetime.now(UTC))
        if report.verdict is not Verdict.VALID:
            raise RuntimeError(f"The bundle is {report.verdict}, so its time says nothing.")
    return 1e6 * (perf_counter() - begin) / TIMES
