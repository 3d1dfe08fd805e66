"""Silent PostgreSQL connections: one wait, then 503 immediately, and recovery when the database is back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import MakeTemplate
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from attestlab.core.db import occupancy, postgresql
from attestlab.core.db.foreseen_reads import ForeseenQuery
from attestlab.core.db.group_commit.thread import ThreadGroupCommit
from attestlab.core.db.postgresql import DatabaseUnreachable
from attestlab.core.db.storage import NotBegun, Storage
from attestlab.core.db.transaction import Foreseen
from attestlab.core.errors import Unavailable
from attestlab.core.limits.rate_counters import Counters
from attestlab.installation import Installation
from support.attestations import make_mint_body, mint
from support.faults.brief_limits import BRIEF, brief_limits, shorten_limits
from support.in_process_server import make_client, serve_in_thread, wait_until
from support.issuers import register_issuer
from support.tcp_proxy import TcpProxy, proxy_database
from support.timeouts import WAIT_TIMEOUT_S

OUTAGES = 5


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits of requests that a test can wait for."""
    shorten_limits(monkeypatch)


@pytest.fixture
def through(postgres_url: str) -> Iterator[tuple[TcpProxy, str]]:
    with proxy_database(postgres_url) as found:
        yield found


@contextmanager
def storage_at(url: str) -> Iterator[Storage]:
    storage = Storage(url)
    storage.serve_requests()
    try:
        yield storage
    finally:
        storage.cancel_waits()
        storage.close()


def ask(storage: Storage) -> int:
    with storage.read() as connection:
        found: int = connection.exec_driver_sql("SELECT 1").scalar_one()
        return found


def failure_of(work: Callable[[], object]) -> BaseException | None:
    try:
        work()
    except Exception as error:
        return error
    return None


@pytest.mark.usefixtures("quick")
def test_reads_of_a_silent_database_share_one_wait(through: tuple[TcpProxy, str]) -> None:
    proxy, url = through
    with storage_at(url) as storage:
        assert ask(storage) == 1
        proxy.fall_silent()
        began = time.monotonic()
        first = failure_of(lambda: ask(storage))
        one_wait_s = time.monotonic() - began

        with ThreadPoolExecutor(8) as pool:
            others = list(pool.map(lambda _: failure_of(lambda: ask(storage)), range(200)))

        assert isinstance(first, OperationalError)
        assert one_wait_s >= BRIEF.answer_s
        assert sum(isinstance(error, DatabaseUnreachable) for error in others) >= 190, "the others are probes"


def write_with_reads(storage: Storage) -> int:
    """Write with a read that is sent together with the statement that takes the lock."""
    foreseen: Foreseen = {}
    ForeseenQuery("one", lambda execute: execute(text("SELECT 1"))).foresee(foreseen)
    with storage.write(foreseen=foreseen) as tx:
        found: int = tx.read_unflushed(text("SELECT 1")).scalar_one()
        return found


@pytest.mark.usefixtures("quick")
def test_write_whose_reads_get_no_answer_fails_within_its_limit(through: tuple[TcpProxy, str]) -> None:
    proxy, url = through
    with storage_at(url) as storage:
        assert write_with_reads(storage) == 1
        proxy.fall_silent()
        assert isinstance(failure_of(lambda: write_with_reads(storage)), NotBegun)
        proxy.come_back()

        wait_until(lambda: failure_of(lambda: write_with_reads(storage)), None)


@pytest.mark.usefixtures("quick")
@pytest.mark.soak
def test_first_request_after_the_outage_succeeds(through: tuple[TcpProxy, str]) -> None:
    proxy, url = through
    with storage_at(url) as storage:
        ask(storage)
        proxy.fall_silent()
        assert failure_of(lambda: ask(storage))
        proxy.come_back()

        wait_until(lambda: failure_of(lambda: ask(storage)), None)


