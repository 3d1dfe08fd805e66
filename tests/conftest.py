"""What every test may ask for: a clock, a new database, a lab, a server.

The records are on SQLite; a test that must hold on PostgreSQL as well is marked `both_engines`.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest

from attestlab.core.clock import FixedClock, SystemClock
from attestlab.core.db.storage import Storage
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import Caller, Plan
from support.databases import (
    ENGINES,
    RECORDS,
    copy_sqlite_file,
    create_postgres_database,
    database_name,
    migrate,
    postgres_server,
    temporary_postgres_database,
)
from support.declared_statuses import take_undeclared, watch_statuses
from support.disks import SmallDisk
from support.fork_server import ForkServer, close_fork_server, fork_workers, get_fork_server
from support.installations import InstallationTemplate, remove_template
from support.lab_checks import check_lab
from support.memory_file_system import use_memory_file_system
from support.password_hashing import use_cheap_passwords
from support.property_tests import register_profiles
from support.server_process import ServerProcess
from support.statement_cache import share_compiled_statements
from support.tls_contexts import share_tls_contexts

MakeTemplate = Callable[..., InstallationTemplate]
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

register_profiles()
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background jobs hand that on to what tests interrupt
    signal.signal(signal.SIGINT, signal.default_int_handler)
use_cheap_passwords()
use_memory_file_system()
share_compiled_statements()
share_tls_contexts()
fork_workers(get_fork_server)
watch_statuses()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    """Fail a test in which a route answered an error that its description does not declare."""
    done = yield
    assert take_undeclared() == set(), "declare it with `raises=` at the route"
    return done


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let a test that asks for an engine run on SQLite, on both, or on PostgreSQL alone."""
    if "engine" in metafunc.fixturenames:
        marks = {mark.name for mark in metafunc.definition.iter_markers()}
        engines = ENGINES[1:] if "on_postgresql" in marks else ENGINES if "both_engines" in marks else ENGINES[:1]
        metafunc.parametrize("engine", engines, indirect=True, scope="module")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long stories first, so that at the end no process waits for another's last one."""
    items.sort(key=lambda item: "faults" not in item.path.parts)


def pytest_unconfigure() -> None:
    """End what the tests of this process shared."""
    close_fork_server()
    remove_template()


@pytest.fixture(scope="module")
def shared_clock() -> FixedClock:
    """The clock of a module that is `one_world`."""
    return FixedClock(NOON)


@pytest.fixture
def clock(request: pytest.FixtureRequest) -> FixedClock:
    """Noon of a quiet day; only tests move it. In `one_world` each test begins a day after the one before."""
    if not is_shared(request):
        return FixedClock(NOON)
    shared: FixedClock = request.getfixturevalue("shared_clock")
    shared.advance(timedelta(days=1))
    return shared


def is_shared(request: pytest.FixtureRequest) -> bool:
    """Whether a test has the installation and the clock of its module, or its own."""
    marks = {mark.name for mark in request.node.iter_markers()}
    return "one_world" in marks and not marks & {"own_world", "tampered"}


@pytest.fixture(scope="module")
def engine(request: pytest.FixtureRequest) -> str:
    """Where the records of a test are: SQLite, or for one `both_engines` or `on_postgresql`, what its turn says."""
    named: str = request.param
    return named


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A real PostgreSQL server of this test process; the URL lacks only the database's name."""
    with postgres_server() as url:
        yield url


