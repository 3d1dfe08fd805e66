"""Migrations of the records (Alembic), run at start where needed, safe when killed half way.

A database carries the name of its revision in the table `alembic_version`; `HEAD` is the
one that this code needs. A start that finds it there imports nothing more. Otherwise the
missing revisions run in one transaction under the writer's lock: both engines have
transactional DDL, so a database is at its old revision or at the new one, never between,
and of two processes that start at once the second finds the work done.

To make the next revision, change the tables and type

    python -m attestlab.migrations "what changes"

which compares them with what the revisions so far make, and writes
`versions/NNNN_what_changes.py`. Read it, and set `HEAD` to its number. Added tables,
columns, indexes and triggers come out complete; a trigger that changes is written by
hand, and SQLite wants `op.batch_alter_table` for most changes of a column. A revision is frozen: it
imports no model, and once released it never changes. One that was not released yet is
made anew by removing its file before typing the command.
`tests/core/test_migrations.py` fails while revisions and tables differ on either engine.

There is no way back down: the log is append-only. Restore a backup and the older version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import Connection, create_engine, inspect

from attestlab.core.db.storage import Storage
from attestlab.core.errors import AttestLabError

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "0020"  # revisions are numbered upwards, so the greater is the newer
VERSION_TABLE = "alembic_version"


class NewerRecords(AttestLabError):
    """The records were made by a newer version; this one would not know what it breaks."""

    code = "SERVICE_UNAVAILABLE"

    def __init__(self, found: str) -> None:
        super().__init__(
            f"The database is at revision {found}, and this version of AttestLab knows them up to {HEAD}: "
            "start the newer version, or name another database."
        )


class UnknownRevision(AttestLabError):
    """What the records say about their revision was never written by us."""

    code = "SERVICE_UNAVAILABLE"

    def __init__(self, found: str) -> None:
        super().__init__(
            f"The database's table {VERSION_TABLE} says {found or 'nothing'}, which is no revision; restore a copy."
        )


def upgrade(storage: Storage) -> None:
    """Bring the records to this version's tables.

    Raises:
        NewerRecords: they are beyond it.
    """
    with storage.read() as connection:
        behind = _is_behind(connection)
    if not behind:
        return
    with storage.write(is_migration=True) as tx:
        if _is_behind(tx.connection):  # nobody was quicker
            _run_missing(tx.connection)


def _is_behind(connection: Connection) -> bool:
    found = revision(connection)
    if found is not None and found > HEAD:
        raise NewerRecords(found)
    return found != HEAD


def revision(connection: Connection) -> str | None:
    """The revision the records are at; None where there are none yet.

    Raises:
        UnknownRevision: they say something else than one revision of ours.
    """
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.exec_driver_sql(f"SELECT CAST(version_num AS VARCHAR(32)) FROM {VERSION_TABLE}").scalars().all()
    if len(found) != 1 or not re.fullmatch(r"(?!0000)\d{4}", found[0] or ""):
        raise UnknownRevision(", ".join(map(repr, found)))
    return str(found[0])


@cache
def made_on_sqlite() -> Mapping[str, str | None]:
    """What the revisions make on SQLite: the statement of each table, index and trigger, by its name.

    They are run on an empty database in memory, once a process; that takes a third of a second.
    """
    engine = create_engine("sqlite://", hide_parameters=True)
    with engine.connect() as connection:
        _run_missing(connection)
        found = stored_statements(connection)
    engine.dispose()
    return found


def stored_statements(connection: Connection) -> dict[str, str | None]:
    """The statement of each table, index and trigger of a SQLite database, as it holds them."""
    found = connection.exec_driver_sql(
        "SELECT type || ' ' || name, sql FROM sqlite_master WHERE name NOT GLOB 'sqlite_*'"
    )
    return {row[0]: row[1] for row in found}


def _run_missing(connection: Connection) -> None:
    from alembic import command  # a third of a second that only an upgrade pays

    command.upgrade(configured(connection=connection), "head")


def configured(**options: object) -> Config:
    """Alembic's configuration for the revisions in this folder; `options` are those of `context.configure`."""
    from alembic.config import Config

    config = Config(attributes=options)
    config.set_main_option("script_location", "attestlab:migrations")
    return config
