"""`verify.*`: time of offline verification, from the bundle's text to the verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.verifier import verify_bundle
from attestlab.attestations.rules import Verdict
from attestlab.log.note.trust_policy import TrustPolicy
from benchmarks import world
from benchmarks.figures import Figure

ROUNDS = 9
TIMES = 300
NEIGHBOURS = 40  # other attestations in the log, so that the proof has a path


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the time to verify an Ed25519 bundle of the real server, with a trust policy that is parsed once."""
    with world.serve_installation(folder / "data") as served:
        ids = [served.mint()["id"] for _ in range(NEIGHBOURS)]
        text, trust = served.fetch_bundle(ids[NEIGHBOURS // 2]), TrustPolicy.without_witnesses(served.log_vkey)
    yield Figure.of_rounds("verify.offline_us", [_time_us(text, trust) for _ in range(ROUNDS)], "us")


def _time_us(text: str, trust: TrustPolicy) -> float:
    begin = perf_counter()
    for _ in range(TIMES):
        report = verify_bundle(Bundle.parse(json.loads(text)), trust=trust, now=datetime.now(UTC))
        if report.verdict is not Verdict.VALID:
            raise RuntimeError(f"The bundle is {report.verdict}, so its time is meaningless.")
    return 1e6 * (perf_counter() - begin) / TIMES
