"""Append, seal, prove: one log on either engine, checked by what a verifier would check."""

from __future__ import annotations

import threading
from datetime import timedelta
from functools import partial

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attestlab.core.clock import FixedClock
from attestlab.core.db.group_commit.thread import ThreadGroupCommit
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import (
    Conflict,
    HeadGuardMissing,
    NotFound,
    PayloadTooLarge,
    Unavailable,
    ValidationFailed,
)
from attestlab.log import entries
from attestlab.log.entries import EntryType
from attestlab.log.head_guard import HeadGuard
from attestlab.log.merkle import hashing
from attestlab.log.merkle.hashing import TileName
from attestlab.log.results import SequencedEntry
from support.log.instance import ISSUER_ID, ORIGIN, LogInstance, make_entry

pytestmark = pytest.mark.both_engines


def test_a_new_log_publishes_the_checkpoint_of_the_empty_tree(log_instance: LogInstance) -> None:
    with log_instance.storage.read() as connection:
        note = log_instance.log.head(connection).note
    accepted = log_instance.trust().verify_checkpoint(note)
    assert (accepted.origin, accepted.size, accepted.root) == (ORIGIN, 0, hashing.EMPTY_ROOT)


def test_append_returns_its_index_and_later_its_proof(log_instance: LogInstance, clock: FixedClock) -> None:
    with log_instance.storage.write() as tx:
        first = log_instance.log.append(tx, make_entry(1, clock), kind=EntryType.MINTED)
        second = log_instance.log.append(tx, make_entry(2, clock), kind=EntryType.MINTED)
        assert (first.index, second.index) == (0, 1)
        assert first.checkpoint == ""

    for appended in (first, second):
        accepted = log_instance.trust().verify_checkpoint(appended.checkpoint)
        hashing.verify_inclusion(appended.index, accepted.size, appended.leaf_hash, appended.proof, accepted.root)


def test_a_batch_has_one_checkpoint_and_its_time_is_the_clocks(log_instance: LogInstance, clock: FixedClock) -> None:
    clock.advance(timedelta(seconds=90, milliseconds=250))
    appended = log_instance.mint(1, 2, 3)
    assert len({a.checkpoint for a in appended}) == 1
    with log_instance.storage.read() as connection:
        head = log_instance.log.head(connection)
        sizes = [row.size for row in log_instance.log.checkpoints(connection, limit=10)]
    assert sizes == [3, 0]
    assert head.at == clock.now().replace(microsecond=0)
    assert log_instance.trust().verify_checkpoint(head.note).timestamp_s == int(head.at.timestamp())


def test_rolled_back_entries_are_not_in_the_log(log_instance: LogInstance, clock: FixedClock) -> None:
    log_instance.mint(1)
    with pytest.raises(LookupError), log_instance.storage.write() as tx:
        log_instance.log.append(tx, make_entry(2, clock), kind=EntryType.MINTED)
        raise LookupError("the rest of the request failed")

    (appended,) = log_instance.mint(3)
    assert appended.index == 1
    log_instance.require_consistent()


def test_a_job_that_fails_in_a_group_leaves_no_gap(log_instance: LogInstance, clock: FixedClock) -> None:
    appended: list[SequencedEntry] = []

    def job(tx: Transaction, number: int) -> None:
        made = log_instance.log.append(tx, make_entry(number, clock), kind=EntryType.MINTED)
        if number == 2:
            raise LookupError("this one fails")
        appended.append(made)

    with log_instance.storage.write() as tx:
        for number in (1, 2, 3):
            try:
                tx.attempt_job(lambda tx, number=number: job(tx, number))
            except LookupError:
                continue
    assert [a.index for a in appended] == [0, 1]
    log_instance.require_consistent()


