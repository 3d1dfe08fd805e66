"""Bulk signals in process: from lines to durable rows, against plain `executemany` of the same rows; processor time.

The floor inserts what the service wrote, as SQLite stores it, with all indexes and the rows of the outbox, into another
installation's tables, 500 signals a commit. Links are plain upserts there. On PostgreSQL, the service's insert is
compared with a bare binary COPY of the same rows.
"""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from operator import itemgetter
from pathlib import Path
from time import process_time
from typing import Any

import orjson

from attestlab.core.db.transaction import Transaction
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.risk.links import LinkSource, see_links
from attestlab.risk.signals.bulk import BulkOptions
from attestlab.risk.signals.ndjson import read_signal_lines
from attestlab.risk.signals.recording import record_without_events
from attestlab.risk.signals.store import RiskSignalRecord, signals
from attestlab.risk.tallies import tally
from attestlab.settings import Settings
from benchmarks.figures import Figure
from benchmarks.postgresql_mints import run_postgresql

LINES = 5_000
A_COMMIT = 500
ROUNDS = 7
KINDS = ("backfill", "live", "three_entities")
_FACT = tuple(RiskSignalRecord._fields.index(name) for name in LinkSource._fields)
_TABLES = ("risk_signals", "outbox_events")
_TYPES = (
    *("int8", "uuid", "uuid", "varchar", "varchar", "float8", "varchar", "varchar", "varchar"),
    *("timestamptz", "timestamptz", "uuid", "uuid", "uuid", "bytea"),
)
_UPSERT_LINK = (
    "INSERT INTO risk_links VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (tenant_id, first_type, first_id, second_type, second_id, kind) DO UPDATE SET "
    'count = "count" + excluded."count", first_seen = min(first_seen, excluded.first_seen), '
    "last_seen = max(last_seen, excluded.last_seen)"
)


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the cost of a signal of each kind, that of its rows alone, and their ratio."""
    gc.freeze()  # as a server does, because a full collection takes longer than a commit
    for kind in KINDS:
        (folder / kind).mkdir()
        with _open(folder / kind / "ours") as (lab, caller), _open_floor(folder / kind / "floor") as floor:
            rounds = [_measure_round(lab, caller, floor, kind, number) for number in range(ROUNDS + 1)][1:]
        yield from _compare(f"waits.bulk_signals.{kind}", rounds, against="executemany")
    with run_postgresql() as url, _open(folder / "postgresql", url) as (lab, caller):
        rounds = [_measure_insert(lab, caller, number) for number in range(ROUNDS + 1)][1:]
    yield from _compare("waits.bulk_signals.postgresql_insert", rounds, against="binary COPY")


def make_lines(kind: str, first: int, *, count: int = LINES) -> bytes:
    """Return lines of signals in the order of time; with three entities, a signal of a user names two more."""
    lines = []
    for number in range(first, first + count):
        named = {"device_id": f"device-{number % 3_000}", "ip": f"10.0.{number % 200}.{number % 250}"}
        signal = {
            **{"source": "bench", "signal_type": "behavior", "score": 12.5, "entity_type": "user"},
            **{"entity_id": f"user-{number}", "details": {"rule": "velocity-burst", "window_s": 300}},
        }
        lines.append({**signal, "details": named} if kind == "three_entities" else signal)
    return b"\n".join(map(orjson.dumps, lines))


def _compare(name: str, rounds: Sequence[tuple[float, float]], *, against: str) -> Iterator[Figure]:
    yield Figure.of_rounds(f"{name}_ratio", [ours / floor for ours, floor in rounds], "ratio", against=against)
    for place, side in enumerate(("cpu_us", "floor_cpu_us")):
        yield Figure.of_rounds(f"{name}_{side}", [each[place] for each in rounds], "us")


@contextmanager
def _open(data: Path, database_url: str | None = None) -> Iterator[tuple[Installation, Caller]]:
    lab, founded = Installation.init(Settings(data=data, database_url=database_url))
    try:
        yield lab, lab.orgs.service_caller(founded.tenant.tenant_id)
    finally:
        lab.close()


@contextmanager
def _open_floor(data: Path) -> Iterator[sqlite3.Connection]:
    """Open the records of another installation as a bare database, whose rows refer to nothing."""
    with _open(data) as (lab, _):
        path = str(lab.storage.url.database)
    with closing(sqlite3.connect(path, isolation_level=None)) as floor:
        floor.execute("PRAGMA synchronous = FULL")
        floor.execute("DELETE FROM outbox_events")
        yield floor


def _measure_round(
    lab: Installation, caller: Caller, floor: sqlite3.Connection, kind: str, number: int
) -> tuple[float, float]:
    """Return the processor time of a signal through the service, and of its rows alone, in microseconds."""
    text = make_lines(kind, number * LINES)
    with closing(sqlite3.connect(str(lab.storage.url.database))) as written:
        starts = [written.execute(f"SELECT coalesce(max(seq), -1) FROM {table}").fetchone()[0] for table in _TABLES]
        began = process_time()
        _record(lab, caller, text, is_backfill=kind == "backfill")
        ours = process_time() - began
        found = [
            written.execute(f"SELECT * FROM {table} WHERE seq > ?", [start]).fetchall()
            for table, start in zip(_TABLES, starts, strict=True)
        ]
    commits = [[rows[first : first + A_COMMIT] for rows in found] for first in range(0, LINES, A_COMMIT)]
    links = [_list_links(signal_rows) for signal_rows, _ in commits]
    began = process_time()
    for (signal_rows, event_rows), of_commit in zip(commits, links, strict=True):
        _write(floor, signal_rows, event_rows, of_commit)
    return 1e6 * ours / LINES, 1e6 * (process_time() - began) / LINES


def _record(lab: Installation, caller: Caller, text: bytes, *, is_backfill: bool) -> None:
    options, done = BulkOptions(is_backfill), 0
    lines = lab.risk.bulk.read_lines(text, began_at=lab.clock.now(), caller=caller)
    while (batch := lines.parse_batch()) is not None:
        for first in range(0, len(batch), A_COMMIT):
            part = batch[first : first + A_COMMIT]
            done += len(part)
            lab.risk.bulk.record_slice(part, done, options, caller)


def _list_links(rows: Sequence[tuple[Any, ...]]) -> list[tuple[object, ...]]:  # values of any column
    """Return the links that signals make, of values as SQLite stores them."""
    tallies = tally(see_links(map(LinkSource._make, map(itemgetter(*_FACT), rows))))
    return [(*link, *tallies[link]) for link in sorted(tallies)]


def _write(floor: sqlite3.Connection, *rows: Sequence[tuple[object, ...]]) -> None:
    """Write the rows of signals, events and links in one commit."""
    inserts = [f"INSERT INTO {table} VALUES ({{}})" for table in _TABLES]
    floor.execute("BEGIN IMMEDIATE")
    for statement, values in zip([*inserts, _UPSERT_LINK], rows, strict=True):
        if values:
            floor.executemany(statement.format(", ".join("?" * len(values[0]))), values)
    floor.execute("COMMIT")


def _measure_insert(lab: Installation, caller: Caller, number: int) -> tuple[float, float]:
    """Return the processor time of this process for a row of `risk_signals`, by the service and by a bare COPY."""
    now = lab.clock.now()
    found = read_signal_lines(make_lines("backfill", number * LINES), now=now).parse_batch() or []
    tx = lab.storage.begin()
    recorded = record_without_events(tx, caller.tenant_id, found, at=now, escalate=False)
    rows = [(seq, *record[1:-1], bytes(32)) for seq, record in enumerate(recorded)]
    spent = []
    for insert in (_insert, _copy):
        savepoint, began = tx.connection.begin_nested(), process_time()
        insert(tx, rows)
        spent.append(1e6 * (process_time() - began) / len(rows))
        savepoint.rollback()
    lab.storage.rollback(tx)
    return spent[0], spent[1]


def _insert(tx: Transaction, rows: Sequence[tuple[object, ...]]) -> None:
    tx.add_rows(signals, rows)
    tx.flush()


def _copy(tx: Transaction, rows: Sequence[tuple[object, ...]]) -> None:
    connection: Any = tx.connection.connection.dbapi_connection  # psycopg's
    with connection.cursor().copy(f"COPY {signals.name} FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(_TYPES)
        for row in rows:
            copy.write_row(row)
