"""The memory of a witness: one SQLite file with one row a log, and nothing else that it could forget.

A commit is on the disk when it returns (WAL with `synchronous=FULL`), and a change begins
IMMEDIATE, so of two requests, or two processes, the second sees what the first decided.
A lost file, or one that was brought back from a copy, is the end of this witness: it
could cosign a second tree beside one that it cosigned before.
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
    """The tree head of a log that was cosigned last, and when (seconds since 1970)."""

    head: TreeHead
    at_s: int


class Heads:
    """What is known within one change; nobody else changes anything meanwhile."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def find(self, origin: str) -> CosignedHead | None:
        """The newest head of a log; None where none was ever cosigned."""
        row = self._connection.execute("SELECT size, root, at_s FROM heads WHERE origin = ?", (origin,)).fetchone()
        return None if row is None else CosignedHead(TreeHead(origin, row[0], row[1]), row[2])

    def put(self, cosigned: CosignedHead, note: str) -> None:
        """Let this be the newest head; `note` is the log's checkpoint, verbatim."""
        head = cosigned.head
        self._connection.execute(_UPSERT_HEAD, (head.origin, head.size, head.root, note, cosigned.at_s))


class WitnessStore:
    """The file of one witness. Any thread may use it, and any number of processes.

    `_lock` protects the connection, which is replaced after an error: SQLite keeps a file that it could open for
    reading only, and what else a full disk left behind.
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
        """Found the file with the witness's name and its sealed private key; one that was never finished is begun anew.

        Raises:
            Conflict: there is a witness.
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
        """The file, which is never made on the way: a witness without its memory must not sign.

        Raises:
            NotFound: there is none.
        """
        if not (folder / FILE_NAME).exists():
            raise NotFound("witness in", f"{folder}; `attestlab witness init` makes one, and none")
        with closing(cls(folder / FILE_NAME)) as store:
            yield store

    def identity(self) -> tuple[str, bytes]:
        """The witness's name and its sealed private key.

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
        """The newest head of a log and its checkpoint as it was submitted; None where none was ever cosigned.

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
        """One change: durable at the end of the block, taken back on any exception.

        Raises:
            Unavailable: the file cannot be written; nothing was changed, as far as anyone can know.
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
            raise Unavailable(f"The witness cannot write down what it would sign: {error}.") from error

    @contextmanager
    def _use_connection(self) -> Iterator[sqlite3.Connection]:
        """The connection for one use; a new one where the last use ended with an error of SQLite."""
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
