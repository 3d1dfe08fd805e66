"""`fsck.*`: how fast `attestlab log fsck` checks an installation, against the minimum work of a check."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from time import perf_counter

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key

from attestlab.attestations.minting import MintRequest, PreparedAttestation
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import b64url_decode
from attestlab.installation import Installation
from attestlab.integrity.parallel_fsck import check_installation
from attestlab.settings import Settings
from benchmarks.figures import Figure
from benchmarks.world import CLAIMS

ENTRIES = 20_000
MINTS_A_COMMIT = 50
ROUNDS = 3
FLOOR = "each entry and signature read once, one SHA-256 and one Ed25519 verification, on one core"
BETWEEN_MINTS = timedelta(milliseconds=1)


@dataclass(frozen=True)
class Cost:
    """The duration of one check, and its processor time on all cores."""

    wall_s: float
    cpu_s: float


def figures(folder: Path) -> Iterator[Figure]:
    """Yield entries per second of a whole check and of the floor, measured in turn, and their ratio.

    The processor time is a figure too, because it depends less on other work of the machine.
    """
    settings = Settings(data=folder / "data", database_url=None)
    mint_in_groups(settings, ENTRIES)
    rounds = [
        (_measure_cost(lambda: _run_fsck(settings)), _measure_cost(lambda: _run_floor(settings))) for _ in range(ROUNDS)
    ]
    yield Figure.of_rounds("fsck.entries_per_s", [ENTRIES / checked.wall_s for checked, _ in rounds], "1/s")
    yield Figure.of_rounds("fsck.floor_per_s", [ENTRIES / floor.wall_s for _, floor in rounds], "1/s", against=FLOOR)
    ratios = [floor.wall_s / checked.wall_s for checked, floor in rounds]
    yield Figure.of_rounds("fsck.ratio", ratios, "ratio", against=FLOOR)
    yield Figure.of_rounds("fsck.cpu_us", [checked.cpu_s / ENTRIES * 1e6 for checked, _ in rounds], "us an entry")
    yield Figure.of_rounds("fsck.floor_cpu_us", [floor.cpu_s / ENTRIES * 1e6 for _, floor in rounds], "us an entry")


def _measure_cost(check: Callable[[], None]) -> Cost:
    began, used = perf_counter(), _cpu_s()
    check()
    return Cost(perf_counter() - began, _cpu_s() - used)


def _cpu_s() -> float:
    """Return the processor time of this process and of its ended children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _run_fsck(settings: Settings) -> None:
    problems = check_installation(settings).problems
    assert not problems, problems[:3]


def _run_floor(settings: Settings) -> None:
    """Read the attestations, hash each entry and verify each signature, without comparing anything."""
    query = "SELECT a.signature, k.spki, l.entry FROM attestations a JOIN issuer_keys k USING (tenant_id, kid) "
    query += 'JOIN log_leaves l ON l."index" = a.log_index'
    with closing(sqlite3.connect(settings.data / "records.db")) as connection:
        for signature, spki, entry in connection.execute(query):
            signed, _dot, raw = signature.rpartition(".")
            _load_public_key(spki).verify(b64url_decode(raw), signed.encode())
            hashlib.sha256(entry).digest()


@cache
def _load_public_key(spki: bytes) -> Ed25519PublicKey:
    public = load_der_public_key(spki)
    assert isinstance(public, Ed25519PublicKey)
    return public


def mint_in_groups(settings: Settings, entries: int) -> None:
    """Mint as a busy server does: in groups, with one checkpoint per group."""
    clock = FixedClock(datetime.now(UTC) - timedelta(days=1))
    lab, made = Installation.init(settings, clock=clock)
    caller = lab.orgs.service_caller(made.tenant.tenant_id)
    profile = {"name": "Registrar", "domain": "registrar.example"}
    issuer = lab.issuers.create(profile, caller=caller, alg=Algorithm.ED25519, kid="first").issuer.id
    request = MintRequest(issuer_id=issuer, kid="first", schema="degree", claims=CLAIMS)

    def prepare_attestation() -> PreparedAttestation:
        clock.advance(BETWEEN_MINTS)  # ids begin with their time
        return lab.attestations.prepare(request, caller=caller)

    for _ in range(entries // MINTS_A_COMMIT):
        drafts = [prepare_attestation() for _ in range(MINTS_A_COMMIT)]
        with lab.storage.write() as tx:
            for each in drafts:
                lab.attestations.issue_or_raise(each, tx=tx)
    lab.close()
