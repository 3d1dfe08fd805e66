"""`expiry.*`: time to make a hundred thousand due expiries permanent, while others are minted."""

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
from benchmarks.load import Load, Plan, run_load
from benchmarks.world import ServedInstallation

DUE = 100_000
MINTS_A_COMMIT = 500
CONNECTIONS = 64
SECONDS = 2.0
POLL_S = 0.2
QUIET_ROUNDS = 4
LONG_AGO = timedelta(days=2)
BETWEEN_MINTS = timedelta(milliseconds=1)


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the duration of the sweep, and its effect on concurrent mints."""
    with world.serve_installation(folder / "quiet") as other:
        quiet = [_run_mints(other) for _ in range(QUIET_ROUNDS)]
        took_s, busy = _measure_sweep(folder / "busy")
        # Measured before and after the sweep, because the machine's speed varies.
        quiet += [_run_mints(other) for _ in range(QUIET_ROUNDS)]
    yield Figure("expiry.100k_s", round(took_s, 1), "s", against=f"mints on {CONNECTIONS} connections at the same time")
    yield Figure.of_rounds("expiry.mint_p99_ms", [load.p99_ms for load in busy], "ms")
    yield Figure.of_rounds("expiry.mint_p99_quiet_ms", [load.p99_ms for load in quiet], "ms")
    ratio = median(load.p99_ms for load in busy) / median(load.p99_ms for load in quiet)
    yield Figure("expiry.mint_p99_ratio", round(ratio, 2), "ratio", against="the same mints on a quiet server")
    yield Figure.of_rounds("expiry.mint_per_s", [load.per_second for load in busy], "1/s")
    yield Figure.of_rounds("expiry.mint_quiet_per_s", [load.per_second for load in quiet], "1/s")


def _measure_sweep(data: Path) -> tuple[float, list[Load]]:
    """Return the seconds that the sweep takes, and the loads of mints during it."""
    records, busy = data / "records.db", []
    with world.serve_installation(data, before=_mint_expired) as served, ThreadPoolExecutor(1) as pool:
        _wait_until_fewer(records, DUE)
        began = monotonic()
        over = pool.submit(_wait_until_fewer, records, 1)
        while not over.done():
            busy.append(_run_mints(served))
        return over.result() - began, busy


def _run_mints(served: ServedInstallation) -> Load:
    return run_load(Plan(served.server.port, CONNECTIONS, SECONDS, 0.3, 201, [served.build_mint_request()]))


def _mint_expired(data: Path) -> None:
    """Mint attestations that expired a day ago, while no server ran."""
    clock = FixedClock(datetime.now(UTC) - LONG_AGO)
    lab = Installation.open(Settings(data=data), clock=clock)
    with lab.storage.read() as connection:
        caller = lab.orgs.service_caller(connection.execute(tenants.select()).one().id)
    profile = {"name": "Registrar", "domain": "registrar.example"}
    issuer = lab.issuers.create(profile, caller=caller, alg=Algorithm.ED25519, kid="brief").issuer.id
    request = MintRequest(
        issuer_id=issuer, kid="brief", schema="degree", claims=world.CLAIMS, expiry_at=clock.now() + LONG_AGO / 2
    )

    def prepare_attestation() -> PreparedAttestation:
        clock.advance(BETWEEN_MINTS)  # ids begin with their time; within one millisecond they would have no order
        return lab.attestations.prepare(request, caller=caller)

    for _ in range(DUE // MINTS_A_COMMIT):
        drafts = [prepare_attestation() for _ in range(MINTS_A_COMMIT)]
        with lab.storage.write() as tx:
            for each in drafts:
                lab.attestations.issue_or_raise(each, tx=tx)
    lab.close()


def _wait_until_fewer(records: Path, fewer_than: int) -> float:
    """Wait until fewer attestations are due, and return the time of that observation."""
    query = "SELECT count(*) FROM attestations WHERE status = 'VALID' AND expiry_at IS NOT NULL"
    with closing(sqlite3.connect(f"file:{records}?mode=ro", uri=True)) as connection:
        while connection.execute(query).fetchone()[0] >= fewer_than:
            sleep(POLL_S)
    return monotonic()