def test_many_writers_of_one_process_share_batches_without_gaps(log_instance: LogInstance, clock: FixedClock) -> None:
    writer = ThreadGroupCommit(log_instance.storage)
    made: list[SequencedEntry] = []

    def mint(start: int) -> None:
        for number in range(start, start + 20):
            made.append(
                writer.run(
                    lambda tx, n=number: log_instance.log.append(tx, make_entry(n, clock), kind=EntryType.MINTED)
                )
            )

    threads = [threading.Thread(target=mint, args=(100 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()

    assert sorted(a.index for a in made) == list(range(80))
    for a in made:
        hashing.verify_inclusion(a.index, a.tree_size, a.leaf_hash, a.proof, a.root)
    log_instance.require_consistent()


def test_two_processes_on_one_database_take_turns_and_never_fork(log_instance: LogInstance) -> None:
    other = log_instance.another_process()
    for turn in range(12):
        (log_instance if turn % 2 else other).mint(*range(100 * turn, 100 * turn + 1 + 37 * (turn % 3)))
    other.storage.close()
    log_instance.require_consistent()


def test_processes_with_separate_guards_do_not_fork(log_instance: LogInstance) -> None:
    """
    Two machines on one PostgreSQL server share the records, not the disk; an operator lets the second one join.
    """
    log_instance.mint(100)
    other = log_instance.another_process(log_instance.guard.path.with_name("other.guard"))
    with pytest.raises(HeadGuardMissing):
        other.mint(101)
    other.accept_head()
    for turn in range(6):
        (log_instance if turn % 2 else other).mint(10 * turn, 10 * turn + 1)
    with other.storage.read() as connection:
        size = other.log.head(connection).size
    other.storage.close()
    assert size == 13
    assert (HeadGuard(other.guard.path).read() or pytest.fail("no guard")).size == 13
    log_instance.require_consistent()


def test_process_far_behind_reloads_its_tree(log_instance: LogInstance) -> None:
    other = log_instance.another_process()
    other.mint(8000)
    log_instance.grow(700)
    (appended,) = other.mint(9000)
    other.storage.close()
    assert appended.index == 700
    log_instance.require_consistent()


def test_every_entry_of_every_size_can_be_proven_later(log_instance: LogInstance) -> None:
    for size in (1, 5, 256, 300, 600):
        log_instance.grow(size)
    with log_instance.storage.read() as connection:
        for size in (1, 2, 5, 255, 256, 257, 599, 600):
            for index in {0, size // 2, size - 1}:
                proof = log_instance.log.inclusion(connection, index, size)
                hashing.verify_inclusion(index, size, proof.leaf_hash, proof.hashes, proof.root)
            step = log_instance.log.consistency(connection, size, 600)
            hashing.verify_consistency(size, 600, step.root1, step.root2, step.hashes)


def test_proof_defaults_to_the_newest_tree(log_instance: LogInstance) -> None:
    log_instance.mint(1, 2, 3)
    with log_instance.storage.read() as connection:
        assert log_instance.log.inclusion(connection, 1).tree_size == 3


def test_proof_of_an_unknown_size_or_index_is_rejected(log_instance: LogInstance) -> None:
    log_instance.mint(1, 2)
    with log_instance.storage.read() as connection:
        for index in (-1, 2):
            with pytest.raises(NotFound):
                log_instance.log.inclusion(connection, index)
        for size in (-1, 3):
            with pytest.raises(ValidationFailed):
                log_instance.log.inclusion(connection, 0, size)
        for size1, size2 in ((2, 1), (-1, 1), (0, 3)):
            with pytest.raises(ValidationFailed):
                log_instance.log.consistency(connection, size1, size2)


def test_entries_come_oldest_first_and_only_those_of_the_tree(log_instance: LogInstance, clock: FixedClock) -> None:
    log_instance.mint(1, 2, 3)
    with log_instance.storage.read() as connection:
        assert [leaf.entry for leaf in log_instance.log.entries(connection, 1, 100)] == [
            make_entry(2, clock),
            make_entry(3, clock),
        ]
        assert log_instance.log.entries(connection, 3, 10) == []
        assert log_instance.log.entries(connection, -1, 10) == []


def test_an_entry_is_found_by_its_leaf_hash(log_instance: LogInstance, clock: FixedClock) -> None:
    log_instance.grow(20)
    with log_instance.storage.read() as connection:
        assert log_instance.log.lookup(connection, hashing.leaf_hash(make_entry(7, clock))) == 7
        with pytest.raises(NotFound):
            log_instance.log.lookup(connection, bytes(32))


def test_a_lookup_uses_the_index_of_segments(log_instance: LogInstance) -> None:
    """
    Without it a lookup in a large log would read every entry.
    """
    plan_of = "EXPLAIN " if not log_instance.storage.is_sqlite else "EXPLAIN QUERY PLAN "
    with log_instance.storage.read() as connection:
        if not log_instance.storage.is_sqlite:
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        plan = connection.exec_driver_sql(
            f'{plan_of} SELECT min("index") FROM log_leaves WHERE "index" >> 12 IN (0, 1) AND leaf_hash = \'x\''
        ).fetchall()
    assert "ix_log_leaves_segment_hash" in str(plan)


def test_tiles_full_and_partial_are_those_of_the_tree(log_instance: LogInstance, clock: FixedClock) -> None:
    log_instance.grow(600)
    hashes = [hashing.leaf_hash(make_entry(n, clock)) for n in range(600)]
    with log_instance.storage.read() as connection:
        assert log_instance.log.tile(connection, TileName(0, 1)) == b"".join(hashes[256:512])
        assert log_instance.log.tile(connection, TileName(0, 2, 88)) == b"".join(hashes[512:600])
        assert log_instance.log.tile(connection, TileName(0, 0, 3)) == b"".join(hashes[:3])
        roots = log_instance.log.tile(connection, TileName(1, 0, 2))
        bundle = log_instance.log.tile(connection, TileName(None, 2, 88))
    assert hashing.decode_bundle(bundle) == [make_entry(n, clock) for n in range(512, 600)]
    hashing.verify_inclusion(0, 2, roots[:32], [roots[32:]], hashing.node_hash(roots[:32], roots[32:]))


@pytest.mark.parametrize("name", [TileName(0, 2, 89), TileName(0, 3, 1), TileName(1, 0, 3), TileName(None, 2)])
def test_a_tile_that_the_tree_does_not_have_is_not_found(log_instance: LogInstance, name: TileName) -> None:
    log_instance.grow(600)
    with log_instance.storage.read() as connection, pytest.raises(NotFound):
        log_instance.log.tile(connection, name)


def test_status_entries_of_a_subject_form_a_chain(log_instance: LogInstance, clock: FixedClock) -> None:
    def say(tx: Transaction, status: str) -> SequencedEntry:
        subject = entries.key_subject(ISSUER_ID, "k")
        said = entries.key_status_entry(
            log_instance.log.next_status_link(tx, subject),
            issuer_id=ISSUER_ID,
            kid="k",
            alg="Ed25519",
            public_spki=b"spki",
            status=status,
            at=clock.now(),
        )
        return log_instance.log.append(tx, said, kind=EntryType.KEY_STATUS, subject=subject)

    with log_instance.storage.write() as tx:
        chain = [say(tx, "pending"), say(tx, "active")]
    with log_instance.storage.write() as tx:
        chain.append(say(tx, "revoked"))

    links = [entries.parse_entry(appended.entry).link for appended in chain]
    assert links == [
        entries.FIRST_LINK,
        entries.Link(1, chain[0].leaf_hash),
        entries.Link(2, chain[1].leaf_hash),
    ]
    log_instance.require_consistent()


def test_an_entry_too_large_for_a_bundle_is_refused(log_instance: LogInstance) -> None:
    with pytest.raises(PayloadTooLarge), log_instance.storage.write() as tx:
        log_instance.log.append(tx, bytes(65_536), kind=EntryType.MINTED)


def test_nothing_is_appended_after_the_seal(log_instance: LogInstance, clock: FixedClock) -> None:
    with pytest.raises(RuntimeError, match="sealed"), log_instance.storage.write() as tx:
        log_instance.log.append(tx, make_entry(1, clock), kind=EntryType.MINTED)
        tx.after_sequencing(lambda: log_instance.log.append(tx, make_entry(2, clock), kind=EntryType.MINTED))
    log_instance.require_consistent()


def test_sealed_uncommitted_head_cannot_be_read(log_instance: LogInstance, clock: FixedClock) -> None:
    """
    It may still be rolled back; a head that was shown and then vanished would be a fork.
    """

    def peek(tx: Transaction | None = None) -> None:
        with log_instance.storage.read(tx) as connection:
            log_instance.log.head(connection)

    with pytest.raises(RuntimeError, match="between"), log_instance.storage.write() as tx:
        log_instance.log.append(tx, make_entry(1, clock), kind=EntryType.MINTED)
        tx.after_sequencing(partial(peek, tx))
    peek()
    log_instance.require_consistent()


def test_there_is_one_log_in_the_records(log_instance: LogInstance) -> None:
    with pytest.raises(Conflict), log_instance.storage.write() as tx:
        log_instance.log.create(tx, origin="log.example/second", private=Ed25519PrivateKey.generate())


def test_missing_log_is_unavailable(log_instance: LogInstance) -> None:
    with log_instance.storage.engine.begin() as connection:
        for statement in ("log_head_no_delete", "log_head_no_update"):
            on = "" if log_instance.storage.is_sqlite else " ON log_head"
            connection.exec_driver_sql(f"DROP TRIGGER {statement}{on}")
        connection.exec_driver_sql("DELETE FROM log_head")
    with log_instance.storage.read() as connection:
        assert not log_instance.log.is_created(connection)
        with pytest.raises(Unavailable, match="attestlab init"):
            log_instance.log.head(connection)


def test_next_process_unseals_the_log_key(log_instance: LogInstance) -> None:
    other = log_instance.another_process()
    (appended,) = other.mint(1)
    other.storage.close()
    assert log_instance.trust().verify_checkpoint(appended.checkpoint).size == 1


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.integers(1, 300), min_size=1, max_size=5))
def test_any_sequence_of_batches_gives_a_consistent_log(
    batches: list[int], tmp_path_factory: pytest.TempPathFactory, clock: FixedClock
) -> None:
    log_instance = LogInstance.create_in(tmp_path_factory.mktemp("log"), clock)
    number = 0
    for batch in batches:
        made = log_instance.mint(*range(number, number + batch))
        number += batch
        assert [appended.index for appended in made] == list(range(number - batch, number))
        for appended in (made[0], made[-1]):
            accepted = log_instance.trust().verify_checkpoint(appended.checkpoint)
            hashing.verify_inclusion(appended.index, accepted.size, appended.leaf_hash, appended.proof, accepted.root)
    log_instance.require_consistent()
    log_instance.storage.close()
