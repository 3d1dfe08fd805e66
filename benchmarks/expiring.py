"""`expiry.*`: a hundred thousand attestations that are due at once, made permanent while others are minted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from time import monotonic, sleep

from attestlab.attestations.minting import MintRequest, PreparedAttestation
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.installation import Installation
from attestlab.orgs.store import tenants
from attestlab.settings import Settings
from benchmarks import world
from benchmarks.figures import Figure
from benchmarks.load import Load, Plan, run
from benchmarks.world import World

DUE = 100_000
MINTS_A_COMMIT = 500
CONNECTIONS = 64
SECONDS = 2.0
POLL_S = 0.2
QUIET_ROUNDS = 4
LONG_AGO = timedelta(days=2)
BETWEEN_MINTS = timedelta(milliseconds=1)


def figures(folder: Path) -> Iterator[Figure]:
    """How long the sweep takes, and what it costs the mints that go on meanwhile."""
    with world.served(folder / "quiet") as other:
        quiet = [_mints(other) for _ in range(QUIET_ROUNDS)]
        took_s, busy = _sweep(folder / "busy")
        quiet += [_mints(other) for _ in range(QUIET_ROUNDS)]  # before and after: the machine is not always as fast
    yield Figure("expiry.100k_s", round(took_s, 1), "s", against=f"mints on {CONNECTIONS} connections meanwhile")
    yield Figure.of_rounds("expiry.mint_p99_ms", [load.p99_ms for load in busy], "ms")
    yield Figure.of_rounds("expiry.mint_p99_quiet_ms", [load.p99_ms for load in quiet], "ms")
    ratio = median(load.p99_ms for load in busy) / median(load.p99_ms for load in quiet)
    yield Figure("expiry.mint_p99_ratio", round(ratio, 2), "ratio", against="the same mints on a quiet server")
    yield Figure.of_rounds("expiry.mint_per_s", [load.per_second for load in busy], "1/s")
    yield Figure.of_rounds("expiry.mint_quiet_per_s", [load.per_second for load in quiet], "1/s")


def _sweep(data: Path) -> tuple[float, list[Load]]:
    """The seconds that it takes, and the mints meanwhile."""
    records, busy = data / "records.db", []
    with world.served(data, before=_fill) as served, ThreadPoolExecutor(1) as beside:
        _wait(records, DUE)
        began = monotonic()
        over = beside.submit(_wait, records, 1)
        while not over.done():
            busy.append(_mints(served))
        return over.result() - began, busy


def _mints(served: World) -> Load:
    return run(Plan(served.server.port, CONNECTIONS, SECONDS, 0.3, 201, [served.mint_request()]))


def _fill(data: Path) -> None:
    """What ran out a day ago, while no server ran."""
    clock = FixedClock(datetime.now(UTC) - LONG_AGO)
    lab = Installation.open(Settings(data=data), clock=clock)
    with lab.storage.read() as connection:
        caller = lab.orgs.service_caller(connection.execute(tenants.select()).one().id)
    profile = {"name": "Registrar", "domain": "registrar.example"}
    issuer = lab.issuers.create(profile, caller=caller, alg=Algorithm.ED25519, kid="brief").issuer["id"]
    request = MintRequest(
        issuer_id=issuer, kid="brief", schema="degree", claims=world.CLAIMS, expiry_at=clock.now() + LONG_AGO / 2
    )

    def draft() -> PreparedAttestation:
        clock.advance(BETWEEN_MINTS)  # ids are led by their time, so all in one millisecond would be in no order at all
        return lab.attestations.prepare(request, caller=caller)

    for _ in range(DUE // MINTS_A_COMMIT):
        drafts = [draft() for _ in range(MINTS_A_COMMIT)]
        with lab.storage.write():
            for each in drafts:
                lab.attestations.issue_or_raise(each)
    lab.close()


def _wait(records: Path, fewer_than: int) -> float:
    """Wait until fewer are due; the moment when that was seen."""
    query = "SELECT count(*) FROM attestations WHERE status = 'VALID' AND expiry_at IS NOT NULL"
    with closing(sqlite3.connect(f"file:{records}?mode=ro", uri=True)) as connection:
        while connection.execute(query).fetchone()[0] >= fewer_than:
            sleep(POLL_S)
    return monotonic()