@pytest.mark.usefixtures("quick")
def test_dropped_connections_are_replaced_after_one_failure(through: tuple[TcpProxy, str]) -> None:
    proxy, url = through
    with storage_at(url) as storage:
        ask(storage)
        proxy.drop_connections()

        assert failure_of(lambda: ask(storage))
        assert ask(storage) == 1


def test_a_commit_that_was_not_confirmed_is_unknown(
    through: tuple[TcpProxy, str], quick: None, migrated_postgres: str
) -> None:
    proxy, url = through
    with storage_at(url) as storage:
        tx = storage.begin()
        storage.touch(tx)
        proxy.fall_silent()

        with pytest.raises(Unavailable, match="not confirmed"):
            storage.commit(tx)


@pytest.mark.usefixtures("quick")
@pytest.mark.soak
def test_a_writer_that_vanished_frees_the_lock(through: tuple[TcpProxy, str], postgres_url: str) -> None:
    proxy, url = through
    with storage_at(url) as vanished, storage_at(postgres_url) as other:
        tx = vanished.begin()
        storage_is_held = failure_of(other.begin)
        proxy.fall_silent()

        wait_until(lambda: failure_of(lambda: other.rollback(other.begin())), None)

        assert isinstance(storage_is_held, NotBegun)
        assert failure_of(lambda: vanished.commit(tx)) is not None


def test_write_wait_for_another_writer_is_limited(postgres_url: str, quick: None) -> None:
    """Jobs whose transaction could not begin fail together: each for itself would wait as long again."""
    with storage_at(postgres_url) as holder, storage_at(postgres_url) as storage:
        held = holder.begin()
        keep = threading.Event()
        user = threading.Thread(target=_use_until, args=(held, keep))
        user.start()
        writer, errors, begun = ThreadGroupCommit(storage), [], counting_begins(storage)
        for _ in range(30):
            writer.submit(lambda _tx: None, lambda _result, error: errors.append(error))
        writer.close()
        keep.set()
        user.join()
        holder.rollback(held)

    assert [type(error) for error in errors] == [NotBegun] * 30
    assert begun() <= 3


def counting_begins(storage: Storage) -> Callable[[], int]:
    counted, begin = [], storage.begin

    def count(**options: Any) -> Any:
        counted.append(1)
        return begin(**options)

    storage.begin = count  # type: ignore[method-assign]  # counts, and does what it did
    return lambda: len(counted)


def _use_until(tx: Any, done: threading.Event) -> None:
    """Keep a transaction from idling."""
    while not done.wait(0.1):
        tx.connection.exec_driver_sql("SELECT 1")


@pytest.mark.soak
def test_migration_ignores_the_limits_of_requests(postgres_url: str, quick: None) -> None:
    longer_s = 2 * BRIEF.answer_s
    with storage_at(postgres_url) as storage:
        with storage.write(is_migration=True) as tx:
            tx.connection.exec_driver_sql(f"SELECT pg_sleep({longer_s})")
            time.sleep(2 * BRIEF.idle_in_write_s)
        cut = failure_of(lambda: _sleep(storage, longer_s))

    assert isinstance(cut, OperationalError)


def test_a_command_may_run_statements_of_any_length(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Storage(postgres_url)) as storage:
        _sleep(storage, 0.01)
        with storage.read() as connection:
            assert connection.exec_driver_sql("SHOW statement_timeout").scalar_one() == "0"


def _sleep(storage: Storage, seconds: float) -> None:
    with storage.read() as connection:
        connection.exec_driver_sql(f"SELECT pg_sleep({seconds})")