@pytest.fixture
def empty_database(request: pytest.FixtureRequest, engine: str, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database."""
    if engine == "sqlite":
        yield f"sqlite:///{tmp_path / RECORDS}"
        return
    with temporary_postgres_database(request.getfixturevalue("postgres_url")) as url:
        yield url


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite database with every table, to be copied."""
    path = tmp_path_factory.mktemp("migrated") / RECORDS
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def migrated_postgres(postgres_url: str) -> str:
    """The name of a PostgreSQL database with every table, to be copied: a third of what migrating costs."""
    url = create_postgres_database(postgres_url)
    migrate(url)
    return database_name(url)


@pytest.fixture
def migrated_database(request: pytest.FixtureRequest, engine: str, tmp_path: Path) -> Iterator[str]:
    """The URL of a database with every table and no rows."""
    if engine == "sqlite":
        yield copy_sqlite_file(request.getfixturevalue("migrated_file"), tmp_path)
        return
    template = request.getfixturevalue("migrated_postgres")
    with temporary_postgres_database(request.getfixturevalue("postgres_url"), template=template) as url:
        yield url


@pytest.fixture
def storage(migrated_database: str) -> Iterator[Storage]:
    """Records with every table."""
    opened = Storage(migrated_database)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def make_template(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> MakeTemplate:
    """A fresh installation at noon, or of now, for each engine; to be copied."""

    @cache
    def on(engine: str, *, is_of_now: bool = False) -> InstallationTemplate:
        postgres_url = request.getfixturevalue("postgres_url") if engine == "postgresql" else None
        clock = SystemClock() if is_of_now else FixedClock(NOON)
        return InstallationTemplate.in_folder(tmp_path_factory.mktemp("prepared"), clock, postgres_url=postgres_url)

    return on


@pytest.fixture(scope="module")
def shared_lab(
    make_template: MakeTemplate,
    engine: str,
    tmp_path_factory: pytest.TempPathFactory,
    shared_clock: FixedClock,
) -> Iterator[Installation]:
    """The installation of a module that is `one_world`; re-verified from outside when the module is over."""
    with make_template(engine).open_in(tmp_path_factory.mktemp("shared"), shared_clock) as opened:
        yield opened
        check_lab(opened)


@pytest.fixture
def lab(
    request: pytest.FixtureRequest,
    make_template: MakeTemplate,
    engine: str,
    tmp_path: Path,
    clock: FixedClock,
) -> Iterator[Installation]:
    """A fresh installation in process; re-verified from outside when the test is over.

    In a module that is `one_world`, the one that its tests share.
    """
    if is_shared(request):
        yield request.getfixturevalue("shared_lab")
        return
    with make_template(engine).open_in(tmp_path, clock) as opened:
        yield opened
        if request.node.get_closest_marker("tampered"):
            assert list(fsck(opened)), "the records were changed behind the service's back, and fsck did not notice"
        else:
            check_lab(opened)


@pytest.fixture
def caller(request: pytest.FixtureRequest, lab: Installation) -> Caller:
    """The operator's own tenant, with every scope; in `one_world` a new tenant, which has made nothing yet."""
    if is_shared(request):
        return lab.orgs.service_caller(lab.orgs.create_tenant("One of many", plan=Plan.ENTERPRISE).tenant_id)
    operator: Caller = lab.operator  # type: ignore[attr-defined]
    return operator


@pytest.fixture(params=["short", pytest.param("long", marks=pytest.mark.soak)])
def is_long(request: pytest.FixtureRequest) -> bool:
    """Whether this is the full form of a story that has a bounded form in `make test`."""
    return bool(request.param == "long")


@pytest.fixture(scope="session")
def fork_server() -> ForkServer:
    """One process with everything imported, which forks the others."""
    return get_fork_server()


@pytest.fixture
def server(make_template: MakeTemplate, engine: str, tmp_path: Path) -> Iterator[ServerProcess]:
    """The real `attestlab serve` on a fresh installation, over real HTTP."""
    with served_from(make_template(engine, is_of_now=True), tmp_path) as running:
        yield running


@contextmanager
def served_from(template: InstallationTemplate, folder: Path) -> Iterator[ServerProcess]:
    """A server on a copy of an installation, which is re-verified from outside when it has stopped."""
    with template.copy_to(folder) as settings:
        assert settings.database_url is not None
        with ServerProcess(settings.data, settings.database_url, template.made.public()) as running:
            yield running
            running.stop()
            running.check()


@pytest.fixture(scope="module")
def running(
    make_template: MakeTemplate, engine: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """The real `attestlab serve`, once for all tests of a module; re-verified from outside at the end."""
    with served_from(make_template(engine, is_of_now=True), tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A small disk of the test's own, which it may fill."""
    with SmallDisk.mounted(tmp_path / "disk") as mounted:
        yield mounted
