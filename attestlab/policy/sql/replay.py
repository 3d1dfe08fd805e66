"""Replays a policy over a history: millions of typed contexts in Parquet, decided by DuckDB.

One column per attribute, named by its path; an absent column is missing in every row. The normalization of contexts is
applied to columns: other spellings of an enum's value are folded, values out of the domain are missing. DuckDB is
loaded with this module, and this module by the first replay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from os import PathLike, cpu_count, fspath
from typing import TYPE_CHECKING

import duckdb

from attestlab.core.errors import ValidationFailed
from attestlab.core.strict_json import MAX_SAFE_INTEGER
from attestlab.policy.language.ast import Policy, iterate_comparisons
from attestlab.policy.language.attributes import NUMERIC, Attribute, AttributeType, ValueProblem
from attestlab.policy.sql.compiler import COLUMN_TYPES, WORD_BITS, decided_sql, literal, mask_sql, quote_column
from attestlab.policy.sql.contexts_file import ROW, ContextsFile

if TYPE_CHECKING:
    import pandas as pd

MEMORY_LIMIT = "384MB"  # of DuckDB's buffers; Python, its libraries and the allocator's reserve come on top
MAX_ENUM_SPELLINGS = 10_000  # of one enum in one file; a column with more is not an enum
# Measured at 10 M rows and 32,000 distinct contexts: a policy of 40 leaves is decided row by row in less time than it
# takes to count the contexts, a policy of 400 takes nine times as long row by row as by distinct contexts.
_MIN_LEAVES_TO_GROUP = 60  # leaves
_MIN_ROWS_PER_CONTEXT = 50  # distinct contexts are decided if there are this many times fewer of them
_COUNT, _HASH = '"@n"', '"@hash"'  # no path begins with @, so they cannot collide with an attribute


class ReplayRoute(StrEnum):
    """The execution strategy of a replay; the result is the same."""

    ROWS = "rows"
    DISTINCT = "distinct"


@dataclass(frozen=True, slots=True)
class DecisionGroup:
    """The rows on which the same rules match: `matched` are the enforced ones, the deciding one first."""

    allowed: bool
    matched: tuple[str, ...]
    count: int


def replay(
    policy: Policy, contexts: str | PathLike[str], *, route: ReplayRoute | None = None, threads: int | None = None
) -> Replay:
    """Decide every row of the Parquet file (or glob) `contexts`; only columns that the policy uses are read.

    Without a `route`, one is chosen when rows are first requested: by the number of leaves, and an estimate of the
    number of distinct contexts. `groups` needs none.

    Raises:
        ValidationFailed: the file cannot be read; a column has a type that does not fit its attribute, or is not an
            enum.
    """
    connection = duckdb.connect(config={"memory_limit": MEMORY_LIMIT, "threads": threads or cpu_count() or 1})
    connection.execute("SET preserve_insertion_order = false")  # rows carry their number; order costs memory
    # In the written order a join keeps the distinct contexts in memory; optimized, it would keep the rows, in 400 MB.
    connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
    return Replay(policy, fspath(contexts), connection, route)


class Replay:
    """The decisions of one policy on one file; reads no row until rows are requested.

    `sql` computes them: a row has `row` (its number in its file, from 0), `allowed` (BOOLEAN), `matched_0`...
    (UBIGINT: bit i of word w is the enforced rule `64 * w + i` in decision order) and, if there are rules in MONITOR
    mode, `monitored_0`... in the same form.
    """

    def __init__(
        self, policy: Policy, path: str, connection: duckdb.DuckDBPyConnection, route: ReplayRoute | None = None
    ) -> None:
        self.policy = policy
        self.rules = [rule.id for rule in policy.enforced_rules]
        self.monitored = [rule.id for rule in policy.rules if not rule.is_enforced]
        self.connection = connection
        self._rows = f"({ContextsFile.of(connection, path).rows(policy.attributes())})"
        self._columns = typed_columns(connection, policy.attributes(), self._rows)
        self._wanted = route

    @cached_property
    def route(self) -> ReplayRoute:
        """The execution strategy."""
        return self._wanted or self._choose_route()

    @cached_property
    def sql(self) -> str:
        """The query; any DuckDB can run it on the same file."""
        names = ", ".join([f"{ROW} AS row", *self._words])
        if self.route is ReplayRoute.ROWS:
            masked = f"SELECT {ROW} AS row, {self._masks} FROM ({self._source(ROW)})"
            return f"SELECT row, {self._decided_sql} FROM ({masked})"
        return (
            f"WITH d AS MATERIALIZED ({self._distinct}) "
            f"SELECT {names}, allowed FROM (SELECT {ROW}, {self._hash} FROM ({self._source(ROW)})) "
            f"JOIN d USING ({_HASH})"
        )

    def rel(self) -> duckdb.DuckDBPyRelation:
        """Return the decisions as a lazy relation."""
        return self.connection.sql(self.sql)

    def df(self) -> pd.DataFrame:
        """Return the decisions as a data frame in memory: nine bytes per row and 64 rules."""
        return self.rel().order("row").df()

    def write(self, path: str | PathLike[str]) -> int:
        """Write the decisions as Parquet in bounded memory; return their number."""
        self.connection.execute(f"COPY ({self.sql}) TO {literal(fspath(path))} (FORMAT parquet)")
        found = self.connection.execute("SELECT count(*) FROM read_parquet(?)", [fspath(path)]).fetchall()
        return int(found[0][0])

    def groups(self) -> list[DecisionGroup]:
        """Count the rows for each set of matching rules, the largest group first."""
        words = [word for word in self._words if word.startswith("matched")]
        keys = ", ".join(["allowed", *words])
        rows = self.connection.execute(
            f"SELECT {keys}, sum(n)::BIGINT AS n FROM ({self._count_sql}) GROUP BY ALL ORDER BY n DESC, {keys}"
        ).fetchall()
        return [
            DecisionGroup(allowed, tuple(_decode_mask(found, self.rules)), count) for allowed, *found, count in rows
        ]

    @property
    def _count_sql(self) -> str:
        rows, distinct = self._measure
        if rows > _MIN_ROWS_PER_CONTEXT * distinct:
            grouped = f"SELECT count(*) AS {_COUNT}, {self._names} FROM ({self._source()}) GROUP BY ALL"
        else:
            grouped = self._source(f"1 AS {_COUNT}")
        return f"SELECT n, {self._decided_sql} FROM (SELECT {_COUNT} AS n, {self._masks} FROM ({grouped}))"

    @property
    def _words(self) -> list[str]:
        """The names of the mask's columns."""
        counts = {"matched": len(self.rules), "monitored": len(self.monitored)}
        return [f"{kind}_{index}" for kind, count in counts.items() for index in range(-(-count // WORD_BITS))]

    @property
    def _masks(self) -> str:
        watched = [rule for rule in self.policy.rules if not rule.is_enforced]
        masks = [*mask_sql(self.policy.enforced_rules), *mask_sql(watched)]
        return ", ".join([f"{mask} AS {name}" for mask, name in zip(masks, self._words, strict=True)] or ["0 AS none"])

    @property
    def _decided_sql(self) -> str:
        matched = [word for word in self._words if word.startswith("matched")]
        return ", ".join([*self._words, f"{decided_sql(self.policy, matched)} AS allowed"])

    @property
    def _names(self) -> str:
        return ", ".join(map(quote_column, self._columns)) or "0 AS nothing"

    @property
    def _hash(self) -> str:
        return f"hash({', '.join(map(quote_column, self._columns)) or '0'}) AS {_HASH}"

    @property
    def _distinct(self) -> str:
        """The query that decides distinct contexts, which are joined by hash; `_choose_route` uses this route only if
        hashes are unique.
        """
        inner = f"SELECT {_HASH}, {self._masks} FROM (SELECT *, {self._hash} FROM ({self._distinct_contexts}))"
        return f"SELECT {_HASH}, {self._decided_sql} FROM ({inner})"

    @property
    def _distinct_contexts(self) -> str:
        return f"SELECT DISTINCT {self._names} FROM ({self._source()})"

    def _source(self, *more: str) -> str:
        typed = [f"{expression} AS {quote_column(path)}" for path, expression in self._columns.items()]
        return f"SELECT {', '.join([*more, *typed]) or '0 AS nothing'} FROM {self._rows}"

    @cached_property
    def _measure(self) -> tuple[int, int]:
        """The number of rows, and an estimate of the number of distinct contexts."""
        found = self.connection.execute(
            f"SELECT count(*), approx_count_distinct(hash({self._names.replace('0 AS nothing', '0')})) "
            f"FROM ({self._source()})"
        ).fetchall()
        return found[0]

    def _choose_route(self) -> ReplayRoute:
        """Choose distinct contexts if they are few, leaves are many, and no two contexts have the same hash."""
        asked = sum(1 for rule in self.policy.rules for _ in iterate_comparisons(rule.when))
        if asked < _MIN_LEAVES_TO_GROUP:
            return ReplayRoute.ROWS
        rows, distinct = self._measure
        if rows < _MIN_ROWS_PER_CONTEXT * distinct or not self._hash_tells_apart():
            return ReplayRoute.ROWS
        return ReplayRoute.DISTINCT

    def _hash_tells_apart(self) -> bool:
        found = self.connection.execute(
            f"SELECT count(*) = count(DISTINCT {_HASH}) FROM (SELECT {self._hash} FROM ({self._distinct_contexts}))"
        ).fetchall()
        return bool(found[0][0])


def _decode_mask(words: list[int], names: list[str]) -> Iterator[str]:
    for index, word in enumerate(words):
        for bit in range(WORD_BITS):
            if word >> bit & 1:
                yield names[index * WORD_BITS + bit]


def typed_columns(
    connection: duckdb.DuckDBPyConnection, attributes: Mapping[str, Attribute], source: str
) -> dict[str, str]:
    """Return for each attribute the typed expression that reads it from `source`; NULL for an absent column.

    `source` follows FROM; it has one column per attribute, named by its path.

    Raises:
        ValidationFailed: a column has a type that does not fit its attribute, or is not an enum.
    """
    described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
    types = {str(name): str(kind) for name, kind, *_ in described}
    typed = {}
    for name, attribute in sorted(attributes.items()):
        if name not in types:
            typed[name] = f"NULL::{COLUMN_TYPES[attribute.type]}"
            continue
        _require_column_type(attribute, types[name])
        typed[name] = _column_expression(connection, attribute, source)
    return typed


_ACCEPTED_TYPES: dict[AttributeType, tuple[str, ...]] = {
    AttributeType.ENUM: ("VARCHAR", "ENUM"),
    AttributeType.TEXT: ("VARCHAR", "ENUM"),
    AttributeType.NUMBER: ("DOUBLE", "FLOAT", "DECIMAL", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "U", "HUGEINT"),
    AttributeType.INTEGER: ("DOUBLE", "FLOAT", "DECIMAL", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "U", "HUGEINT"),
    AttributeType.BOOLEAN: ("BOOLEAN",),
}


def _require_column_type(attribute: Attribute, found: str) -> None:
    is_fitting = (
        found.startswith(_ACCEPTED_TYPES[attribute.type]) and found not in {"UUID", "UNION"} and "[" not in found
    )
    if not is_fitting and found != '"NULL"':
        raise ValidationFailed(
            f"The column {attribute.path} is {found}; write it as {COLUMN_TYPES[attribute.type]}, NULL for missing."
        )


def _column_expression(connection: duckdb.DuckDBPyConnection, attribute: Attribute, source: str) -> str:
    name = quote_column(attribute.path)
    if attribute.type is AttributeType.ENUM:
        return _fold_spellings(connection, attribute, source)
    if attribute.type in NUMERIC:
        return _bound_number(attribute, name)
    if attribute.type is AttributeType.TEXT:
        return f"CASE WHEN length({name}) <= 1024 AND NOT contains({name}, chr(0)) THEN {name}::VARCHAR END"
    return name


def _fold_spellings(connection: duckdb.DuckDBPyConnection, attribute: Attribute, source: str) -> str:
    """Return the column itself if all values have the registry's spelling; else a CASE with the other spellings."""
    name = quote_column(attribute.path)
    rows = connection.execute(
        f"SELECT DISTINCT {name}::VARCHAR FROM {source} WHERE {name} IS NOT NULL LIMIT {MAX_ENUM_SPELLINGS + 1}"
    ).fetchall()
    if len(rows) > MAX_ENUM_SPELLINGS:
        raise ValidationFailed(
            f"The column {attribute.path} has over {MAX_ENUM_SPELLINGS:,} spellings; it is not an enum."
        )
    read = {spelling: attribute.parse(spelling) for (spelling,) in rows}
    other = {spelling: value for spelling, value in read.items() if value != spelling}
    if not other:
        return f"{name}::VARCHAR"
    whens = " ".join(
        f"WHEN {literal(spelling)} THEN {'NULL' if isinstance(value, ValueProblem) else literal(value)}"
        for spelling, value in other.items()
    )
    return f"CASE {name}::VARCHAR {whens} ELSE {name}::VARCHAR END"


def _bound_number(attribute: Attribute, name: str) -> str:
    """Return a number in its domain, else NULL; DuckDB orders NaN above every number, so it is outside."""
    is_whole = attribute.type is AttributeType.INTEGER
    widest = float(MAX_SAFE_INTEGER) if is_whole else 1.7976931348623157e308
    least = max(-widest, -widest if attribute.least is None else attribute.least)
    most = min(widest, widest if attribute.most is None else attribute.most)
    value = f"{name}::DOUBLE"
    within = f"{value} BETWEEN {literal(float(least))} AND {literal(float(most))}"
    if is_whole:
        return f"CASE WHEN {within} AND {value} = floor({value}) THEN {value}::BIGINT END"
    return f"CASE WHEN {within} THEN {value} END"
