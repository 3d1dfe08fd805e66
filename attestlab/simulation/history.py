"""The history to decide again: the decisions of one tenant, or a Parquet file of typed contexts.

Rows remain typed columns in DuckDB; no row becomes a Python object. If there are few distinct contexts, they are
cached in memory with their counts, and all later queries read only these; otherwise each query reads the rows again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

import duckdb

from attestlab.issuers.rules import KeyStatus
from attestlab.lake import context_columns
from attestlab.lake.sealed_connections import measure_progress
from attestlab.policy.language.attributes import Attribute, AttributeType
from attestlab.policy.language.document import Category
from attestlab.policy.sql import contexts_file
from attestlab.policy.sql.compiler import literal, quote_column
from attestlab.policy.sql.replay import typed_columns
from attestlab.simulation.decision_queries import COUNT, EXAMPLE, PLACE
from attestlab.simulation.query_session import QuerySession
from attestlab.simulation.scenarios import Target, TargetSets

NUMBER, ID, TARGET = '"@number"', '"@id"', '"@target_id"'
RETYPED = '"@retyped"'
HISTORY = {
    '"@set"': "policy_set_digest",
    '"@members"': "members",
    '"@allowed"': "allowed",
    '"@matched"': "matched_rules",
}
FIRST_MINT_NUMBER = 1 << 52  # longer than any audit trail, so that examples prefer decisions to mints
AT_MINT = {
    "jurisdiction": "snapshot_jurisdiction",
    "trust_tier": "snapshot_trust_tier",
    "status": "snapshot_status",
    "risk_rating": "snapshot_risk_rating",
    "key.age_days": (  # CASE, because `greatest` ignores NULL and would return age 0 for an unknown key
        "CASE WHEN key_created_at IS NOT NULL THEN greatest(datesub('day', key_created_at, created_at), 0)::DOUBLE END"
    ),
    "key.status": literal(KeyStatus.ACTIVE.value),
}
"""The mint context of `attestations.policy_context`, in columns of the lake's attestations."""

MEMORY_LIMIT = "1GB"
MIN_ROWS_PER_CONTEXT = 4  # distinct contexts are cached if there are this many times fewer of them than rows
MAX_CACHED_CONTEXTS = 1_000_000  # this many take some 50 MiB, and a few times as much during grouping
TARGET_SEGMENT = "target_id"

Attributes = Mapping[str, Attribute]


class History(Protocol):
    """The source of the rows."""

    has_history: bool

    def raw(self, connection: duckdb.DuckDBPyConnection, attributes: Attributes) -> str:
        """Return a query with `@number`, and each existing attribute by its path."""
        ...


@dataclass(frozen=True)
class DecisionHistory:
    """A tenant's decisions as the lake's view shows them, of one action and window (`start` <= time < `end`).

    `target` None takes those of every target. Mints without a decision are included too: no policy applied to them, so
    they have the issuer's and key's attributes of that time. Their numbers begin at `FIRST_MINT_NUMBER`, and their id
    is the attestation's.
    """

    action: str
    target: Target | None
    start: datetime | None = None
    end: datetime | None = None
    has_history = True

    def raw(self, connection: duckdb.DuckDBPyConnection, attributes: Attributes) -> str:
        """Return also the decision's id and target, its recorded result, and whether a value has another kind."""
        names = [str(name) for name, *_ in connection.execute("DESCRIBE SELECT * FROM decided").fetchall()]
        columns = {NUMBER: "seq", ID: "id", TARGET: "target_id", **HISTORY}
        retyped_conditions = []
        for path, attribute in sorted(attributes.items()):
            columns[quote_column(path)], others = context_columns.select_recorded(attribute, names)
            retyped_conditions += [f"{other} IS NOT NULL" for other in others]
        columns[RETYPED] = " OR ".join(retyped_conditions) or "FALSE"
        conditions = [f"action = {literal(self.action)}", *self._window()]
        if self.target is not None:
            conditions += [f"target_type = {literal(self.target.type)}", f"target_id = {literal(str(self.target.id))}"]
        decisions = f"SELECT {_select_list(columns)} FROM decided WHERE {' AND '.join(conditions)}"
        return (
            f"{decisions} UNION ALL {self._mints_without_decision(attributes)}"
            if self.action == Category.MINT
            else decisions
        )

    def _mints_without_decision(self, attributes: Attributes) -> str:
        """Return the mints without a decision, with the columns of the others."""
        columns = {
            NUMBER: f"{FIRST_MINT_NUMBER} + log_index",
            ID: "id",
            TARGET: "issuer_id",
            **dict.fromkeys(HISTORY, "NULL"),
        }
        for path, attribute in sorted(attributes.items()):
            columns[quote_column(path)] = AT_MINT.get(path) or context_columns.select_recorded(attribute, ())[0]
        columns[RETYPED] = "FALSE"
        conditions = ["decision_id IS NULL", *self._window()]
        if self.target is not None:
            conditions.append(f"issuer_id = {literal(str(self.target.id))}")
        return f"SELECT {_select_list(columns)} FROM minted WHERE {' AND '.join(conditions)}"

    @property
    def without_window(self) -> DecisionHistory:
        """The same history without a window."""
        return replace(self, start=None, end=None)

    def _window(self) -> list[str]:
        bounds = {">=": self.start, "<": self.end}
        return [
            f"created_at {sign} {literal(moment.isoformat())}::TIMESTAMPTZ"
            for sign, moment in bounds.items()
            if moment is not None
        ]


