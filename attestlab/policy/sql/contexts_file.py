"""A Parquet file (or pattern) of typed contexts for DuckDB: one column per attribute, and each row's number.

A tenant can give an attribute any name. In exported decisions, the column of an attribute whose name equals a decision
column has the prefix `@`; and DuckDB's row number is renamed if an attribute has its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from attestlab.core import parquet_digest
from attestlab.core.errors import ValidationFailed
from attestlab.policy.sql.compiler import literal, quote_column, quote_identifier

ROW = '"@row"'
"""The number of a row in its file, from 0."""

_DECISION_COLUMN_NAMES = (
    "seq id tenant_id created_at action target_type target_id allowed matched_rules policy_set_digest members"
)
DECISION_COLUMNS = frozenset([*_DECISION_COLUMN_NAMES.split(), "input_sha256"])
"""The columns of exported decisions other than their contexts; none of them is an attribute."""

_COLLISION_PREFIX = "@"  # no path begins with it
_NUMBER, _RENAMED_NUMBER = "file_row_number", "@@file_row_number"


@dataclass(frozen=True)
class ContextsFile:
    """The file, whose schema is read once: `names` are its columns."""

    path: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection, path: str) -> ContextsFile:
        """Read the schema alone; a folder is rejected, because DuckDB would read all files below it.

        Raises:
            ValidationFailed: the file does not exist, is not Parquet, or is damaged.
        """
        if not path or Path(path).is_dir():
            raise _unreadable_file(path, "is a folder" if path else "names no file")
        try:
            described = connection.execute(f"DESCRIBE SELECT * FROM read_parquet({literal(path)})").fetchall()
        except duckdb.Error as error:
            raise _unreadable_file(path, "cannot be read") from error
        _require_intact(connection, path)
        return cls(path, tuple(str(name) for name, *_ in described))

    def rows(self, attributes: Iterable[str]) -> str:
        """Return a query with `@row` and, by path, each of the attributes that has a column."""
        found = {path: self._column_of(path) for path in sorted(attributes)}
        listed = [f"{name} AS {quote_column(path)}" for path, name in found.items() if name is not None]
        return f"SELECT {', '.join([f'{_NUMBER} AS {ROW}', *listed])} FROM {self._reading}"

    def _column_of(self, path: str) -> str | None:
        if _COLLISION_PREFIX + path in self.names:
            return quote_column(path, prefix=_COLLISION_PREFIX)
        is_of_a_decision = path in DECISION_COLUMNS and set(self.names) >= DECISION_COLUMNS
        if path not in self.names or is_of_a_decision:
            return None
        return quote_identifier(_RENAMED_NUMBER) if path == _NUMBER else quote_column(path)

    @property
    def _reading(self) -> str:
        """Return the FROM expression. A column named like DuckDB's row number (in any case) would hide it, so it is
        renamed.
        """
        reading = f"read_parquet({literal(self.path)})"
        if _NUMBER not in map(str.lower, self.names):
            return reading
        names = [_RENAMED_NUMBER if name.lower() == _NUMBER else name for name in self.names]
        return f"{reading} AS contexts({', '.join(map(quote_identifier, names))})"


def _require_intact(connection: duckdb.DuckDBPyConnection, path: str) -> None:
    """Reject a damaged file, whose rows DuckDB would read. A file without a digest cannot be checked."""
    for (name,) in connection.execute(f"SELECT file FROM glob({literal(path)})").fetchall():
        try:
            is_damaged = parquet_digest.is_intact(Path(name)) is False
        except OSError as error:
            raise _unreadable_file(name, "cannot be read") from error
        if is_damaged:
            raise _unreadable_file(name, "is damaged: its SHA-256 differs from the one it was written with")


def _unreadable_file(path: str, why: str) -> ValidationFailed:
    message = f"{path!r} {why}; `contexts` must be a Parquet file, or a pattern that matches some."
    return ValidationFailed.of("/contexts", "not_readable", message)
