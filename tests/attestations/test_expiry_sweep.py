"""The sweeper beside requests: in batches, each event once, whatever was missed while no server ran."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import func, select

from attestlab.attestations.minting import MintRequest, PreparedAttestation
from attestlab.attestations.results import Minted
from attestlab.attestations.store import attestations
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.transaction import Transaction
from attestlab.installation import MAX_EXPIRIES_PER_WRITE, Installation
from attestlab.orgs.rules import Caller
from attestlab.server.write_queue import WriteQueue
from support.outbox import read_events
from support.timeouts import WAIT_TIMEOUT_S

pytestmark = pytest.mark.both_engines

BRIEF = 2 * MAX_EXPIRIES_PER_WRITE + 50


@pytest.fixture
def request_of_main(lab: Installation, caller: Caller) -> MintRequest:
    made = lab.issuers.create({"name": "N", "domain": "n.example"}, caller=caller, alg=Algorithm.ED25519, kid="main")
    return MintRequest(
        issuer_id=made.issuer.id, kid="main", schema="degree", claims={"student_name": "Ada"}, expiry_at=None
    )


@pytest.fixture
def overdue(lab: Installation, caller: Caller, clock: FixedClock, request_of_main: MintRequest) -> set[str]:
    """Attestations that ran out a month ago, while no server ran."""
    brief = {**vars(request_of_main), "expiry_at": clock.now() + timedelta(hours=1)}
    drafts = [lab.attestations.prepare(MintRequest(**brief), caller=caller) for _ in range(BRIEF)]
    with lab.storage.write() as tx:
        made = {str(lab.attestations.issue_or_raise(draft, tx=tx).id) for draft in drafts}
    clock.advance(timedelta(days=30))
    return made


async def sweep_during_mints(lab: Installation, caller: Caller, request: MintRequest, places: list[int]) -> int:
    """Sweep until nothing is due, minting between the sweeps; how many were minted. `places` get their indexes."""
    desk = WriteQueue(lab)
    sweeping = asyncio.create_task(desk.sweep_forever(lambda: None, every_s=0.01))
    minted = 0
    try:
        async with asyncio.timeout(WAIT_TIMEOUT_S):
            while is_due(lab):
                job = partial(record, lab, lab.attestations.prepare(request, caller=caller))
                done = await desk.write(job)
                places.append(done.logged.index)
                minted += 1
    finally:
        sweeping.cancel()
        with suppress(asyncio.CancelledError):
            await sweeping
        await desk.finish()
    return minted


def record(lab: Installation, draft: PreparedAttestation, tx: Transaction) -> Minted:
    return lab.attestations.issue_or_raise(draft, tx=tx)


def is_due(lab: Installation) -> bool:
    waiting = (attestations.c.status == "VALID", attestations.c.expiry_at.is_not(None))
    with lab.storage.read() as connection:
        return bool(connection.scalar(select(func.count()).select_from(attestations).where(*waiting)))


def test_expiries_during_downtime_are_published_once_while_mints_continue(
    lab: Installation, caller: Caller, request_of_main: MintRequest, overdue: set[str]
) -> None:
    places: list[int] = []

    minted = asyncio.run(sweep_during_mints(lab, caller, request_of_main, places))

    events = [data["attestation_id"] for kind, data in read_events(lab, caller) if kind == "attestation.expired"]
    assert Counter(events) == Counter(overdue)
    assert minted >= 1
    with lab.storage.read() as connection:
        ends = [row.index for row in lab.log.entries(connection, 0, 2000) if row.kind == "attestation.status"]
    assert min(places) < max(ends), "mints waited until the sweep was over"


def test_sweep_batches_are_small_enough_for_other_writes(lab: Installation, overdue: set[str]) -> None:
    with lab.storage.write() as tx:
        there_is_more = lab.expire(tx)
    with lab.storage.read() as connection:
        ends = [row for row in lab.log.entries(connection, 0, 2000) if row.kind == "attestation.status"]

    assert (there_is_more, len(ends)) == (True, MAX_EXPIRIES_PER_WRITE)


async def sweep_often(lab: Installation, sweeps: int) -> None:
    """Run the sweep until it has looked at the head `sweeps` times."""
    desk, looked = WriteQueue(lab), asyncio.Event()
    observe, counted = lab.observe_head, iter(range(sweeps))

    def observed() -> None:
        observe()
        if next(counted, None) is None:
            loop.call_soon_threadsafe(looked.set)

    loop = asyncio.get_running_loop()
    lab.observe_head = observed  # type: ignore[method-assign]
    sweeping = asyncio.create_task(desk.sweep_forever(lambda: None, every_s=0.01))
    async with asyncio.timeout(WAIT_TIMEOUT_S):
        await looked.wait()
    sweeping.cancel()
    with suppress(asyncio.CancelledError):
        await sweeping
    await desk.finish()


def test_persistent_sweep_error_is_logged_once_without_a_traceback(
    lab: Installation, overdue: set[str], capfd: pytest.CaptureFixture[str]
) -> None:
    guard = lab.guard.path.read_bytes()
    lab.guard.path.unlink()
    try:
        asyncio.run(sweep_often(lab, 5))
    finally:
        lab.guard.path.write_bytes(guard)

    logged = [line for line in capfd.readouterr().err.splitlines() if "sweep" in line]
    assert len(logged) == 1
    assert "attestlab log accept-head" in logged[0]
    assert "Traceback" not in logged[0]
    assert overdue