def _select_list(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{source} AS {name}" for name, source in columns.items())


@dataclass(frozen=True)
class ContextsHistory:
    """A Parquet file (or glob) with one column per attribute, without decisions; `policy.sql.replay` reads it."""

    path: str
    has_history = False

    def raw(self, connection: duckdb.DuckDBPyConnection, attributes: Attributes) -> str:
        """Return the columns of the attributes that the file has.

        Raises:
            ValidationFailed: the file does not exist, or is not Parquet.
        """
        rows = contexts_file.ContextsFile.of(connection, self.path).rows(attributes)
        columns = {NUMBER: contexts_file.ROW, ID: "NULL::VARCHAR", TARGET: "NULL::VARCHAR", RETYPED: "FALSE"}
        return f"SELECT * EXCLUDE ({contexts_file.ROW}), {_select_list(columns)} FROM ({rows})"


def open_connection() -> duckdb.DuckDBPyConnection:
    """Open a connection that can read files, for local Python callers, and measures the progress of queries."""
    connection = duckdb.connect(config={"memory_limit": MEMORY_LIMIT})
    measure_progress(connection)
    return connection


def typed_query(
    session: QuerySession, history: History, attributes: Attributes, known_expressions: dict[str, str]
) -> str:
    """Return a query with every attribute as a policy would see it today, in addition to the columns of `raw`.

    `@retyped` marks rows with a value that means something else than when it was recorded. `known_expressions` caches
    expressions by path, so that columns are examined once.

    Raises:
        ValidationFailed: a column of a file does not fit its attribute.
    """
    raw = session.with_connection(lambda connection: history.raw(connection, attributes))
    new = {path: attribute for path, attribute in attributes.items() if path not in known_expressions}
    known_expressions |= session.with_connection(lambda connection: typed_columns(connection, new, f"({raw})"))
    expressions = {path: known_expressions[path] for path in sorted(attributes)}
    internal = [NUMBER, ID, TARGET, *(HISTORY if history.has_history else ())]
    changed = [RETYPED]
    if history.has_history:
        changed += [f"{quote_column(path)} IS DISTINCT FROM {expression}" for path, expression in expressions.items()]
    listed = [*internal, f"({' OR '.join(changed)}) AS {RETYPED}"]
    listed += [f"{expression} AS {quote_column(path)}" for path, expression in expressions.items()]
    return f"SELECT {', '.join(listed)} FROM ({raw})"


def materialize_contexts(
    session: QuerySession, rows: str, segments: Sequence[str], attributes: Attributes, places: Sequence[TargetSets]
) -> bool:
    """Create `contexts`: the number of rows of each context and target, and the first row; return whether it is
    cached.

    It is a table of the distinct contexts if they are few, else a view of the rows. In the table enums have DuckDB's
    type, which compares four times as fast as texts. `segments` are additional internal columns.
    """
    paths = [quote_column(path) for path in sorted(attributes)]
    keys = ", ".join([PLACE, *segments, *paths])
    placed = f"SELECT *, {_place_sql(places)} AS {PLACE} FROM ({rows})"
    ((count, distinct),) = session.run(f"SELECT count(*), approx_count_distinct(hash({keys})) FROM ({placed})")
    is_cached = bool(count >= MIN_ROWS_PER_CONTEXT * distinct or distinct <= MAX_CACHED_CONTEXTS)
    if is_cached:
        grouped = f"SELECT count(*)::BIGINT AS {COUNT}, min({NUMBER}) AS {EXAMPLE}, {keys} FROM ({placed}) GROUP BY ALL"
        listed = [
            COUNT,
            EXAMPLE,
            PLACE,
            *segments,
            *(_stored_column(path, attributes[path]) for path in sorted(attributes)),
        ]
        session.run(f"CREATE OR REPLACE TABLE distinct_contexts AS SELECT {', '.join(listed)} FROM ({grouped})")
        session.run("CREATE OR REPLACE VIEW contexts AS FROM distinct_contexts")
    else:
        each = f"SELECT 1::BIGINT AS {COUNT}, {NUMBER} AS {EXAMPLE}, {keys} FROM ({placed})"
        session.run(f"CREATE OR REPLACE VIEW contexts AS {each}")
    return is_cached


def _stored_column(path: str, attribute: Attribute) -> str:
    """Return a column as it is cached; each constant that a rule compares an enum with is one of its values."""
    if attribute.type is not AttributeType.ENUM:
        return quote_column(path)
    return f"{quote_column(path)}::ENUM({', '.join(map(literal, attribute.values))}) AS {quote_column(path)}"


def _place_sql(places: Sequence[TargetSets]) -> str:
    named = [(number, place.target) for number, place in enumerate(places) if place.target is not None]
    whens = " ".join(f"WHEN {literal(str(target.id))} THEN {number}" for number, target in named)
    return f"(CASE {TARGET} {whens} ELSE 0 END)::INTEGER" if whens else "0::INTEGER"
