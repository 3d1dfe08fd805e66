"""Group commit: no job runs twice, no caller waits indefinitely, and a failing job fails alone."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterator
from itertools import count, pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from attestlab.core.db.group_commit import Job
from attestlab.core.db.group_commit import loop as loop_group_commit
from attestlab.core.db.group_commit.loop import LoopGroupCommit
from attestlab.core.db.group_commit.thread import MAX_GROUP_SIZE, ThreadGroupCommit
from attestlab.core.db.storage import CommitUnknown, NotBegun, Storage
from attestlab.core.db.transaction import Foreseen, Transaction
from attestlab.core.errors import Conflict, Unavailable
from attestlab.core.records import outbox
from attestlab.core.records.hash_chain import link_hash
from support.chain_heads import adding, heads
from support.timeouts import WAIT_TIMEOUT_S

Outcome = tuple[Any, BaseException | None]


@pytest.fixture
def sqlite(migrated_file: Path, tmp_path: Path) -> Iterator[Storage]:
    (tmp_path / "records.db").write_bytes(migrated_file.read_bytes())
    opened = Storage(f"sqlite:///{tmp_path / 'records.db'}")
    yield opened
    opened.close()


def refusing(tx: Transaction) -> None:
    raise Conflict("not so")


def names(storage: Storage) -> list[str]:
    with storage.read() as connection:
        return list(connection.scalars(select(heads.c.name).order_by(heads.c.name)))


def done_on_the_loop(storage: Storage, jobs: list[Job], **options: Any) -> list[Outcome]:
    """What came of jobs that were handed in together."""

    async def run() -> list[Outcome]:
        writer, outcomes = LoopGroupCommit(storage, **options), list[Outcome]()
        for job in jobs:
            writer.submit(job, lambda result, fault: outcomes.append((result, fault)))
        await asyncio.wait_for(writer.aclose(), WAIT_TIMEOUT_S)
        return outcomes

    return asyncio.run(run())


def done_in_a_thread(storage: Storage, jobs: list[Job]) -> list[Outcome]:
    outcomes: list[Outcome] = []
    writer = ThreadGroupCommit(storage)
    for job in jobs:
        writer.submit(job, lambda result, fault: outcomes.append((result, fault)))
    writer.close()
    return outcomes


@pytest.fixture(params=[done_on_the_loop, done_in_a_thread], ids=["loop", "thread"])
def done(request: pytest.FixtureRequest) -> Callable[[Storage, list[Job]], list[Outcome]]:
    found: Callable[[Storage, list[Job]], list[Outcome]] = request.param
    return found


def test_close_commits_all_accepted_jobs(sqlite: Storage, done: Any) -> None:
    outcomes = done(sqlite, [adding(f"{number:03}") for number in range(50)])

    assert [fault for _, fault in outcomes] == [None] * 50
    assert len(names(sqlite)) == 50


def test_unconfirmed_commit_is_not_retried(sqlite: Storage, done: Any) -> None:
    """
    It did happen here; running its jobs again would do everything twice.
    """
    runs: list[str] = []

    def noted(name: str) -> Job:
        return lambda tx: (runs.append(name), adding(name)(tx))

    commit = sqlite.commit

    def unconfirmed(tx: Transaction) -> None:
        commit(tx)
        raise CommitUnknown

    sqlite.commit = unconfirmed  # type: ignore[method-assign]
    outcomes = done(sqlite, [noted("a"), refusing, noted("b")])

    assert sorted(runs) == ["a", "b"]
    assert names(sqlite) == ["a", "b"]
    kinds = sorted(type(fault).__name__ for _, fault in outcomes)
    assert kinds == ["CommitUnknown", "CommitUnknown", "Conflict"], "a refused job gets its refusal"


def test_rows_of_a_failed_job_are_rolled_back_alone(sqlite: Storage, done: Any) -> None:
    def added_and_refused(tx: Transaction) -> None:
        adding("b")(tx)
        tx.after_commit(lambda: called.append("b"))
        refusing(tx)

    called: list[str] = []
    outcomes = done(sqlite, [adding("a"), added_and_refused, adding("c")])

    assert names(sqlite) == ["a", "c"]
    assert called == []
    assert [type(fault) for _, fault in outcomes if fault] == [Conflict]


def test_only_the_job_that_breaks_the_group_fails(sqlite: Storage, done: Any) -> None:
    outcomes = done(sqlite, [adding("a"), adding("b"), adding("a"), adding("c")])

    assert names(sqlite) == ["a", "b", "c"]
    assert [type(fault) for _, fault in outcomes if fault] == [IntegrityError]


def fail_to_begin(storage: Storage, *attempts: int) -> None:
    """Let the transactions of these numbers not begin, as at a lock that another process holds for too long."""
    begin, number = storage.begin, count()

    def begin_or_fail(*, is_migration: bool = False, foreseen: Foreseen | None = None) -> Transaction:
        if next(number) in attempts:
            raise NotBegun(OSError("the records are locked"))
        return begin(is_migration=is_migration, foreseen=foreseen)

    storage.begin = begin_or_fail  # type: ignore[method-assign]
    storage.try_begin = lambda: None  # type: ignore[method-assign]


def test_group_whose_transaction_cannot_begin_fails(sqlite: Storage, done: Any) -> None:
    fail_to_begin(sqlite, 0)

    assert [type(fault) for _, fault in done(sqlite, [adding("a")])] == [NotBegun]
    assert [fault for _, fault in done(sqlite, [adding("b")])] == [None]
    assert names(sqlite) == ["b"]


def test_job_whose_retry_cannot_begin_fails_alone(sqlite: Storage, done: Any) -> None:
    """The second of three jobs that are run again, because the third broke their group."""
    fail_to_begin(sqlite, 2)

    outcomes = done(sqlite, [adding("a"), adding("b"), adding("a")])

    assert names(sqlite) == ["a"]
    assert [type(fault) for _, fault in outcomes] == [type(None), NotBegun, IntegrityError]


def test_full_loop_queue_is_unavailable(sqlite: Storage) -> None:
    async def run() -> None:
        writer = LoopGroupCommit(sqlite, max_queued=2)
        for name in "ab":
            writer.submit(adding(name), lambda result, fault: None)
        with pytest.raises(Unavailable) as refused:
            writer.submit(adding("c"), lambda result, fault: None)
        assert refused.value.retry_after_s == 1
        await writer.aclose()

    asyncio.run(run())
    assert names(sqlite) == ["a", "b"]


def test_group_size_is_limited(sqlite: Storage) -> None:
    sealed: list[int] = []
    sqlite.sequence_hooks.append(lambda tx: sealed.append(1))

    outcomes = done_on_the_loop(sqlite, [adding(f"{number:05}") for number in range(MAX_GROUP_SIZE + 1)])

    assert (len(outcomes), len(sealed)) == (MAX_GROUP_SIZE + 1, 2)


def test_group_size_of_a_thread_is_limited(sqlite: Storage) -> None:
    """The jobs wait behind one that is at work: its group, a full one, and the rest."""
    sealed: list[int] = []
    sqlite.sequence_hooks.append(lambda tx: sealed.append(1))
    writer, has_begun, may_end = ThreadGroupCommit(sqlite), threading.Event(), threading.Event()

    writer.submit(lambda tx: (has_begun.set(), may_end.wait(WAIT_TIMEOUT_S)), lambda result, fault: None)
    has_begun.wait(WAIT_TIMEOUT_S)
    for number in range(MAX_GROUP_SIZE + 1):
        writer.submit(adding(f"{number:05}"), lambda result, fault: None)
    may_end.set()
    writer.close()

    assert (len(sealed), len(names(sqlite))) == (3, MAX_GROUP_SIZE + 1)


def groups_of_clients(storage: Storage, clients: int, jobs: int) -> list[int]:
    """Return the sizes of the groups of clients that each send their next job some rounds of the loop after an answer.

    All clients stop once that many jobs are in, so that none of the last groups waits for a client that has left.
    """
    sealed: list[int] = []
    added: list[int] = []
    storage.sequence_hooks.append(lambda tx: sealed.append(len(added)))

    async def client(writer: LoopGroupCommit, number: int) -> None:
        for turn in count():
            if len(added) >= jobs:
                return
            for _ in range(number * 3):
                await asyncio.sleep(0)
            done = asyncio.get_running_loop().create_future()
            add = adding(f"{number}-{turn}")
            writer.submit(lambda tx: (added.append(number), add(tx)), lambda result, fault: done.set_result(fault))  # noqa: B023 run before the next turn
            assert await done is None

    async def run() -> None:
        writer = LoopGroupCommit(storage)
        await asyncio.wait_for(asyncio.gather(*(client(writer, number) for number in range(clients))), WAIT_TIMEOUT_S)
        await writer.aclose()

    asyncio.run(run())
    return [after - before for before, after in pairwise([0, *sealed])]


def wait_up_to(monkeypatch: pytest.MonkeyPatch, longest_s: float) -> None:
    """Let a group gather for longer than clients take to come back."""
    monkeypatch.setattr(loop_group_commit, "GATHER_SHARE", 1e9)
    monkeypatch.setattr(loop_group_commit, "MAX_GATHER_S", longest_s)


def test_clients_answered_together_share_the_next_group(sqlite: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the first client to return would form a group alone, and the others would wait for its syncs."""
    wait_up_to(monkeypatch, WAIT_TIMEOUT_S)

    sizes = groups_of_clients(sqlite, clients=4, jobs=80)

    assert sizes[-10:] == [4] * 10, sizes  # the first ones, while the clients start, are smaller


