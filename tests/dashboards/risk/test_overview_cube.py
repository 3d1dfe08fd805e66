"""The figures of the overview come from a few groups of signals; each equals what the signals themselves say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attestlab.lake.current_rows import CASES
from attestlab.lake.datasets import SIGNALS
from attestlab.lake.sealed_connections import open_sealed
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.risk.density import CELLS
from attestlab_dashboards.risk.filters import IN_PERIOD, IN_RANGE, bind, conditions_of
from attestlab_dashboards.risk.overview import FACET_ROWS, NAMED_SERIES, write_overview_sql
from attestlab_dashboards.risk.state import RiskState
from attestlab_dashboards.risk.windows import find_period
from support.property_tests import examples

TENANT: Final = UUID(int=7)
NEWEST: Final = datetime(2026, 11, 2, 11, 58, tzinfo=UTC)
SOURCES: Final = tuple(f"source_{number}" for number in range(FACET_ROWS + 2))
TYPES: Final = tuple(f"type_{number}" for number in range(NAMED_SERIES + 2))
KINDS: Final = ("user", "device")
IDS: Final = ("a", "b")
SCORES: Final = (0.0, 19.9, 20.0, 50.0, 50.1, 79.99, 80.0, 100.0)

_FACETS: Final = {
    "source": "source",
    "type": "signal_type",
    "facet_kind": "entity_type",
    "score": "least(floor(score / 20), 4)::BIGINT::VARCHAR",
}
_TOTALS: Final = """count(*) AS signals, count(case_id) AS escalated,
    count(DISTINCT (entity_type, entity_id)) AS entities, median(score) AS median"""
_STEP: Final = "epoch_us(occurred_at) // $step_us::BIGINT"
_IN_WINDOW: Final = "occurred_at >= $window_start::TIMESTAMPTZ AND occurred_at < $window_end::TIMESTAMPTZ"
_BEFORE: Final = "occurred_at >= $before::TIMESTAMPTZ AND occurred_at < $start::TIMESTAMPTZ"

Rows = list[tuple[object, ...]]
Signal = dict[str, Any]


def make_signal(
    hours: int, source: str, kind: str, entity_type: str, entity_id: str, score: float, is_escalated: bool
) -> Signal:
    """A signal some hours before the newest one."""
    return {
        "occurred_at": NEWEST - timedelta(hours=hours),
        "source": source,
        "signal_type": kind,
        "entity_type": entity_type,
        "entity_id": entity_id,
        "score": score,
        "case_id": "case" if is_escalated else None,
        "details": '{"device_id":"a"}' if is_escalated else "{}",
    }


def signals() -> st.SearchStrategy[list[Signal]]:
    """Signals on few days of two windows and of few entities, so that groups have several members."""
    hours = st.builds(lambda day, hour: 24 * day + hour, st.sampled_from([0, 1, 2, 29, 30, 31, 60]), st.integers(0, 23))
    names = (st.sampled_from(each) for each in (SOURCES, TYPES, KINDS, IDS, SCORES))
    return st.lists(st.builds(make_signal, hours, *names, st.booleans()), max_size=60)


@st.composite
def states(draw: st.DrawFn) -> RiskState:
    """States of the page, with and without each filter."""
    since = draw(st.none() | st.integers(0, 3 * 24))
    low, high = sorted(draw(st.tuples(st.sampled_from([0, 20, 50]), st.sampled_from([50, 80, 100]))))
    return RiskState(
        window=draw(st.sampled_from(["24h", "7d", "30d"])),
        source=draw(st.sampled_from(["", *SOURCES[:2]])),
        type=draw(st.sampled_from(["", *TYPES[:2]])),
        kind=draw(st.sampled_from(["", *KINDS])),
        min_score=low,
        max_score=high,
        since=None if since is None else NEWEST - timedelta(hours=since, minutes=30),
        until=None if since is None else NEWEST - timedelta(hours=since) + timedelta(days=draw(st.integers(1, 9))),
        about=draw(st.sampled_from(["", "device:a"])),
        by=draw(st.sampled_from(["source", "type"])),
    )


@pytest.mark.more_in_soak
@given(rows=signals(), state=states())
@example(rows=[], state=RiskState())
@example(
    rows=[make_signal(hours, "login", "ato", "user", "a", 10.0 * hours, True) for hours in (1, 2, 5, 9)],
    state=RiskState(since=NEWEST - timedelta(hours=3), until=NEWEST),  # a part of a step
)
@settings(max_examples=examples(8, many=2_000))
def test_every_figure_is_that_of_the_signals(rows: list[Signal], state: RiskState) -> None:
    period = find_period(state.shown_window, NEWEST, state.since, state.until)

    with open_tables(rows) as connection:
        found = read_rows(connection, bind(write_overview_sql(state), state, period))
        expected = read_rows(connection, bind(write_plainly(state), state, period))

    assert sorted((row for row in found if not str(row[0]).startswith("cases")), key=repr) == sorted(expected, key=repr)


def open_tables(rows: list[Signal]) -> duckdb.DuckDBPyConnection:
    """Open the connection that a query gets, with these signals; all examples share an instance of DuckDB."""
    columns = {name: pa.array([row.get(name) for row in rows], kind) for name, kind in SIGNALS.columns.items()}
    cases = pa.schema(list(CASES.columns.items())).empty_table()
    return open_sealed({"signals": [pa.table(columns)], "cases": [cases]}, owner=TENANT)


def read_rows(connection: duckdb.DuckDBPyConnection, query: LakeQuery) -> Rows:
    """Return rows as tuples of the columns that the overview may have, None where a query has none."""
    names = ("part", "step", "name", "signals", "escalated", "entities", "median", "xs", "ys", "tops", "counts")
    found = connection.sql(query.sql, params=dict(query.parameters)).to_arrow_table().to_pylist()
    return [tuple(tuple(v) if isinstance(v := row.get(name), list) else v for name in names) for row in found]


def write_plainly(state: RiskState) -> str:
    """Return a query that counts each figure from the selected signals by a separate query."""
    chosen = f"FROM signals WHERE {conditions_of(state)}"
    queries = [
        f"SELECT 'now' AS part, {_TOTALS} {chosen} AND {IN_PERIOD} HAVING count(*) > 0",
        f"SELECT 'before' AS part, {_TOTALS} {chosen} AND {_BEFORE} HAVING count(*) > 0",
        f"SELECT 'step' AS part, {_STEP} AS step, {_TOTALS} {chosen} AND {_IN_WINDOW} GROUP BY step",
        _count_series(state, f"{chosen} AND {_IN_WINDOW}"),
        *(_count_facet(state, part) for part in _FACETS),
        f"SELECT 'cells' AS part, * FROM ({_select_cells(state)})",
    ]
    return " UNION ALL BY NAME ".join(f"({query})" for query in queries)


def _count_series(state: RiskState, chosen: str) -> str:
    column = _FACETS[state.by]
    named = f"SELECT {column} {chosen} GROUP BY {column} ORDER BY count(*) DESC, {column} LIMIT {NAMED_SERIES}"
    name = f"if({column} IN ({named}), {column}, '')"
    return f"SELECT 'series' AS part, {_STEP} AS step, {name} AS name, count(*) AS signals {chosen} GROUP BY ALL"


def _count_facet(state: RiskState, part: str) -> str:
    own = {"facet_kind": "kind"}.get(part, part)
    return f"""SELECT '{part}' AS part, {_FACETS[part]} AS name, count(*) AS signals
        FROM signals WHERE {conditions_of(state, without=[own])} AND {IN_PERIOD}
        GROUP BY name ORDER BY signals DESC, name LIMIT {FACET_ROWS}"""


def _select_cells(state: RiskState) -> str:
    base = f"(SELECT *, epoch_us(occurred_at) AS us FROM signals WHERE {IN_RANGE})"
    return CELLS.format(table=base, condition=f"{conditions_of(state, without=['score'])} AND {_IN_WINDOW}")
