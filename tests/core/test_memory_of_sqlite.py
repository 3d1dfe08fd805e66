"""However many connections read a large database, they keep few of its pages in memory."""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack
from pathlib import Path

from sqlalchemy import make_url

from attestlab.core.db.sqlite import CACHE_BYTES, CACHES_BYTES, engine_of
from support.fork_server import call_at_once

CONNECTIONS = 12
ROW_BYTES = 4_000
ROWS = 2 * CACHE_BYTES // ROW_BYTES
OWN_BYTES = 24 << 20  # what the connections themselves, and the interpreter, need besides


def write_large_database(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE large (id INTEGER PRIMARY KEY, content BLOB)")
        database.executemany("INSERT INTO large (content) VALUES (?)", ((os.urandom(ROW_BYTES),) for _ in range(ROWS)))


def measure_readers(path: Path) -> int:
    """Return by how many bytes this process grows while many connections have read everything."""
    engine = engine_of(make_url(f"sqlite:///{path}"))
    with ExitStack() as stack:
        before = resident_bytes()
        for _ in range(CONNECTIONS):
            connection = stack.enter_context(engine.connect())
            connection.exec_driver_sql("SELECT max(content) FROM large").fetchall()
        return resident_bytes() - before


def resident_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])


def test_many_connections_together_keep_a_bounded_number_of_pages(tmp_path: Path) -> None:
    write_large_database(tmp_path / "records.db")
    assert CONNECTIONS * CACHE_BYTES > 2 * (CACHES_BYTES + OWN_BYTES), "without the bound it would be twice as much"

    ((grown,),) = [call_at_once(measure_readers, (tmp_path / "records.db",))]

    assert grown < CACHES_BYTES + OWN_BYTES
