"""`log.*`: speed of the log alone on SQLite, and the cost of a million leaves for a mint and a proof over HTTP."""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from uuid import uuid4

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from attestlab import migrations
from attestlab.core.clock import SystemClock
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.group_commit.thread import MAX_GROUP_SIZE
from attestlab.core.db.storage import Storage
from attestlab.installation import Installation
from attestlab.log import entries
from attestlab.log.head_guard import HeadGuard
from attestlab.log.service import Log
from attestlab.settings import Settings
from benchmarks import world
from benchmarks.figures import Figure
from benchmarks.load import Plan, format_request, run_load
from benchmarks.world import ServedInstallation

ROUNDS = 7
MILLION = 1_000_000
CONNECTIONS = 64
SECONDS, WARMUP_S = 2.0, 0.5
LEAVES = 20 * MAX_GROUP_SIZE
CLOCK = SystemClock()


def figures(folder: Path) -> Iterator[Figure]:
    """Yield all figures of the log."""
    yield Figure.of_rounds("log.leaves_per_s", list(_append_rates(folder)), "1/s")
    with ExitStack() as stack:
        large = stack.enter_context(world.serve_installation(folder / "large", before=_fill))
        small = stack.enter_context(world.serve_installation(folder / "small"))
        for name, plans in (
            ("mint", (_mint_plan(large), _mint_plan(small))),
            ("proof", (_proof_plan(large), _proof_plan(small))),
        ):
            costs = [_cost_ratio(*plans) for _ in range(ROUNDS)]
            yield Figure.of_rounds(f"log.{name}_ratio_1m", costs, "ratio", against="an empty log")


def _cost_ratio(large: Plan, small: Plan) -> float:
    """Return how many times as long a request takes on the large log."""
    slow, fast = run_load(large), run_load(small)
    return fast.per_second / slow.per_second


def _mint_plan(lab: ServedInstallation) -> Plan:
    return Plan(lab.server.port, CONNECTIONS, SECONDS, WARMUP_S, 201, [lab.build_mint_request()])


def _proof_plan(lab: ServedInstallation) -> Plan:
    """Request proofs of random entries of the log."""
    size = lab.client.get("/v1/log/head").raise_for_status().json()["tree_size"]
    chance = random.Random(size)
    requests = [format_request("GET", f"/v1/log/proofs/{chance.randrange(size)}") for _ in range(1000)]
    return Plan(lab.server.port, CONNECTIONS, SECONDS, WARMUP_S, 200, requests)


def _fill(data: Path) -> None:
    """Append a million leaves to the log, through the same service as a mint."""
    lab = Installation.open(Settings(data=data))
    for _ in range(0, MILLION, LEAVES):
        append_in_groups(lab.storage, lab.log, make_mint_entries(LEAVES))
    lab.close()


def _append_rates(folder: Path) -> Iterator[float]:
    """Yield leaves per second, in full groups; each group is one durable commit with its checkpoint.

    The entries are made before the measurement.
    """
    storage = Storage(f"sqlite:///{folder / 'records.db'}")
    migrations.upgrade(storage)
    log = Log(storage=storage, keyring=Keyring.create(folder), clock=CLOCK, guard=HeadGuard(folder / "head.guard"))
    storage.sequence_hooks.append(log.seal)
    with storage.write() as tx:
        log.create(tx, origin="bench.example/log", private=Ed25519PrivateKey.generate())
    for _ in range(ROUNDS):
        made = make_mint_entries(LEAVES)
        begin = perf_counter()
        append_in_groups(storage, log, made)
        yield LEAVES / (perf_counter() - begin)
    storage.close()


def append_in_groups(storage: Storage, log: Log, made: list[bytes]) -> None:
    """Append entries in groups of the server's maximum size."""
    for start in range(0, len(made), MAX_GROUP_SIZE):
        with storage.write() as tx:
            for entry in made[start : start + MAX_GROUP_SIZE]:
                log.append(tx, entry, kind=entries.EntryType.MINTED)


def make_mint_entries(count: int) -> list[bytes]:
    """Return entries like those of mints, each different."""
    issuer_id, spki, now = uuid4(), secrets.token_bytes(44), CLOCK.now()
    return [
        entries.minted_entry(
            attestation_id=uuid4(),
            issuer_id=issuer_id,
            kid="registrar-1",
            alg="Ed25519",
            public_spki=spki,
            at=now,
            commit=secrets.token_bytes(32),
        )
        for _ in range(count)
    ]
