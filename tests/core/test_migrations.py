"""Migrations create the tables of the models, and a killed migration never leaves a partial database."""

from __future__ import annotations

import itertools
import json
import re
import runpy
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, event, inspect, text

from attestlab.core.db.storage import Storage
from attestlab.migrations import HEAD, NewerRecords, alembic_config, revision, upgrade
from attestlab.migrations.__main__ import write_revision
from attestlab.migrations.models import exists_on, metadata
from support.fork_server import run_command

pytestmark = pytest.mark.both_engines

# Before this statement the process dies; the last is the commit itself.
MOMENTS = (
    "CREATE TABLE alembic_version",
    "CREATE TABLE log_leaves",
    "CREATE TRIGGER log_head_no_update",
    "INSERT INTO alembic_version",
    "COMMIT",
)
SEEN_BY_ENGINE = {
    "sqlite": {
        "columns": "SELECT m.name, c.* FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = 'table'",
        "references": "SELECT m.name, r.'table', r.'from', r.'to', r.on_update, r.on_delete "
        "FROM sqlite_master m, pragma_foreign_key_list(m.name) r WHERE m.type = 'table'",
        "uniqueness": "SELECT m.name, u.'unique', u.origin, group_concat(c.name) FROM sqlite_master m, "
        "pragma_index_list(m.name) u, pragma_index_info(u.name) c WHERE m.type = 'table' GROUP BY m.name, u.name",
        "objects": "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type <> 'table' AND sql IS NOT NULL",
    },
    "postgresql": {
        "columns": "SELECT table_name, column_name, ordinal_position, data_type, character_maximum_length, "
        "is_nullable, column_default, is_identity FROM information_schema.columns WHERE table_schema = 'public'",
        "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
        "constraints": "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE connamespace = 'public'::regnamespace",
        "triggers": "SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
        "functions": "SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
    },
}
# Imports once and forks, because a start costs a second; a line holds all that are to start at once.
FORK_SERVER = """
import json, os, signal, sys
from sqlalchemy import event
from attestlab.core.db.storage import Storage
from attestlab.migrations import upgrade

def start(url, moment):
    def die_before(connection, cursor, statement, *rest):
        if moment and statement.strip().startswith(moment):
            os.kill(os.getpid(), signal.SIGKILL)

    storage = Storage(url)
    event.listen(storage.engine, "before_cursor_execute", die_before)
    event.listen(storage.engine, "commit", lambda connection: die_before(connection, None, "COMMIT"))
    upgrade(storage)
    os._exit(WITH_ALEMBIC if "alembic" in sys.modules else 0)

WITH_ALEMBIC = int(sys.argv[1])
for line in sys.stdin:
    children = []
    for wanted in json.loads(line):
        child = os.fork()
        if not child:
            try:
                start(*wanted)
            finally:
                os._exit(1)
        children.append(child)
    print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]), flush=True)
"""
WITH_ALEMBIC = 100  # the exit code of a process that had to load it

Start = Callable[..., list[int]]


class Interrupted(Exception):
    """The power went, or the disk was full; it does not matter which."""


@pytest.fixture
def opened(empty_database: str) -> Iterator[Storage]:
    """Records with nothing in them, on either engine."""
    storage = Storage(empty_database)
    yield storage
    storage.close()


def tables(storage: Storage) -> set[str]:
    with storage.engine.connect() as connection:
        return set(inspect(connection).get_table_names())


def catalogue(connection: Connection) -> set[tuple[Any, ...]]:
    """Everything that the engine itself knows of the records, in its own words."""
    asked = SEEN_BY_ENGINE[connection.dialect.name]
    rows = [(kind, *row) for kind, query in asked.items() for row in connection.exec_driver_sql(query)]
    return {row for row in rows if not any("alembic_version" in str(value) for value in row)}


@contextmanager
def failing_at(storage: Storage, *, statement: int) -> Iterator[None]:
    """The database fails before one statement, counted from nought, and works again afterwards."""
    countdown = itertools.count(statement, -1)

    def fail(*_: object) -> None:
        if next(countdown) == 0:
            raise Interrupted

    event.listen(storage.engine, "before_cursor_execute", fail)
    try:
        yield
    finally:
        event.remove(storage.engine, "before_cursor_execute", fail)


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    """Processes that start at once on the same database; how each of them ended."""
    command = [sys.executable, "-c", FORK_SERVER, str(WITH_ALEMBIC)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as fork_server:
        requests, replies = fork_server.stdin, fork_server.stdout
        assert requests is not None
        assert replies is not None

        def start(url: str, *, processes: int = 1, die_before: str | None = None) -> list[int]:
            print(json.dumps([[url, die_before]] * processes), file=requests, flush=True)
            ended: list[int] = json.loads(replies.readline())
            return ended

        yield start


def test_revisions_create_the_tables_of_the_models(opened: Storage) -> None:
    """
    Column by column, index by index, trigger by trigger, as the engine tells it. Where this fails: the tables have
    changed, and `attestlab/migrations/__init__.py` says how to make the revision that follows them.
    """
    with suppress(Interrupted), opened.write() as tx:
        metadata().create_all(tx.connection)
        wanted = catalogue(tx.connection)
        raise Interrupted
    upgrade(opened)

    with opened.read() as connection:
        made = catalogue(connection)

    assert sorted(map(str, made - wanted)) == []
    assert sorted(map(str, wanted - made)) == []
    assert len(made) > 20


@pytest.mark.filterwarnings("ignore:autogenerate skipping metadata-specified expression-based index")
@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection of expression-based index")
def test_alembic_finds_nothing_left_to_do(opened: Storage) -> None:
    upgrade(opened)

    with opened.engine.connect() as connection:
        options = {"include_object": exists_on(connection.dialect.name)}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata()) == []
        command.check(alembic_config(connection=connection, target_metadata=metadata()))


