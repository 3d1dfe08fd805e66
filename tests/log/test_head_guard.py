"""The head guard never moves back, survives torn writes, and stops a log that lost its newest entries."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from attestlab import migrations
from attestlab.core.db.storage import CommitUnknown, Storage
from attestlab.core.errors import HeadGuardMismatch, HeadGuardMissing, Unavailable
from attestlab.log.head_guard import EMPTY_SLOT, MAX_ABANDONED, SLOT_BYTES, HeadGuard
from attestlab.log.merkle.hashing import EMPTY_ROOT, leaf_hash
from attestlab.log.note.note import TreeHead
from support.file_locks import is_waiting_for_file_lock
from support.fork_server import call_at_once
from support.in_process_server import wait_until
from support.log.instance import ORIGIN, LogInstance
from support.timeouts import WAIT_TIMEOUT_S


def head(size: int, root: bytes = b"") -> TreeHead:
    return TreeHead("log.example/a", size, root or leaf_hash(str(size).encode()))


def no_older_root(size: int) -> bytes:
    raise AssertionError(f"the root of size {size} was asked for")


@pytest.fixture
def guard(tmp_path: Path) -> HeadGuard:
    return HeadGuard(tmp_path / "head.guard")


@pytest.mark.parametrize("size", [0, 5])
def test_tree_without_guard_is_refused_with_a_remedy(guard: HeadGuard, size: int) -> None:
    """Also an empty one, which may be the copy of a log that was signed since."""
    with pytest.raises(HeadGuardMissing, match="then run `attestlab log accept-head`, which shows") as refused:
        guard.require_continues(head(size), no_older_root)
    assert refused.value.details["reason"] == "head_guard_missing"


def test_the_remedy_on_a_shared_database_wants_a_head_that_was_seen(tmp_path: Path) -> None:
    guard = HeadGuard(tmp_path / "head.guard", is_shared=True)
    command = "`attestlab log accept-head --size SIZE --root HASH`"

    with pytest.raises(HeadGuardMissing, match=command):
        guard.require_continues(head(5), no_older_root)
    guard.advance(head(7))
    for other in (head(6), head(7, bytes(32)), TreeHead("log.example/b", 9, bytes(32))):
        with pytest.raises(HeadGuardMismatch, match=command):
            guard.require_continues(other, no_older_root)
    guard.path.write_bytes(b"")
    with pytest.raises(HeadGuardMismatch, match=command):
        guard.read()


def test_only_the_guard_of_an_empty_log_gives_way_to_a_new_log(guard: HeadGuard) -> None:
    """An `init` that was killed may leave it without its records."""
    guard.start(TreeHead("log.example/killed", 0, EMPTY_ROOT))
    guard.start(TreeHead("log.example/a", 0, EMPTY_ROOT))
    assert (guard.read(), guard.abandoned_heads()) == (TreeHead("log.example/a", 0, EMPTY_ROOT), ())

    guard.advance(head(1))
    for origin in ("log.example/a", "log.example/b"):
        with pytest.raises(HeadGuardMismatch):
            guard.start(TreeHead(origin, 0, EMPTY_ROOT))
    assert guard.read() == head(1)


def test_given_up_head_stays_recorded_after_acceptance(guard: HeadGuard) -> None:
    guard.advance(head(7))
    guard.accept(head(5))
    assert (guard.read(), guard.abandoned_heads()) == (head(5), (head(7),))

    for size in (6, 7, 8):
        guard.advance(head(size))

    assert (guard.read(), guard.abandoned_heads()) == (head(8), (head(7),))
    guard.require_continues(head(8), no_older_root)


def test_accept_head_with_a_missing_or_unreadable_guard(guard: HeadGuard) -> None:
    guard.accept(head(5))
    assert (guard.read(), guard.abandoned_heads()) == (head(5), ())
    guard.path.write_bytes(b"")
    guard.accept(head(6))
    assert guard.read() == head(6)
    guard.advance(head(7))
    assert (guard.read(), guard.damaged_slots()) == (head(7), [])


def test_slot_holds_the_longest_origin_and_all_given_up_heads(guard: HeadGuard) -> None:
    name = "x" * 255
    for number in range(2 * MAX_ABANDONED):
        guard.accept(TreeHead(name, 10**12 + number, bytes(32)))
    assert [lost.size - 10**12 for lost in guard.abandoned_heads()] == list(
        range(MAX_ABANDONED - 1, 2 * MAX_ABANDONED - 1)
    )


def test_the_largest_head_is_remembered_across_processes(guard: HeadGuard) -> None:
    for size in (0, 1, 7, 300):
        guard.advance(head(size))
    assert HeadGuard(guard.path).read() == head(300)
    assert not list(guard.path.parent.glob("*.new"))


def test_guard_never_moves_back(guard: HeadGuard) -> None:
    guard.advance(head(7))
    guard.advance(head(5))
    assert guard.read() == head(7)


def test_guard_never_moves_to_another_tree_of_the_same_size(guard: HeadGuard) -> None:
    guard.advance(head(7))
    with pytest.raises(HeadGuardMismatch, match="size 7"):
        guard.advance(head(7, bytes(32)))
    assert guard.read() == head(7)


def test_truncated_records_are_refused_with_a_remedy(guard: HeadGuard) -> None:
    guard.advance(head(7))
    with pytest.raises(HeadGuardMismatch, match="newest copy of the records"):
        guard.require_continues(head(6), no_older_root)


def test_records_with_another_tree_are_refused(guard: HeadGuard) -> None:
    guard.advance(head(7))
    with pytest.raises(HeadGuardMismatch, match="another tree of size 7"):
        guard.require_continues(head(7, bytes(32)), no_older_root)
    with pytest.raises(HeadGuardMismatch, match="another tree of size 7"):
        guard.require_continues(head(9), lambda _size: bytes(32))


def test_guard_behind_the_records_is_accepted_if_consistent(guard: HeadGuard) -> None:
    guard.advance(head(7))
    asked = []

    def root_at(size: int) -> bytes:
        asked.append(size)
        return head(size).root

    guard.require_continues(head(9), root_at)

    assert asked == [7]
    assert guard.read() == head(7), "a check moves nothing"


def test_the_guard_of_another_log_is_refused(guard: HeadGuard) -> None:
    guard.advance(head(7))
    with pytest.raises(HeadGuardMismatch, match="belongs to"):
        guard.require_continues(TreeHead("log.example/b", 9, bytes(32)), no_older_root)


@pytest.mark.parametrize("torn_at", [0, 1, 64, 65, 100, 500, SLOT_BYTES - 1])
def test_a_torn_write_leaves_the_head_before(guard: HeadGuard, torn_at: int) -> None:
    """
    Power fails in the middle of a slot: the bytes up to `torn_at` are new, the rest is what stood there before.
    """
    guard.advance(head(1))
    guard.advance(head(2))
    before = guard.path.read_bytes()
    guard.advance(head(3))
    after = guard.path.read_bytes()
    slot = next(n for n in range(2) if before[n * SLOT_BYTES :][:SLOT_BYTES] != after[n * SLOT_BYTES :][:SLOT_BYTES])
    cut = slot * SLOT_BYTES + torn_at

    guard.path.write_bytes(after[:cut] + before[cut:])

    assert guard.read() in (head(2), head(3))
    guard.advance(head(4))
    assert guard.read() == head(4)
    guard.advance(head(5))
    assert guard.damaged_slots() == []


def test_corrupt_guard_slot_is_reported_and_repaired(guard: HeadGuard) -> None:
    guard.advance(head(1))
    raw = guard.path.read_bytes()
    assert raw[SLOT_BYTES:] == EMPTY_SLOT
    guard.path.write_bytes(raw[:SLOT_BYTES] + b"\xff" * SLOT_BYTES)

    assert guard.damaged_slots() == [1]
    assert guard.read() == head(1)
    guard.advance(head(2))
    assert guard.damaged_slots() == []


def test_unreadable_guard_prevents_signing(guard: HeadGuard) -> None:
    guard.advance(head(1))
    guard.path.write_bytes(b"")
    with pytest.raises(HeadGuardMismatch, match="unreadable"):
        guard.read()
    with pytest.raises(HeadGuardMismatch, match="unreadable"):
        guard.advance(head(2))


def test_any_single_bit_changed_in_a_written_slot_is_noticed(guard: HeadGuard) -> None:
    guard.advance(head(1))
    guard.advance(head(2))
    raw = guard.path.read_bytes()
    for bit in range(0, len(raw) * 8, 41):
        changed = bytearray(raw)
        changed[bit // 8] ^= 1 << bit % 8
        guard.path.write_bytes(changed)
        assert guard.damaged_slots() == [bit // 8 // SLOT_BYTES]


def _advance_in_steps(path: Path, start: int) -> None:
    guard = HeadGuard(path)
    for size in range(start, 400, 4):
        guard.advance(head(size))


def test_processes_that_advance_together_end_at_the_largest(guard: HeadGuard) -> None:
    call_at_once(_advance_in_steps, *[(guard.path, first) for first in range(4)])
    assert guard.read() == head(399)
    assert guard.damaged_slots() == []


def test_a_process_waits_while_another_moves_the_guard(guard: HeadGuard) -> None:
    guard.advance(head(1))
    with guard.path.open("rb") as other_process:
        fcntl.flock(other_process, fcntl.LOCK_EX)
        waiting = threading.Thread(target=guard.advance, args=(head(2),))
        waiting.start()
        wait_until(lambda: is_waiting_for_file_lock(os.getpid()) or not waiting.is_alive(), True)
        assert waiting.is_alive()
    waiting.join(WAIT_TIMEOUT_S)
    assert guard.read() == head(2)


def test_a_mint_moves_the_guard_before_it_is_answered(log_instance: LogInstance) -> None:
    appended = log_instance.mint(1, 2)
    assert HeadGuard(log_instance.guard.path).read() == TreeHead(ORIGIN, 2, appended[0].root)


def copy_of(log_instance: LogInstance, path: Path) -> None:
    """An online backup of the records."""
    with sqlite3.connect(log_instance.storage.url.database or "") as source, sqlite3.connect(path) as target:
        source.backup(target)


def test_a_restored_older_backup_refuses_to_mint(sqlite_log_instance: LogInstance, tmp_path: Path) -> None:
    sqlite_log_instance.mint(1, 2, 3)
    copy_of(sqlite_log_instance, tmp_path / "backup.db")
    sqlite_log_instance.mint(4)
    sqlite_log_instance.storage.close()
    for leftover in tmp_path.glob("records.db*"):
        leftover.unlink()
    (tmp_path / "backup.db").rename(tmp_path / "records.db")

    restored = sqlite_log_instance.another_process()
    with restored.storage.read() as connection, pytest.raises(HeadGuardMismatch, match="end at size 3"):
        restored.log.check_guard(connection)
    with pytest.raises(HeadGuardMismatch, match="end at size 3"):
        restored.mint(5)
    with restored.storage.read() as connection:
        assert restored.log.size(connection) == 3
    assert [problem.kind for problem in restored.problems()] == ["head_guard"]
    restored.storage.close()


def test_process_refuses_to_mint_on_rolled_back_records(sqlite_log_instance: LogInstance, tmp_path: Path) -> None:
    """
    Even if the guard file is taken back with the records, the process remembers what it committed.
    """
    sqlite_log_instance.mint(1, 2, 3)
    copy_of(sqlite_log_instance, tmp_path / "backup.db")
    guard_then = sqlite_log_instance.guard.path.read_bytes()
    sqlite_log_instance.mint(4)
    with sqlite3.connect(tmp_path / "backup.db") as source, sqlite3.connect(tmp_path / "records.db") as target:
        source.backup(target)
    sqlite_log_instance.guard.path.write_bytes(guard_then)

    with pytest.raises(HeadGuardMismatch, match="size 4 was committed"):
        sqlite_log_instance.mint(5)


def test_crash_between_commit_and_guard_is_repaired_by_the_next_reader(log_instance: LogInstance) -> None:
    log_instance.mint(1)
    guard_then = log_instance.guard.path.read_bytes()
    log_instance.mint(2)
    log_instance.guard.path.write_bytes(guard_then)

    after = log_instance.another_process()
    with after.storage.read() as connection:
        shown = after.log.head(connection)
    assert (shown.size, HeadGuard(log_instance.guard.path).read()) == (2, TreeHead(shown.origin, 2, shown.root))
    after.mint(3)
    after.storage.close()
    log_instance.require_consistent()


def test_head_inconsistent_with_the_guard_is_not_published(log_instance: LogInstance) -> None:
    log_instance.mint(1, 2, 3)
    log_instance.guard.path.unlink()
    HeadGuard(log_instance.guard.path).advance(TreeHead(ORIGIN, 2, bytes(32)))

    after = log_instance.another_process()
    with after.storage.read() as connection, pytest.raises(HeadGuardMismatch, match="another tree of size 2"):
        after.log.head(connection)
    after.storage.close()


@pytest.mark.parametrize("question", ["check_guard", "fsck"])
def test_running_log_is_not_reported_as_truncated(
    log_instance: LogInstance, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    """
    Another process mints just before the guard is read; the records must be looked at after that, not before.
    """
    other = log_instance.another_process()
    log_instance.mint(1)
    read, numbers = log_instance.guard.read, iter(range(100, 200))

    def be_overtaken_and_read() -> TreeHead | None:
        other.mint(next(numbers))
        return read()

    monkeypatch.setattr(log_instance.guard, "read", be_overtaken_and_read)
    if question == "fsck":
        assert log_instance.problems() == []
    else:
        with log_instance.storage.read() as connection:
            log_instance.log.check_guard(connection)
    other.storage.close()


def test_guard_write_error_is_not_a_failed_commit(
    sqlite_log_instance: LogInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The entries are stored; were the group run again, they would be stored twice.
    """

    def full_disk(file: int) -> None:
        raise OSError(28, "No space left on device")

    sqlite_log_instance.mint(3)
    with monkeypatch.context() as patched:
        patched.setattr("os.fdatasync", full_disk)
        with pytest.raises(CommitUnknown, match="stored"):
            sqlite_log_instance.mint(1)
    sqlite_log_instance.mint(2)
    sqlite_log_instance.require_consistent()


