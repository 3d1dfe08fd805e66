"""Migrations of the records (Alembic), run at start where needed, safe when killed half way.

The table `alembic_version` contains the database's revision; `HEAD` is the revision that this
code needs. If they are equal, a start imports nothing more. Otherwise the missing revisions run
in one transaction under the writer's lock: both engines have transactional DDL, so a database is
at its old revision or at the new one, never between, and if two processes start at the same
time, the second finds the work done.

To create the next revision, change the tables and run

    python -m attestlab.migrations "what changes"

which compares the tables with the schema that the existing revisions create, and writes
`versions/NNNN_what_changes.py`, whose number is then `HEAD`. Review it. Added tables, columns,
indexes and triggers are generated completely; write changes of triggers by hand, and use
`op.batch_alter_table` on SQLite for most changes of a column. A revision is frozen: it imports no
model, and once released it never changes. To regenerate an unreleased revision,
remove its file and run the command again.
`tests/core/test_migrations.py` fails while revisions and tables differ on either engine.

There is no way back down: the log is append-only. Restore a backup and the older version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, create_engine, inspect

from attestlab.core.db.storage import Storage
from attestlab.core.errors import AttestLabError

if TYPE_CHECKING:
    from alembic.config import Config

VERSIONS = Path(__file__).parent / "versions"
HEAD = max(path.name[:4] for path in VERSIONS.glob("[0-9]*.py"))  # the greater number is the newer revision
VERSION_TABLE = "alembic_version"


class NewerRecords(AttestLabError):
    """The database has a newer revision than this version knows; writing to it could damage data."""

    code = "SERVICE_UNAVAILABLE"

    def __init__(self, found: str) -> None:
        super().__init__(
            f"The database is at revision {found}, but this version of AttestLab supports revisions up to {HEAD}. "
            "Start the newer version, or name another database."
        )


class UnknownRevision(AttestLabError):
    """The database's revision is missing or malformed; AttestLab never writes such a value."""

    code = "SERVICE_UNAVAILABLE"

    def __init__(self, found: str) -> None:
        super().__init__(
            f"The database's table {VERSION_TABLE} contains {found or 'no row'} instead of one revision. "
            "Restore a backup."
        )


def upgrade(storage: Storage) -> None:
    """Upgrade the database to this version's revision.

    Raises:
        NewerRecords: the database has a newer revision.
        UnknownRevision: the database's revision is missing or malformed.
    """
    with storage.read() as connection:
        behind = _is_behind(connection)
    if not behind:
        return
    with storage.write(is_migration=True) as tx:
        if _is_behind(tx.connection):  # no other process was faster
            _run_missing(tx.connection)


def _is_behind(connection: Connection) -> bool:
    found = revision(connection)
    if found is not None and found > HEAD:
        raise NewerRecords(found)
    return found != HEAD


def revision(connection: Connection) -> str | None:
    """Return the database's revision; None for an empty database.

    Raises:
        UnknownRevision: the revision is missing or malformed.
    """
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.exec_driver_sql(f"SELECT CAST(version_num AS VARCHAR(32)) FROM {VERSION_TABLE}").scalars().all()
    if len(found) != 1 or not re.fullmatch(r"(?!0000)\d{4}", found[0] or ""):
        raise UnknownRevision(", ".join(map(repr, found)))
    return str(found[0])


@cache
def made_on_sqlite() -> Mapping[str, str | None]:
    """Return the schema that the revisions create on SQLite: the DDL of each table, index and trigger by name.

    Runs the revisions on an empty in-memory database, once per process; this takes a third of a second.
    """
    engine = create_engine("sqlite://", hide_parameters=True)
    with engine.connect() as connection:
        _run_missing(connection)
        found = stored_statements(connection)
    engine.dispose()
    return found


def stored_statements(connection: Connection) -> dict[str, str | None]:
    """Return the DDL of each table, index and trigger that a SQLite database has stored."""
    found = connection.exec_driver_sql(
        "SELECT type || ' ' || name, sql FROM sqlite_master WHERE name NOT GLOB 'sqlite_*'"
    )
    return {row[0]: row[1] for row in found}


def _run_missing(connection: Connection) -> None:
    from alembic import command  # takes a third of a second, needed only for an upgrade

    command.upgrade(alembic_config(connection=connection), "head")


def alembic_config(**options: object) -> Config:
    """Build Alembic's configuration for the revisions in this folder; `options` go to `context.configure`."""
    from alembic.config import Config

    config = Config(attributes=options)
    config.set_main_option("script_location", "attestlab:migrations")
    return config
