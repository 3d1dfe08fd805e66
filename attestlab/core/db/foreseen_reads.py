"""Foreseen reads: what the jobs of a group read under the writer's lock, with one query of each kind for all of them.

Before a group begins, each job names the keys that it will read. On PostgreSQL the statements that load those of all
jobs are sent with the one that takes the lock (`core/db/read_ahead.py`), and their values are kept before the first job
runs. SQLite runs in the same process, so it loads each key when a job reads it.

A value is that of the committed records, or what an earlier job has sent if no job asked for it before. A job that
changes what others read marks the transaction, and they read again (`KEYS_CHANGED` in `issuers/keys.py`), or adds its
changes to a buffer, as `orgs/usage.py` does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Generic, TypeVar, cast
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Date, String, TableValuedAlias, Uuid, bindparam, column, func

from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Foreseen, Transaction

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
ColumnType = Uuid[UUID] | String | Date


class ForeseenRead(Generic[Key, Value]):
    """A read by key that the jobs of a group share.

    `find` reads the value of one key, None if there is none; `find_all` reads those of many keys and leaves out keys
    without a value. SQLite calls `find_all` only for `get_all`.
    """

    def __init__(
        self,
        name: str,
        *,
        find: Callable[[Execute, Key], Value | None],
        find_all: Callable[[Execute, Collection[Key]], Mapping[Key, Value]],
    ) -> None:
        self._name = name
        self._find = find
        self._find_all = find_all

    def __repr__(self) -> str:
        return f"ForeseenRead({self._name!r})"

    def foresee(self, foreseen: Foreseen, key: Key) -> None:
        """Name a key that a job will read."""
        foreseen.setdefault(self, {})[key] = None

    def ask(self, execute: Execute, keys: Sequence[object], /) -> None:
        """Run the statement that will read these keys, and ignore its answer."""
        self._load(execute, cast("Sequence[Key]", keys))

    def load(self, tx: Transaction, keys: Sequence[object], /) -> None:
        """Read the values of these keys for the jobs of a transaction."""
        tx.ahead[self] = self._load(tx.read_unflushed, cast("Sequence[Key]", keys))

    def get(self, tx: Transaction, key: Key) -> Value | None:
        """Return the value of a key as the committed records have it, read once a transaction."""
        return self.get_all(tx, [key])[0]

    def get_all(self, tx: Transaction, keys: Sequence[Key]) -> list[Value | None]:
        """Return the values of several keys like `get`, read with one query."""
        if self not in tx.cache:
            tx.cache[self] = tx.ahead.pop(self, {})
        known: dict[Key, Value | None] = tx.cache[self]
        if not known.keys() >= set(keys):
            foreseen = {} if tx.connection.dialect.name == "sqlite" else tx.foreseen.get(self, {})
            wanted = dict.fromkeys([*cast("dict[Key, None]", foreseen), *keys])  # in the order in which it was asked
            known |= self._load(tx.read_unflushed, [key for key in wanted if key not in known])
        return [known[key] for key in keys]

    def replace(self, tx: Transaction, key: Key, value: Value) -> None:
        """Let later reads of the transaction return another value, which a commit hook is about to write."""
        tx.cache.setdefault(self, tx.ahead.pop(self, {}))[key] = value

    def forget(self, tx: Transaction) -> None:
        """Let later reads of the transaction ask again, because it has changed the records."""
        tx.cache.pop(self, None)
        tx.ahead.pop(self, None)

    def _load(self, execute: Execute, wanted: Collection[Key]) -> dict[Key, Value | None]:
        if len(wanted) == 1:
            return {key: self._find(execute, key) for key in wanted}
        return {**dict.fromkeys(wanted), **self._find_all(execute, wanted)}


class ForeseenQuery:
    """A query without keys that a job will run by itself, such as the one that locks the log's head."""

    def __init__(self, name: str, run: Callable[[Execute], object]) -> None:
        self._name = name
        self._run = run

    def __repr__(self) -> str:
        return f"ForeseenQuery({self._name!r})"

    def foresee(self, foreseen: Foreseen) -> None:
        """Name the query."""
        foreseen[self] = {None: None}

    def ask(self, execute: Execute, _keys: Sequence[object], /) -> None:
        """Run the query, and ignore its answer."""
        self._run(execute)

    def load(self, _tx: Transaction, _keys: Sequence[object], /) -> None:
        """Read nothing: the job runs the query."""


class KeyRows:
    """Keys as the rows of a query on PostgreSQL: one array for each column, so that all queries have one text."""

    def __init__(self, **types: ColumnType) -> None:
        arrays = [bindparam(f"all_{name}", type_=ARRAY(kind)) for name, kind in types.items()]
        columns = [column(name, kind) for name, kind in types.items()]
        self.rows: TableValuedAlias = func.unnest(*arrays).table_valued(*columns, name="wanted").render_derived()
        self.c: Mapping[str, ColumnElement[object]] = dict(self.rows.c)

    def bind(self, keys: Collection[tuple[object, ...]]) -> dict[str, list[object]]:
        """Return the parameters of a query with these keys, whose members are in the order of the columns."""
        return {f"all_{name}": [key[place] for key in keys] for place, name in enumerate(self.c)}
