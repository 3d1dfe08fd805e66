"""Read-only PostgreSQL: verification and the log work, `/readyz` fails, and no count is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from attestlab.core.db.urls import database_url
from attestlab.orgs import usage
from support.attestations import mint
from support.databases import create_postgres_database, database_name, execute_as_administrator
from support.faults.minting_clients import NO_TLS_CONTEXT
from support.faults.readers import AttestationReader, require_writes_reported
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer, run_command
from support.in_process_server import wait_until


@contextmanager
def read_only(postgres_url: str, url: str) -> Iterator[None]:
    """Every session of the database is read-only, as on a standby or where an operator stopped writes."""
    name = database_name(url)
    end = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    execute_as_administrator(postgres_url, f"ALTER DATABASE {name} SET default_transaction_read_only = on", end)
    yield
    execute_as_administrator(postgres_url, f"ALTER DATABASE {name} RESET default_transaction_read_only", end)


def used(url: str) -> int:
    """The verifications that the records have counted."""
    engine = create_engine(database_url(url))
    with engine.connect() as connection:
        query = text("SELECT coalesce(sum(used), 0) FROM usage_days WHERE metric = :metric")
        found = int(connection.execute(query, {"metric": usage.VERIFICATIONS}).scalar_one())
    engine.dispose()
    return found


@pytest.mark.on_postgresql
def test_verify_and_the_log_answer_while_postgresql_is_read_only(
    fork_server: ForkServer, tmp_path: Path, empty_database: str, postgres_url: str
) -> None:
    server = ForkedServer.founded(fork_server, tmp_path / "data", empty_database)
    with server, server.client(verify=NO_TLS_CONTEXT) as http:
        known = AttestationReader(http)
        with read_only(postgres_url, empty_database):
            require_writes_reported(http, "failed")
            counted = used(empty_database)
            for _ in range(3):
                assert mint(http, known.mint_body).status_code == 503
                known.reads_all()
            assert used(empty_database) == counted
        require_writes_reported(http, "ok")
        wait_until(lambda: used(empty_database), known.verified)
        assert mint(http, known.mint_body).status_code == 201
        server.stop()
    server.check()


def test_init_on_a_database_without_an_encoding_ends_in_one_line(postgres_url: str, tmp_path: Path) -> None:
    name = database_name(create_postgres_database(postgres_url)) + "_ascii"
    execute_as_administrator(postgres_url, f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    url = postgres_url.replace("/postgres?", f"/{name}?")

    done = run_command("init", "--data", str(tmp_path / "data"), "--database-url", url)

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert "SQL_ASCII" in done.stderr
    assert "UTF8" in done.stderr