def test_single_client_never_waits(sqlite: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_up_to(monkeypatch, 10 * WAIT_TIMEOUT_S)

    assert groups_of_clients(sqlite, clients=1, jobs=20) == [1] * 20


def test_clients_that_do_not_return_delay_no_group(sqlite: Storage) -> None:
    """Four were answered together; one of them comes back."""
    outcomes: list[Outcome] = []

    def deliver(result: Any, fault: BaseException | None) -> None:
        outcomes.append((result, fault))

    async def run() -> None:
        writer = LoopGroupCommit(sqlite)
        for name in "abcd":
            writer.submit(adding(name), deliver)
        while len(outcomes) < 4:
            await asyncio.sleep(0)
        writer.submit(adding("e"), deliver)
        await asyncio.wait_for(writer.aclose(), WAIT_TIMEOUT_S)

    asyncio.run(run())
    assert (names(sqlite), len(outcomes)) == (list("abcde"), 5)


def test_after_commit_callbacks_of_failed_jobs_do_not_run(sqlite: Storage) -> None:
    """
    A job that was taken back leaves no call behind.
    """
    called: list[str] = []

    def telling(name: str, *, refuse: bool = False) -> Job:
        def job(tx: Transaction) -> None:
            tx.after_commit(lambda: called.append(name))
            if refuse:
                raise Conflict("not so")

        return job

    done_on_the_loop(sqlite, [telling("a"), telling("b", refuse=True), telling("c")])

    assert called == ["a", "c"]


def test_a_job_must_name_its_transaction(sqlite: Storage, done: Any) -> None:
    """It fails alone, and so does one that would wait for the writer's lock that its own thread holds."""

    def writes(_tx: Transaction) -> None:
        with sqlite.write() as other:
            adding("never")(other)

    outcomes = done(sqlite, [adding("a"), lambda _tx: names(sqlite), writes, adding("b")])

    assert [None if fault is None else str(fault) for _, fault in outcomes] == [
        None,
        "This thread is within a write. Call read(tx) with its transaction.",
        "This thread is within a write. Call write(tx) with its transaction.",
        None,
    ]
    assert names(sqlite) == ["a", "b"]


def test_a_commit_hook_must_name_its_transaction(sqlite: Storage, done: Any) -> None:
    sqlite.record_hooks.append(lambda _tx: names(sqlite))

    ((_, fault),) = done(sqlite, [adding("a")])

    assert isinstance(fault, RuntimeError)
    assert "read(tx)" in str(fault)


def test_event_loop_reads_while_a_thread_commits(sqlite: Storage) -> None:
    """The transaction is open, but the reads of other requests are no part of it."""
    commit, has_begun, may_end = sqlite.commit, threading.Event(), threading.Event()

    def commit_slowly(tx: Transaction) -> None:
        has_begun.set()
        may_end.wait(WAIT_TIMEOUT_S)
        commit(tx)

    async def run() -> list[str]:
        writer = LoopGroupCommit(sqlite)
        writer.submit(adding("a"), lambda result, fault: None)
        while not has_begun.is_set():
            await asyncio.sleep(0)
        seen = names(sqlite)
        may_end.set()
        await asyncio.wait_for(writer.aclose(), WAIT_TIMEOUT_S)
        return seen

    sqlite.commit = commit_slowly  # type: ignore[method-assign]
    assert asyncio.run(run()) == []
    assert names(sqlite) == ["a"]


def test_begin_takes_the_writer_lock(sqlite: Storage) -> None:
    """
    A begin that takes no lock gives two writers the same view, and the same next index.
    """
    other = Storage(str(sqlite.url))
    tx = sqlite.begin()

    assert other.try_begin() is None

    sqlite.rollback(tx)
    again = other.try_begin()
    assert again is not None
    other.rollback(again)
    other.close()


def test_chain_link_covers_the_previous_hash() -> None:
    """Computed by hand; another value would disown every stored chain."""
    assert link_hash(b"\1" * 32, b"content") == hashlib.sha256(b"\1" * 32 + b"content").digest()


def test_outbox_link_covers_the_tenant() -> None:
    tenant = UUID("0193b5a0-7f3c-7abc-8def-0123456789ab")

    assert outbox.chained_bytes(tenant, b"{}") == tenant.bytes + b"{}"


class Measurements:
    """An observer that keeps what it receives."""

    def __init__(self) -> None:
        self.queues: list[int] = []
        self.groups: list[int] = []
        self.locks: list[tuple[float, float]] = []

    def observe_queue(self, waiting: int) -> None:
        self.queues.append(waiting)

    def observe_group(self, jobs: int) -> None:
        self.groups.append(jobs)

    def observe_lock(self, *, before_s: float, held_s: float) -> None:
        self.locks.append((before_s, held_s))

    def observe_connections(self, in_use: int) -> None:
        raise AssertionError("SQLite has no pool")


def test_groups_queue_and_lock_are_observed(sqlite: Storage, done: Any) -> None:
    sqlite.observer = seen = Measurements()

    done(sqlite, [adding("a"), refusing, adding("b")])

    assert sum(seen.groups) == 3
    assert seen.queues[0] >= 0
    assert seen.queues[-1] == 0, "nothing waits any more"
    assert len(seen.locks) == len(seen.groups)
    assert all(before_s >= 0 and held_s >= 0 for before_s, held_s in seen.locks)


def test_lock_of_a_failed_write_is_observed(sqlite: Storage) -> None:
    sqlite.observer = seen = Measurements()

    with pytest.raises(Conflict), sqlite.write() as tx:
        refusing(tx)

    assert len(seen.locks) == 1
