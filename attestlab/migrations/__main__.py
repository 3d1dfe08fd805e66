"""Command that writes the next revision: the difference between the models and the existing revisions."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path

from alembic import command
from alembic.autogenerate.api import AutogenContext
from alembic.operations.ops import CreateIndexOp, MigrationScript
from sqlalchemy import Column, Connection, Index
from sqlmodel.sql.sqltypes import AutoString, UTCDateTime

from attestlab.core.db.storage import Storage
from attestlab.log.tables import IMMUTABILITY_DDL
from attestlab.migrations import VERSIONS, alembic_config, upgrade
from attestlab.migrations.models import metadata

_GUARDED = re.compile(r" ON (\w+) ")
_WIDTH = 96


def write_revision(message: str, connection: Connection, folder: Path = VERSIONS) -> None:
    """Compare the database of `connection`, where all existing revisions have run, with the models."""
    config = alembic_config(
        connection=connection,
        target_metadata=metadata(),
        render_item=_frozen_type,
        process_revision_directives=_adding(_missing_expression_indexes(connection)),
        template_args={"guards": _missing_guards(connection)},
    )
    config.set_main_option("path_separator", "os")
    config.set_main_option("version_locations", os.pathsep.join(map(str, {VERSIONS, folder})))
    for name, value in {"hooks": "tidy", "tidy.type": "module", "tidy.module": "ruff"}.items():
        config.set_section_option("post_write_hooks", name, value)
    config.set_section_option("post_write_hooks", "tidy.options", "format REVISION_SCRIPT_FILENAME")
    number = len(list(VERSIONS.glob("[0-9]*.py"))) + 1
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "autogenerate skipping metadata-specified expression-based index")
        command.revision(config, message, autogenerate=True, rev_id=f"{number:04}", version_path=str(folder))


def _frozen_type(kind: str, item: object, _context: AutogenContext) -> str | bool:
    """Render SQLModel's own types as their SQLAlchemy types, so that a revision depends on SQLAlchemy alone."""
    if kind == "type" and isinstance(item, AutoString):
        return f"sa.{item.impl!r}"
    if kind == "type" and isinstance(item, UTCDateTime):
        return "sa.DateTime(timezone=True)"
    return False


def _missing_expression_indexes(connection: Connection) -> list[Index]:
    """Return the missing expression indexes, which Alembic cannot reflect on SQLite and therefore omits."""
    present = set(connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'index'").scalars())
    wanted = [index for table in metadata().sorted_tables for index in table.indexes]
    return [index for index in wanted if index.name not in present and not all(map(_is_column, index.expressions))]


def _is_column(expression: object) -> bool:
    return isinstance(expression, Column)


def _adding(indexes: list[Index]) -> Callable[..., None]:
    def add(_context: object, _revision: object, scripts: list[MigrationScript]) -> None:
        script = scripts[0]
        if script.upgrade_ops is not None:
            script.upgrade_ops.ops.extend(map(CreateIndexOp.from_index, indexes))

    return add


def _missing_guards(connection: Connection) -> dict[str, list[list[str]]]:
    """Return the triggers of every table that lacks one, by dialect, each statement split into lines."""
    present = set(connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE type = 'trigger'").scalars())
    bare = {_table(statement) for statement in IMMUTABILITY_DDL["sqlite"] if statement not in present}
    if not bare:
        return {}
    bare.add(None)  # the functions that triggers call belong to no table
    return {
        dialect: [_in_lines(statement) for statement in dict.fromkeys(statements) if _table(statement) in bare]
        for dialect, statements in IMMUTABILITY_DDL.items()
    }


def _table(statement: str) -> str | None:
    found = _GUARDED.search(statement)
    return found[1] if found else None


def _in_lines(statement: str) -> list[str]:
    lines = textwrap.wrap(statement, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [f"{line} " for line in lines[:-1]] + lines[-1:]


def main() -> None:
    """Create a database with the existing revisions in a temporary folder, and write the next revision."""
    if len(sys.argv) != 2:
        sys.exit('usage: python -m attestlab.migrations "what changes"')
    with tempfile.TemporaryDirectory() as folder:
        storage = Storage(f"sqlite:///{Path(folder) / 'records.db'}")
        upgrade(storage)
        with storage.write() as tx:
            write_revision(sys.argv[1], tx.connection)
        storage.close()


if __name__ == "__main__":
    main()
