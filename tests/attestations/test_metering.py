"""The meter of verifications: exact across processes without a commit, continued from the records, never in the way."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from attestlab.attestations.metering.daily_meter import Meter
from attestlab.attestations.metering.service import (
    MAX_GROUPS,
    MAX_SINGLE_EVENTS_PER_MINUTE,
    MeteredVerification,
    UnwrittenVerifications,
)
from attestlab.attestations.metering.write_behind import WriteBehind
from attestlab.attestations.rules import Verdict
from attestlab.core.db.group_commit.loop import LoopGroupCommit
from attestlab.core.db.storage import CommitUnknown, Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import BillingLimit
from attestlab.core.limits.rate_counters import BUSY_TIMEOUT_MS, FILE_NAME, Counters
from attestlab.orgs import usage
from support.fork_server import call_at_once
from support.timeouts import WAIT_TIMEOUT_S

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TENANT = UUID("0193b5a0-7f3c-7abc-8def-0123456789ab")


def verified(*, at: datetime = NOON, issuer: UUID = TENANT, verdict: Verdict = Verdict.VALID) -> MeteredVerification:
    return MeteredVerification(TENANT, issuer, uuid4(), verdict, at)


class Process:
    """A process's own view of the records and the counters."""

    def __init__(self, url: str, folder: Path) -> None:
        self.storage = Storage(url)
        self.counters = Counters.open(self.storage.url, folder)
        self.meter = Meter(storage=self.storage, counters=self.counters)

    def taken(self, asked: int, *, limit: int | None, at: datetime = NOON) -> int:
        """Count how many of `asked` verifications the plan had room for."""
        return sum(self._took(limit, at) for _ in range(asked))

    def _took(self, limit: int | None, at: datetime) -> bool:
        try:
            self.take(verified(at=at), limit)
        except BillingLimit:
            return False
        return True

    def take(self, one: MeteredVerification, limit: int | None) -> None:
        with self.storage.read() as connection:
            self.meter.take(connection, one, limit=limit)

    def wrote(self, count: int, *, at: datetime = NOON) -> None:
        """Record `count` verifications of the day."""
        with self.storage.write() as tx:
            usage.count_use(tx, TENANT, usage.VERIFICATIONS, at=at, times=count)
            usage.write_counts(tx)

    def close(self) -> None:
        self.counters.close()
        self.storage.close()


@pytest.fixture
def process(migrated_database: str, tmp_path: Path) -> Iterator[Process]:
    opened = Process(migrated_database, tmp_path)
    yield opened
    opened.close()


def take_many(url: str, folder: Path, asked: int, limit: int) -> int:
    process = Process(url, folder)
    taken = process.taken(asked, limit=limit)
    process.close()
    return taken


@pytest.mark.both_engines
def test_processes_share_one_day_exactly(migrated_database: str, tmp_path: Path) -> None:
    """Four of them want four times as much as the plan allows, and nothing is recorded before all have ended."""
    assert sum(call_at_once(take_many, *[(migrated_database, tmp_path, 60, 60)] * 4)) == 60


def test_writing_usage_does_not_change_a_counter_that_includes_it(process: Process) -> None:
    assert process.taken(4, limit=10) == 4
    process.wrote(4)

    assert process.taken(10, limit=10) == 6


