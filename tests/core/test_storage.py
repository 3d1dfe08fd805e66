"""Storage and transactions: all or nothing, one writer, and a failing job fails alone."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection, event, func, select, text, update
from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.exc import IntegrityError, OperationalError

from attestlab.core.db.group_commit.thread import ThreadGroupCommit
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import Buffer, Transaction, _sqlite_insert
from attestlab.core.db.write_observer import Unobserved
from attestlab.core.errors import Unavailable
from attestlab.orgs.tables import Org
from support.chain_heads import adding, heads, make_head
from support.databases import create_postgres_database
from support.timeouts import WAIT_TIMEOUT_S

pytestmark = pytest.mark.both_engines

LETTERS = Buffer[str]("letters")


def names(storage: Storage) -> set[str]:
    with storage.read() as connection:
        return list_names(connection)


def list_names(connection: Connection) -> set[str]:
    return set(connection.scalars(select(heads.c.name)))


def call_without_tx(storage: Storage, verb: str) -> None:
    if verb == "cached_read":
        storage.cached_read("names", list_names)
        return
    with getattr(storage, verb)():
        pass


@pytest.fixture
def writer(storage: Storage) -> Iterator[ThreadGroupCommit]:
    running = ThreadGroupCommit(storage)
    yield running
    running.close()


def test_a_write_is_visible_after_its_block_and_not_before(storage: Storage) -> None:
    with storage.write() as tx:
        tx.add(heads, make_head("a"))
        tx.flush()
        seen = []
        reader = threading.Thread(target=lambda: seen.append(names(storage)))
        reader.start()
        reader.join()

    assert seen == [set()]
    assert names(storage) == {"a"}


@pytest.mark.parametrize("fault", [RuntimeError, KeyboardInterrupt])
def test_exception_rolls_the_transaction_back(storage: Storage, fault: type[BaseException]) -> None:
    with pytest.raises(fault), storage.write() as tx:
        tx.exec(heads.insert(), [make_head("a")])
        raise fault("the caller changed its mind")

    assert names(storage) == set()


def test_a_read_in_a_transaction_sees_what_was_added(storage: Storage) -> None:
    with storage.write() as tx:
        tx.add(heads, make_head("a"))
        with storage.read(tx) as connection:
            assert connection.scalars(select(heads.c.name)).all() == ["a"]
        assert storage.cached_read("names", list_names, tx) == {"a"}


def test_a_write_that_joins_a_transaction_is_committed_with_it(storage: Storage) -> None:
    with pytest.raises(RuntimeError, match="changed its mind"), storage.write() as tx:
        with storage.write(tx) as joined:
            joined.add(heads, make_head("a"))
        assert joined is tx
        raise RuntimeError("the caller changed its mind")
    assert names(storage) == set()

    with storage.write() as tx, storage.write(tx) as joined:
        joined.add(heads, make_head("b"))
    assert names(storage) == {"b"}


@pytest.mark.parametrize("verb", ["read", "write", "cached_read"])
def test_a_thread_within_a_write_must_name_its_transaction(storage: Storage, verb: str) -> None:
    """Else a read would miss what the transaction added, and a write would wait for its own thread forever."""
    with storage.write() as tx:
        tx.add(heads, make_head("a"))
        with pytest.raises(RuntimeError, match=r"Call (read|write)\(tx\)"):
            call_without_tx(storage, verb)

    call_without_tx(storage, verb)
    assert names(storage) == {"a"}


def test_failed_job_is_rolled_back_alone(storage: Storage) -> None:
    def fails_after_adding(tx: Transaction) -> None:
        tx.add(heads, make_head("lost"))
        tx.buffer(LETTERS).append("lost")
        tx.after_sequencing(lambda: called.append("lost"))
        raise RuntimeError

    def fails_after_statements(tx: Transaction) -> None:
        tx.add(heads, make_head("lost too"))
        tx.exec(update(heads).values(length=99))
        raise RuntimeError

    called: list[str] = []
    with storage.write() as tx:
        tx.attempt_job(adding("first"))
        for job in (fails_after_adding, fails_after_statements):
            with pytest.raises(RuntimeError):
                tx.attempt_job(job)
        tx.attempt_job(adding("second"))
        kept = list(tx.buffer(LETTERS))

    assert names(storage) == {"first", "second"}
    assert (kept, called) == ([], [])
    with storage.read() as connection:
        assert connection.scalar(select(func.max(heads.c.length))) == 0


def test_failed_job_that_flushed_or_read_is_rolled_back(storage: Storage) -> None:
    def fails_after_flushing(tx: Transaction) -> None:
        tx.add(heads, make_head("flushed"))
        tx.flush()
        raise RuntimeError

    def fails_after_reading(tx: Transaction) -> None:
        tx.add(heads, make_head("read"))
        assert "read" in names(storage)
        raise RuntimeError

    with storage.write() as tx:
        tx.attempt_job(adding("first"))
        for job in (fails_after_flushing, fails_after_reading):
            with pytest.raises(RuntimeError):
                tx.attempt_job(job)
        tx.attempt_job(adding("second"))

    assert names(storage) == {"first", "second"}


def test_failing_row_fails_its_own_job_only(storage: Storage, writer: ThreadGroupCommit) -> None:
    writer.run(adding("taken"))
    faults: dict[str, BaseException | None] = {}
    gate = threading.Event()

    writer.submit(lambda tx: gate.wait(WAIT_TIMEOUT_S), lambda result, fault: None)
    for name in ("x", "taken", "y"):
        writer.submit(adding(name), lambda result, fault, name=name: faults.update({name: fault}))
    gate.set()
    writer.run(adding("last"))

    assert isinstance(faults.pop("taken"), IntegrityError)
    assert faults == {"x": None, "y": None}
    assert names(storage) == {"taken", "x", "y", "last"}


def test_queued_jobs_share_one_commit(storage: Storage, writer: ThreadGroupCommit) -> None:
    commits: list[int] = []
    storage.sequence_hooks.append(lambda tx: commits.append(1))
    gate, done = threading.Event(), threading.Semaphore(0)

    writer.submit(lambda tx: gate.wait(WAIT_TIMEOUT_S), lambda result, fault: None)
    while writer.waiting:
        pass
    for number in range(40):
        writer.submit(adding(f"n{number}"), lambda result, fault: done.release())
    gate.set()
    for _ in range(40):
        assert done.acquire(timeout=WAIT_TIMEOUT_S)

    assert len(commits) == 2
    assert len(names(storage)) == 40


def test_full_queue_is_unavailable_with_retry_after(storage: Storage) -> None:
    writer, gate = ThreadGroupCommit(storage, max_queued=1), threading.Event()
    writer.submit(lambda tx: gate.wait(WAIT_TIMEOUT_S), lambda result, fault: None)
    while writer.waiting:
        pass
    writer.submit(adding("waits"), lambda result, fault: None)

    with pytest.raises(Unavailable) as refused:
        writer.submit(adding("refused"), lambda result, fault: None)
    gate.set()
    writer.close()

    assert refused.value.retry_after_s == 1
    assert names(storage) == {"waits"}


def test_concurrent_increments_are_not_lost(storage: Storage) -> None:
    with storage.write() as tx:
        tx.add(heads, make_head("counter"))

    def count() -> None:
        for _ in range(25):
            with storage.write() as tx:
                seen = tx.exec(select(heads.c.length).where(heads.c.name == "counter")).scalar_one()
                tx.exec(update(heads).where(heads.c.name == "counter").values(length=seen + 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    with storage.read() as connection:
        assert connection.scalar(select(heads.c.length).where(heads.c.name == "counter")) == 100


def test_read_is_one_snapshot(storage: Storage) -> None:
    """
    A commit of another process is not half seen.
    """
    other = Storage(storage.full_url)
    count = select(func.count()).select_from(heads)
    with storage.read() as connection:
        before = connection.scalar(count)
        with other.write() as tx:
            adding("between")(tx)
        after = connection.scalar(count)
    other.close()

    assert (before, after) == (0, 0)
    assert names(storage) == {"between"}


def test_cached_read_is_as_fresh_as_a_query(storage: Storage) -> None:
    other = Storage(storage.full_url)
    count = select(func.count()).select_from(heads)
    seen = [storage.cached_read("count", lambda connection: connection.scalar(count))]
    for name in "ab":
        with other.write() as tx:
            adding(name)(tx)
        seen.append(storage.cached_read("count", lambda connection: connection.scalar(count)))
    other.close()

    assert seen == [0, 1, 2]


def test_what_is_cached_was_committed(storage: Storage) -> None:
    """A result that is loaded within a transaction is not kept, because the transaction may be rolled back."""
    assert storage.cached_read("names", list_names) == set()
    with pytest.raises(RuntimeError, match="changed its mind"), storage.write() as tx:
        adding("never")(tx)
        assert storage.cached_read("names", list_names, tx) == {"never"}
        raise RuntimeError("the caller changed its mind")

    assert storage.cached_read("names", list_names) == set()


def test_sqlite_uses_wal_and_full_synchronous(storage: Storage) -> None:
    if not storage.is_sqlite:
        pytest.skip("these are SQLite's settings")
    with storage.read() as connection:
        asked = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        }

    assert asked == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def test_new_sqlite_database_waits_for_another_process_that_opens_it(tmp_path: Path) -> None:
    """SQLite itself reports "database is locked" at once if the journal mode changes while another process writes."""
    path = tmp_path / "records.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE first (id INTEGER)")
    other.execute("BEGIN IMMEDIATE")  # in the journal mode of a new database
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        sqlite3.connect(path, timeout=15).execute("PRAGMA journal_mode=WAL")
    release = threading.Timer(0.2, other.execute, ["COMMIT"])
    release.start()

    opened = Storage(f"sqlite:///{path}")
    with opened.read() as connection:
        mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
    opened.close()
    release.join()
    other.close()

    assert mode == "wal"


def test_max_timestamp_round_trips_in_any_timezone(postgres_url: str, migrated_postgres: str) -> None:
    """
    East of Greenwich it lies in the year 10000, which no date can hold. Nor may a commit go unwaited for.
    """
    url = create_postgres_database(postgres_url, template=migrated_postgres)
    careless = Storage(url)
    name = careless.url.database
    with careless.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"ALTER DATABASE {name} SET timezone = 'Asia/Tokyo'"))
        connection.execute(text(f"ALTER DATABASE {name} SET synchronous_commit = off"))
    careless.close()

    opened = Storage(url)
    with opened.read() as connection:
        last = connection.scalar(text("SELECT '9999-12-31 23:59:59.999+00'::timestamptz"))
        promise = connection.scalar(text("SHOW synchronous_commit"))
    opened.close()

    assert (last, promise) == (datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC), "on")


def test_time_is_stored_as_sqlalchemy_stores_it() -> None:
    """
    Rows that go straight to the driver are found by queries that do not.
    """
    orgs = table_of(Org)
    place = list(orgs.c.keys()).index("created_at")
    row = {each.name: UUID(int=1) if each.name.endswith("id") else None for each in orgs.c}

    def ours(at: datetime | None) -> Any:
        return next(iter(_sqlite_insert(orgs).parameters([{**row, "created_at": at}])))[place]

    theirs: Any = orgs.c.created_at.type.dialect_impl(dialect()).bind_processor(dialect())
    zurich = timezone(timedelta(hours=1))
    times = [datetime(1, 1, 1, tzinfo=UTC), datetime(2026, 11, 21, 12, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
    times += [datetime(2026, 11, 21, 12, 30, 0, 678_901, tzinfo=zone) for zone in (UTC, zurich)]

    assert [ours(at) for at in [*times, None]] == [theirs(at) for at in [*times, None]]
    with pytest.raises(ValueError, match="no UTC offset"):
        ours(datetime(2026, 11, 21))


@pytest.mark.parametrize(("page_bytes", "pages"), [(None, 512), (4096, 1024)], ids=["new", "one that stands"])
def test_wal_checkpoint_is_at_4_mib_for_any_page_size(tmp_path: Path, page_bytes: int | None, pages: int) -> None:
    if page_bytes is not None:
        standing = sqlite3.connect(tmp_path / "records.db")
        standing.execute(f"PRAGMA page_size={page_bytes}")
        standing.execute("CREATE TABLE somebodys (row)")
        standing.close()
    storage = Storage(f"sqlite:///{tmp_path / 'records.db'}")
    with storage.write() as tx:
        settings = [
            tx.exec(text(f"PRAGMA {name}")).scalar() for name in ("page_size", "wal_autocheckpoint", "journal_mode")
        ]
        tx.exec(text("CREATE TABLE ours (row)"))
    storage.close()

    assert settings == [page_bytes or 8192, pages, "wal"]


def test_read_only_connection_is_replaced_after_its_first_write(migrated_file: Path, tmp_path: Path) -> None:
    """SQLite opens a file for reading alone where opening it for both fails once, as at the limit of open files."""
    path = Path(shutil.copy(migrated_file, tmp_path / "records.db"))
    storage = Storage(f"sqlite:///{path}")

    @event.listens_for(storage.engine, "do_connect", once=True)
    def opened_for_reading(*_: object) -> sqlite3.Connection:
        address = f"file:{path}?mode=ro"
        return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)

    with pytest.raises(OperationalError, match="readonly"), storage.write() as tx:
        adding("a")(tx)
    with storage.write() as tx:
        adding("b")(tx)

    assert names(storage) == {"b"}
    storage.close()


@pytest.mark.on_postgresql
def test_connections_in_use_are_observed(storage: Storage) -> None:
    class Counted(Unobserved):
        def observe_connections(self, in_use: int) -> None:
            seen.append(in_use)

    seen: list[int] = []
    storage.observer = Counted()

    with storage.read(), storage.write():
        pass

    assert seen == [1, 2, 1, 0]
