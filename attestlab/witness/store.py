"""Store of a witness: one SQLite file with its sealed key and, for each log, the head that it cosigned last.

A commit is on the disk when it returns (WAL with `synchronous=FULL`), and a transaction
begins IMMEDIATE, so of two requests, or two processes, the second sees what the first
stored. If the file is lost, or restored from a copy, the witness must be retired: it
could cosign a second tree of a size that it cosigned before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from attestlab.core import atomic_files
from attestlab.core.errors import Conflict, IntegrityFailed, NotFound, Unavailable
from attestlab.log.note.note import TreeHead

FILE_NAME = "witness.db"
BUSY_TIMEOUT_S = 10
_TABLES = (
    "CREATE TABLE witness (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL, sealed_key BLOB NOT NULL) STRICT",
    "CREATE TABLE heads (origin TEXT PRIMARY KEY, size INTEGER NOT NULL, root BLOB NOT NULL, note TEXT NOT NULL, "
    "at_s INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TRIGGER heads_only_grow BEFORE UPDATE ON heads WHEN NEW.size < OLD.size OR NEW.origin <> OLD.origin "
    "OR (NEW.size = OLD.size AND NEW.root <> OLD.root) BEGIN SELECT RAISE(ABORT, 'a witness never goes back'); END",
    "CREATE TRIGGER heads_stay BEFORE DELETE ON heads BEGIN SELECT RAISE(ABORT, 'a witness never forgets'); END",
)
_UPSERT_HEAD = (
    "INSERT INTO heads (origin, size, root, note, at_s) VALUES (?, ?, ?, ?, ?) ON CONFLICT (origin) "
    "DO UPDATE SET size = excluded.size, root = excluded.root, note = excluded.note, at_s = excluded.at_s"
)


@dataclass(frozen=True, slots=True)
class CosignedHead:
    """The tree head of a log that was cosigned last, and its time (seconds since 1970)."""

    head: TreeHead
    at_s: int


class Heads:
    """The cosigned heads within one transaction, which holds SQLite's write lock."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def find(self, origin: str) -> CosignedHead | None:
        """Find the newest cosigned head of a log; None if there is none."""
        row = self._connection.execute("SELECT size, root, at_s FROM heads WHERE origin = ?", (origin,)).fetchone()
        return None if row is None else CosignedHead(TreeHead(origin, row[0], row[1]), row[2])

    def put(self, cosigned: CosignedHead, note: str) -> None:
        """Store the newest head of a log; `note` is the log's checkpoint, verbatim."""
        head = cosigned.head
        self._connection.execute(_UPSERT_HEAD, (head.origin, head.size, head.root, note, cosigned.at_s))


class WitnessStore:
    """The file of one witness. Any thread may use it, and any number of processes.

    `_lock` protects the connection. The connection is replaced after an error, because SQLite would keep a file that
    it could open read-only, and other effects of a full disk.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = _connect(path, mode="rw")
        self._has_failed = False
        self._lock = Lock()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @classmethod
    def create(cls, folder: Path, *, name: str, sealed_key: bytes) -> None:
        """Create the file with the witness's name and sealed private key; an unfinished file is completed.

        Raises:
            Conflict: the folder holds a witness already.
        """
        with closing(_connect(folder / FILE_NAME, mode="rwc")) as connection:
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                raise Conflict(f"{folder} holds a witness already; its key and what it cosigned are kept.")
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute("INSERT INTO witness (id, name, sealed_key) VALUES (1, ?, ?)", (name, sealed_key))
            connection.execute("COMMIT")

    @classmethod
    @contextmanager
    def open(cls, folder: Path) -> Iterator[WitnessStore]:
        """Open the existing file. It never creates one, because a witness without its heads must not sign.

        Raises:
            NotFound: the folder holds no witness.
        """
        if not (folder / FILE_NAME).exists():
            raise NotFound("witness in", f"{folder}; `attestlab witness init` makes one, and none")
        with closing(cls(folder / FILE_NAME)) as store:
            yield store

    def identity(self) -> tuple[str, bytes]:
        """Read the witness's name and its sealed private key.

        Raises:
            IntegrityFailed: the file holds no witness.
        """
        try:
            row = self._connection.execute("SELECT name, sealed_key FROM witness").fetchone()
        except sqlite3.DatabaseError as error:
            raise IntegrityFailed(f"{FILE_NAME} is not the file of a witness: {error}.") from error
        if row is None:
            raise IntegrityFailed(f"{FILE_NAME} holds no witness; it was not made by `attestlab witness init`.")
        return row[0], row[1]

    def latest(self, origin: str) -> tuple[CosignedHead, str] | None:
        """Read the newest cosigned head of a log and its checkpoint as submitted; None if there is none.

        Raises:
            Unavailable: the file cannot be read.
        """
        query = "SELECT size, root, at_s, note FROM heads WHERE origin = ?"
        try:
            with self._use_connection() as connection:
                row = connection.execute(query, (origin,)).fetchone()
        except sqlite3.Error as error:
            raise Unavailable(f"{FILE_NAME} cannot be read: {error}.") from error
        return None if row is None else (CosignedHead(TreeHead(origin, row[0], row[1]), row[2]), row[3])

    @contextmanager
    def transaction(self) -> Iterator[Heads]:
        """A write transaction: durable at the end of the block, rolled back on any exception.

        Raises:
            Unavailable: the file cannot be written; the witness must not assume that the change was stored.
        """
        try:
            with self._use_connection() as connection:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield Heads(connection)
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
        except sqlite3.Error as error:
            raise Unavailable(f"The witness cannot store the head to cosign: {error}.") from error

    @contextmanager
    def _use_connection(self) -> Iterator[sqlite3.Connection]:
        """Lock the connection for one use; reopens it if the last use ended with an SQLite error."""
        with self._lock:
            if self._has_failed:
                self._connection.close()  # before the next one: closing a file drops this process's locks on it
                self._connection = _connect(self._path, mode="rw")
                self._has_failed = False
            try:
                yield self._connection
            except sqlite3.Error:
                self._has_failed = True
                raise


def _connect(path: Path, *, mode: str) -> sqlite3.Connection:
    try:
        if mode == "rwc":
            atomic_files.ensure_private_database(path)
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=BUSY_TIMEOUT_S,
        )
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            connection.execute(f"PRAGMA {pragma}")
    except sqlite3.Error as error:
        raise Unavailable(f"{path.name} cannot be used: {error}.") from error
    return connection