def test_a_process_that_starts_later_continues_from_the_records(process: Process, tmp_path: Path) -> None:
    """The counters are lost: a new machine, or a file that was removed with the server down."""
    process.wrote(7)
    fresh = Process(process.storage.full_url, tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()

    assert fresh.taken(10, limit=10) == 3
    fresh.close()


def test_a_counter_that_a_power_cut_set_back_continues_from_the_records(process: Process) -> None:
    assert process.taken(2, limit=10) == 2
    process.wrote(8)

    assert process.taken(10, limit=10) == 2


def test_restored_backup_does_not_lower_the_count(process: Process) -> None:
    """What was answered since the backup was answered; only a new day, or new counters, begin lower."""
    assert process.taken(9, limit=10) == 9

    assert process.taken(10, limit=10) == 1


def test_new_day_starts_at_zero(process: Process) -> None:
    assert process.taken(5, limit=5) == 5

    assert process.taken(7, limit=5, at=NOON + timedelta(hours=12)) == 5


def test_unlimited_plan_is_counted_too(process: Process) -> None:
    assert process.taken(20, limit=None) == 20

    assert process.taken(10, limit=25) == 5


def test_unanswered_verification_is_refunded(process: Process) -> None:
    one = verified()
    for _ in range(3):
        process.take(one, 1)
        process.meter.refund(one)

    assert process.taken(2, limit=1) == 1


def test_process_counts_alone_while_the_counters_are_locked(migrated_file: Path, tmp_path: Path) -> None:
    """Only the first verification waits for the lock; whatever was written down still counts."""
    process = Process(f"sqlite:///{migrated_file}", tmp_path)
    process.counters.take("anything", per_minute=60, now=NOON)
    with sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None) as hog:
        hog.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        assert process.taken(100, limit=30) == 30
        assert time.monotonic() - began < 50 * BUSY_TIMEOUT_MS / 1000, "each of them waited"
        hog.execute("ROLLBACK")
    hog.close()
    process.close()


def test_backlog_of_a_minute_keeps_a_hundred_events_and_a_count() -> None:
    pending = UnwrittenVerifications()
    for _ in range(1_000):
        pending.add(verified())

    ((_, ended),) = pending.groups.items()
    assert (len(ended.single), ended.count) == (MAX_SINGLE_EVENTS_PER_MINUTE, 1_000)


def test_long_backlog_is_reduced_to_one_number_per_issuer_and_day() -> None:
    """Two days of verifications of three issuers, one a second each hour, while nothing can be written."""
    issuers = [uuid4() for _ in range(3)]
    pending = UnwrittenVerifications()
    for minute in range(2 * 24 * 60):
        for issuer in issuers:
            pending.add(verified(issuer=issuer, at=NOON + timedelta(minutes=minute)))

    assert len(pending.groups) <= 2 * MAX_GROUPS
    assert sum(len(ended.single) for ended in pending.groups.values()) <= 2 * MAX_GROUPS
    assert sum(ended.count for ended in pending.groups.values()) == 2 * 24 * 60 * 3
    per_day = {(issuer, minute.date()) for issuer, minute, _ in pending.groups}
    assert len(per_day) == 3 * 3, "noon to noon over two days touches three"


def test_split_and_merge_lose_nothing() -> None:
    pending = UnwrittenVerifications()
    for _ in range(40):
        pending.add(verified(issuer=uuid4()))

    taken = pending.split(20)
    left = sum(ended.count for ended in pending.groups.values())
    pending.merge(taken)

    assert 0 < left < 40
    assert sum(ended.count for ended in pending.groups.values()) == 40


@pytest.mark.parametrize("is_committed", [True, False])
def test_batch_is_written_once_whether_or_not_its_failed_commit_happened(process: Process, is_committed: bool) -> None:
    """The commit may have happened and something after it failed; or it did not happen."""
    storage, commit, failures = process.storage, process.storage.commit, list[BaseException]()

    def fails_once(tx: Transaction) -> None:
        storage.commit = commit  # type: ignore[method-assign]
        commit(tx) if is_committed else storage.rollback(tx)
        raise CommitUnknown

    async def run() -> None:
        writer = LoopGroupCommit(storage)
        behind = WriteBehind(writer.submit, fails_certainly=True, failed=failures.append)
        behind.add(verified())
        while not failures:
            await asyncio.sleep(0.01)
        await behind.finish()
        await writer.aclose()

    storage.sequence_hooks.append(usage.write_counts)
    storage.commit = fails_once  # type: ignore[method-assign]
    asyncio.run(asyncio.wait_for(run(), WAIT_TIMEOUT_S))

    with storage.read() as connection:
        assert usage.get_used(connection, TENANT, usage.VERIFICATIONS, NOON.date()) == 1