def test_the_package_knows_its_newest_revision() -> None:
    assert ScriptDirectory.from_config(alembic_config()).get_heads() == [HEAD]


def test_revisions_import_nothing_of_the_package() -> None:
    """
    What was released once must always make the same tables.
    """
    allowed = {*sys.stdlib_module_names, "sqlalchemy", "alembic"}
    for path in Path(ScriptDirectory.from_config(alembic_config()).versions).glob("*.py"):
        imported = re.findall(r"^\s*(?:import|from) (\w+)", path.read_text(), re.MULTILINE)
        assert set(imported) <= allowed, path.name


def test_next_revision_is_generated_from_the_difference(migrated_file: Path, tmp_path: Path) -> None:
    storage = Storage(f"sqlite:///{shutil.copy(migrated_file, tmp_path / 'behind.db')}")
    lost = (
        "TRIGGER log_tiles_no_update",
        "INDEX ix_log_leaves_segment_hash",
        "INDEX ix_users_tenant_id",
        "INDEX ix_users_invitation_sha256",
        "TABLE users",
    )
    with storage.write() as tx:
        for name in lost:
            tx.exec(text(f"DROP {name}"))
        write_revision("What was lost", tx.connection, tmp_path)
    storage.close()

    (written,) = tmp_path.glob("*_what_was_lost.py")
    namespace = runpy.run_path(str(written))
    assert namespace["down_revision"] == HEAD
    assert all(
        "log_tiles" in guard or "FUNCTION" in guard for guards in namespace["GUARDS"].values() for guard in guards
    )
    assert written.read_text().count("op.create_table(") == 1
    assert re.findall(r'op\.create_index\(\s*(?:op\.f\()?"(\w+)"', written.read_text()) == [
        "ix_users_invitation_sha256",
        "ix_users_invited",
        "ix_users_invited_address",
        "ix_users_tenant_id",
        "ix_log_leaves_segment_hash",
    ]


@pytest.mark.parametrize("moment", MOMENTS)
def test_start_completes_a_killed_migration(opened: Storage, empty_database: str, start: Start, moment: str) -> None:
    assert start(empty_database, die_before=moment) == [-signal.SIGKILL]
    assert tables(opened) == set()

    assert start(empty_database) == [WITH_ALEMBIC]
    assert tables(opened) == {"alembic_version", *metadata().tables}


def test_a_failure_at_any_statement_leaves_nothing_behind(opened: Storage, is_long: bool) -> None:
    """
    At every twenty-fourth, from the first on; in the soak at every one.
    """
    count = 0
    while True:
        with failing_at(opened, statement=count):
            try:
                upgrade(opened)
                break
            except Interrupted:
                assert tables(opened) == set()
        count += 1 if is_long else 24

    assert count > len(metadata().tables)
    assert tables(opened) == {"alembic_version", *metadata().tables}


def test_concurrent_migrations_all_succeed(opened: Storage, empty_database: str, start: Start) -> None:
    ended = start(empty_database, processes=3)

    assert set(ended) <= {0, WITH_ALEMBIC}
    with opened.read() as connection:
        assert revision(connection) == HEAD


def test_start_of_migrated_records_does_not_load_alembic(empty_database: str, start: Start) -> None:
    """
    It would take a third of a second of every start.
    """
    assert start(empty_database) == [WITH_ALEMBIC]
    assert start(empty_database) == [0]


def test_records_of_a_newer_version_are_rejected_unchanged(opened: Storage) -> None:
    upgrade(opened)
    with opened.write() as tx:
        tx.exec(text("UPDATE alembic_version SET version_num = '9999'"))

    with pytest.raises(NewerRecords, match="revision 9999.*up to " + HEAD):
        upgrade(opened)

    with opened.read() as connection:
        assert revision(connection) == "9999"


def test_cli_reports_newer_records_in_one_line(tmp_path: Path) -> None:
    storage = Storage(f"sqlite:///{tmp_path / 'newer.db'}")
    with storage.write() as tx:
        tx.exec(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
        tx.exec(text("INSERT INTO alembic_version VALUES ('9999')"))
    storage.close()

    options = ["--data", str(tmp_path), "--database-url", f"sqlite:///{tmp_path / 'newer.db'}"]
    done = run_command("init", *options)

    assert done.returncode == 2
    assert "Start the newer version" in done.stderr
    assert done.stderr.count("\n") == 1
