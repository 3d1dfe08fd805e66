"""`login_backfill.*`: a past of logins that is loaded over HTTP and learnt, against the bare detector in memory.

`BENCH_LOGINS` sets their number (20,000). They are those of a generated world, in the order of time, and shuffled: then
the service begins again when older ones come.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from time import perf_counter

import attestlab
from attestlab.demos.risk_world.parameters import WorldParameters
from attestlab.demos.risk_world.world import RiskWorld
from attestlab.risk.logins.detector import LoginDetector
from attestlab.risk.logins.documents import MemoryDocuments
from attestlab.risk.logins.login import Login
from attestlab.risk.logins.places import GeoLocator
from benchmarks import servers
from benchmarks.figures import Figure

LOGINS = int(os.environ.get("BENCH_LOGINS", "20000"))
ROUNDS = 3


def figures(folder: Path) -> Iterator[Figure]:
    """Measure both in turns, and yield the rates and their ratio."""
    logins = [each.login for each in islice(RiskWorld(WorldParameters(seed=9)).logins(), LOGINS)]
    locator = GeoLocator()
    locator.locate("192.0.2.1")
    bare, loaded, shuffled = [], [], []
    for number in range(ROUNDS):
        bare.append(_measure_bare(logins, locator))
        loaded.append(_measure_load(folder / f"sorted-{number}", logins))
        shuffled.append(_measure_load(folder / f"shuffled-{number}", Random(number).sample(logins, len(logins))))
    yield Figure("login_backfill.logins", len(logins), "logins")
    yield Figure.of_rounds("login_backfill.bare_per_s", bare, "1/s")
    yield Figure.of_rounds("login_backfill.per_s", loaded, "1/s")
    yield Figure.of_rounds("login_backfill.shuffled_per_s", shuffled, "1/s")
    ratios = [load / alone for load, alone in zip(loaded, bare, strict=True)]
    yield Figure.of_rounds("login_backfill.ratio", ratios, "ratio", against="the detector alone")


def _measure_bare(logins: Sequence[Login], locator: GeoLocator) -> float:
    detector, documents, begin = LoginDetector(locator), MemoryDocuments(), perf_counter()
    for login in logins:
        detector.assess(login, documents)
    return len(logins) / (perf_counter() - begin)


def _measure_load(folder: Path, logins: Sequence[Login]) -> float:
    made = servers.init_data_folder(folder)
    rows = [_as_row(login) for login in logins]
    with servers.run_attestlab(folder) as server, attestlab.connect(server.url, made["api_key"]) as lab:
        begin = perf_counter()
        done = lab.signals.backfill_logins(rows)
        spent_s = perf_counter() - begin
    if done.learnt != len(logins):
        raise RuntimeError(f"{done.learnt} of {len(logins)} logins were learnt, so the rate is meaningless.")
    return len(logins) / spent_s


def _as_row(login: Login) -> dict[str, object]:
    members = {name: getattr(login, name) for name in ("subject_id", "ip", "device_id", "country", "user_agent")}
    known = {name: value for name, value in members.items() if value is not None}
    return {**known, "outcome": str(login.outcome), "occurred_at": login.occurred_at}
