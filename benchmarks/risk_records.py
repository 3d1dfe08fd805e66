"""The signals of a generated lake as rows of the records, which the list of signals and the view of an entity read.

10,000,000 signals take some 8 GB of disk. The chain's hashes are zeros, because only fsck reads them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing

import duckdb

from attestlab.installation import Installation
from attestlab.risk.signals.store import signals

_ROWS_PER_FETCH = 20_000
_AS_TEXT = "strftime({0}, '%Y-%m-%d %H:%M:%S.%f') AS {0}"
_AS_HEX = "replace({0}, '-', '') AS {0}"
_STORED = {  # as SQLite stores the other types than text and numbers
    **dict.fromkeys(("occurred_at", "created_at"), _AS_TEXT),
    **dict.fromkeys(("id", "tenant_id", "case_id", "event_id", "replaces"), _AS_HEX),
}


def write_records(lab: Installation, files: Sequence[str]) -> None:
    """Insert the signals of the lake's files into the records, in the order of their numbers."""
    names = [column.name for column in signals.columns if column.name != "hash"]
    values = ", ".join("?" for _ in names)
    statement = f"INSERT INTO {signals.name} ({', '.join(names)}, hash) VALUES ({values}, zeroblob(32))"
    with closing(sqlite3.connect(str(lab.storage.url.database), isolation_level=None)) as records:
        records.execute("PRAGMA synchronous = OFF")
        indexes = records.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
            [signals.name],
        ).fetchall()
        for name, _ in indexes:
            records.execute(f"DROP INDEX {name}")
        for rows in _read_rows(names, files):
            records.execute("BEGIN")
            records.executemany(statement, rows)
            records.execute("COMMIT")
        for _, created in indexes:  # sorted at once, which is much faster than row by row
            records.execute(created)


def _read_rows(names: Sequence[str], files: Sequence[str]) -> Iterator[list[tuple[object, ...]]]:
    columns = ", ".join(_STORED.get(name, "{0}").format(name) for name in names)
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.execute(f"SELECT {columns} FROM read_parquet({list(files)!r}) ORDER BY seq")
        while rows := found.fetchmany(_ROWS_PER_FETCH):
            yield rows