def test_guard_is_rewritten_after_a_failed_sync(
    sqlite_log_instance: LogInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The kernel keeps the bytes of a failed sync in memory, where the guard is read, and forgets that they are not on
    the disk.
    """
    log_instance, written, synced = sqlite_log_instance, [0], [0]
    real_write, real_sync = os.pwrite, os.fdatasync

    def write(file: int, content: bytes, offset: int) -> int:
        written[0] += 1
        return real_write(file, content, offset)

    def sync(file: int) -> None:
        if synced[0] < written[0]:
            raise OSError(5, "Input/output error")
        real_sync(file)

    log_instance.mint(3)
    monkeypatch.setattr("os.pwrite", write)
    with monkeypatch.context() as patched:
        patched.setattr("os.fdatasync", sync)
        with pytest.raises(CommitUnknown, match="stored"):
            log_instance.mint(1)
        for refused in (lambda: log_instance.mint(1), lambda: read_head_size(log_instance)):
            with pytest.raises(Unavailable, match="cannot be synced"):
                refused()
    before = written[0]

    assert read_head_size(log_instance) == 2
    assert written[0] == before + 1, "only bytes that are written again reach the disk"
    log_instance.mint(4)
    log_instance.require_consistent()


def read_head_size(log_instance: LogInstance) -> int:
    with log_instance.storage.read() as connection:
        return log_instance.log.head(connection).size


def test_process_resyncs_a_guard_after_a_kill(guard: HeadGuard) -> None:
    guard.advance(head(7))
    later = HeadGuard(guard.path)
    assert (later.read(), later.last_head) == (head(7), None)

    later.require_continues(head(7), no_older_root)

    assert (later.read(), later.last_head) == (head(7), head(7))


def test_records_that_lost_their_log_are_not_given_a_new_one(sqlite_log_instance: LogInstance, tmp_path: Path) -> None:
    sqlite_log_instance.mint(1)
    fresh = Storage(f"sqlite:///{tmp_path / 'fresh.db'}")
    migrations.upgrade(fresh)
    with pytest.raises(HeadGuardMismatch), fresh.write() as tx:
        sqlite_log_instance.log.create(tx, origin=ORIGIN, private=Ed25519PrivateKey.generate())
    fresh.close()
