"""`log.*`: the log on SQLite by itself, and what a million leaves cost a mint and a proof over HTTP."""

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
from benchmarks.load import Plan, request, run
from benchmarks.world import World

ROUNDS = 7
MILLION = 1_000_000
CONNECTIONS = 64
SECONDS, WARMUP_S = 2.0, 0.5
LEAVES = 20 * MAX_GROUP_SIZE
CLOCK = SystemClock()


def figures(folder: Path) -> Iterator[Figure]:
    """Every figure of the log."""
    yield Figure.of_rounds("log.leaves_per_s", list(_appending(folder)), "1/s")
    with ExitStack() as stack:
        large = stack.enter_context(world.served(folder / "large", before=_fill))
        small = stack.enter_context(world.served(folder / "small"))
        for name, plans in (("mint", (_mints(large), _mints(small))), ("proof", (_proofs(large), _proofs(small)))):
            costs = [_cost(*plans) for _ in range(ROUNDS)]
            yield Figure.of_rounds(f"log.{name}_ratio_1m", costs, "ratio", against="an empty log")


def _cost(large: Plan, small: Plan) -> float:
    """How many times as long a request takes on the large log."""
    slow, fast = run(large), run(small)
    return fast.per_second / slow.per_second


def _mints(lab: World) -> Plan:
    return Plan(lab.server.port, CONNECTIONS, SECONDS, WARMUP_S, 201, [lab.mint_request()])


def _proofs(lab: World) -> Plan:
    """Proofs of entries from anywhere in the log."""
    size = lab.client.get("/v1/log/head").raise_for_status().json()["tree_size"]
    chance = random.Random(size)
    asked = [request("GET", f"/v1/log/proofs/{chance.randrange(size)}") for _ in range(1000)]
    return Plan(lab.server.port, CONNECTIONS, SECONDS, WARMUP_S, 200, asked)


def _fill(data: Path) -> None:
    """Bring the log to a million leaves, through the same service that a mint goes through."""
    lab = Installation.open(Settings(data=data))
    for _ in range(0, MILLION, LEAVES):
        append(lab.storage, lab.log, minted_entries(LEAVES))
    lab.close()


def _appending(folder: Path) -> Iterator[float]:
    """Leaves a second, in full groups, each one durable commit with its checkpoint; entries are made beforehand."""
    storage = Storage(f"sqlite:///{folder / 'records.db'}")
    migrations.upgrade(storage)
    log = Log(storage=storage, keyring=Keyring.create(folder), clock=CLOCK, guard=HeadGuard(folder / "head.guard"))
    with storage.write() as tx:
        log.create(tx, origin="bench.example/log", private=Ed25519PrivateKey.generate())
    for _ in range(ROUNDS):
        made = minted_entries(LEAVES)
        begin = perf_counter()
        append(storage, log, made)
        yield LEAVES / (perf_counter() - begin)
    storage.close()


def append(storage: Storage, log: Log, made: list[bytes]) -> None:
    """Append in groups as large as the server's."""
    for start in range(0, len(made), MAX_GROUP_SIZE):
        with storage.write() as tx:
            for entry in made[start : start + MAX_GROUP_SIZE]:
                log.append(tx, entry, kind=entries.EntryType.MINTED)


def minted_entries(count: int) -> list[bytes]:
    """Entries as mints make them, each different."""
    issuer_id, spki, now = uuid4(), secrets.token_bytes(44), CLOCK.now()
    return [
        entries.minted(
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