def test_cancel_waits_ends_a_wait_immediately(through: tuple[TcpProxy, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "REQUESTS", replace(BRIEF, answer_s=10 * WAIT_TIMEOUT_S))
    proxy, url = through
    with storage_at(url) as storage:
        ask(storage)
        proxy.fall_silent()
        errors: list[BaseException | None] = []
        waiting = threading.Thread(target=lambda: errors.append(failure_of(lambda: ask(storage))))
        waiting.start()

        storage.cancel_waits()
        waiting.join(WAIT_TIMEOUT_S)

    assert isinstance(errors[0], OperationalError | DatabaseUnreachable)


@pytest.mark.usefixtures("quick")
def test_installation_lock_is_renewed(through: tuple[TcpProxy, str], postgres_url: str) -> None:
    proxy, url = through
    with storage_at(url) as storage, storage_at(postgres_url) as other, occupancy.share(storage) as held:
        proxy.cut()
        wait_until(lambda: failure_of(lambda: occupancy.hold_exclusively(other).release()), None)

        wait_until(lambda: failure_of(held.renew), None)

        assert failure_of(lambda: occupancy.hold_exclusively(other)) is not None


@pytest.mark.usefixtures("quick")
@pytest.mark.soak
def test_counts_are_kept_in_memory_while_the_database_is_silent(through: tuple[TcpProxy, str], tmp_path: Path) -> None:
    proxy, url = through
    with storage_at(url) as storage:
        counters = Counters.open(storage.url, tmp_path, reachability=storage.reachability)
        now = storage.clock.now()
        counters.peek("bucket", per_minute=60, now=now)  # has a connection from here on
        proxy.fall_silent()

        assert sum(counters.take("bucket", per_minute=60, now=now).allowed for _ in range(30)) == 10
        counters.close()


@pytest.mark.soak
def test_server_returns_503_during_an_outage_and_recovers(make_template: MakeTemplate, tmp_path: Path) -> None:
    """More requests than there are threads: `/healthz` needs none of them."""
    with make_template("postgresql", is_of_now=True).copy_to(tmp_path) as settings:
        assert settings.database_url is not None
        with proxy_database(settings.database_url) as (proxy, url):
            lab = Installation.open(settings.model_copy(update={"database_url": url}))
            lab.storage.serve_requests()
            key = make_template("postgresql", is_of_now=True).made.tenant.api_key
            with serve_in_thread(lab) as address, make_client(address, key=key) as http:
                body = make_mint_body(register_issuer(http))
                minted = mint(http, body).json()
                read = f"/v1/attestations/{minted['id']}"
                with brief_limits(lab.storage):
                    assert any(is_healthy_during_outage(http, proxy, read, body) for _ in range(OUTAGES))
                again = [http.get(read).status_code, mint(http, body).status_code]
            lab.close()

    assert again == [200, 201]


def is_healthy_during_outage(http: httpx.Client, proxy: TcpProxy, read: str, body: dict[str, Any]) -> bool:
    """Whether `/healthz` was answered while all others waited, which a machine may be too slow to show."""
    proxy.fall_silent()
    with ThreadPoolExecutor(12) as pool:
        asked = [pool.submit(http.get, read) for _ in range(11)]
        asked.append(pool.submit(mint, http, body))
        healthy = http.get("/healthz").status_code
        all_waited = not any(answer.done() for answer in asked)
        statuses = {answer.result().status_code for answer in asked}
    proxy.come_back()
    require_ready(http)
    assert (healthy, statuses) == (200, {503})
    return all_waited


def require_ready(http: httpx.Client) -> None:
    wait_until(lambda: http.get("/readyz").json().get("details", {}).get("checks"), None)


def test_each_connection_has_keepalives_on_both_sides(through: tuple[TcpProxy, str], postgres_url: str) -> None:
    """The proxy's own hop to the server is a Unix socket, where keepalives are nothing; so the settings are read."""
    _, url = through
    with storage_at(url) as storage, storage.read() as connection:
        info = postgresql.driver_of(connection).info.get_parameters()
        shown = {name: connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in ("lock_timeout", "TimeZone")}

    assert {name: info[name] for name in postgresql.CLIENT_OPTIONS} == {
        name: str(value) for name, value in postgresql.CLIENT_OPTIONS.items()
    }
    assert shown == {"lock_timeout": "6s", "TimeZone": "UTC"}
