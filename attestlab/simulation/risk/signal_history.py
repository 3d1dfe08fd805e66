"""The history to decide again: a tenant's signals with the attributes that rules use, and their labels.

The windows are exact and look back only. The rows before a window ends are counted by its time, and frames of rows
select the rest, so signals of one moment follow each other in the order of their numbers.

A signal has the label of the case that it opened or joined; else of its entity's case that was open when it occurred.
A signal that replaced another (an event normalized again) stands for it, and takes over its case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

import duckdb
import pyarrow as pa

from attestlab.core.errors import ValidationFailed
from attestlab.policy.sql.compiler import literal, quote_column
from attestlab.risk.enforcement.store import RiskCaseRecord
from attestlab.risk.rules import CaseOutcome
from attestlab.simulation.decision_queries import COUNT as WEIGHT
from attestlab.simulation.decision_queries import EXAMPLE
from attestlab.simulation.query_session import QuerySession
from attestlab.simulation.risk.rule_sets import (
    COUNT,
    ENTITY_TYPE,
    IS_FRAUD,
    MAX_LOOK_BACK_S,
    MAXIMUM,
    SCORE,
    SIGNAL_TYPE,
    SINCE_PREVIOUS,
    SOURCE,
    SOURCES,
    LookBack,
    list_look_backs,
)

MAX_SIGNALS = 2_000_000  # that one simulation reads, those before its window among them
LABEL, CASE = '"@label"', '"@case"'
OPEN, NO_CASE = "open", "none"
LABELS = (*CaseOutcome, OPEN, NO_CASE)
REPLAYED = "replayed"
_TRUTH = quote_column(IS_FRAUD.path)
_SO_FAR = "WINDOW so_far AS (PARTITION BY entity ORDER BY us, seq)"
_CASE_FIELDS = pa.schema(
    {
        "number": pa.int64(),
        "case_id": pa.string(),
        "entity_type": pa.string(),
        "entity_id": pa.string(),
        "label": pa.string(),
        "opened_us": pa.int64(),
        "resolved_us": pa.int64(),
    }
)
_NEVER = (1 << 63) - 1
_US = 1_000_000  # microseconds in a second
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class SignalWindow(NamedTuple):
    """The signals to replay: those that occurred at or after `start` and before `end`; None is unbounded."""

    start: datetime | None = None
    end: datetime | None = None


def encode_cases(rows: Iterable[RiskCaseRecord], *, now: datetime) -> pa.Table:
    """Return cases as a table with the label that each gives to its signals; none while its outcome can be undone."""
    encoded = [
        (
            number,
            str(row.id),
            row.entity_type,
            row.entity_id,
            (row.outcome or OPEN) if row.label_at is None or row.label_at <= now else OPEN,
            _to_us(row.opened_at),
            _NEVER if row.resolved_at is None else _to_us(row.resolved_at),
        )
        for number, row in enumerate(rows)
    ]
    columns = list(zip(*encoded, strict=True)) or [()] * len(_CASE_FIELDS)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _CASE_FIELDS, strict=True)]
    return pa.table(arrays, schema=_CASE_FIELDS)


def load_signals(cases: pa.Table, window: SignalWindow, session: QuerySession, paths: Collection[str]) -> None:
    """Create `replayed`: the signals of the window with attributes and labels; and `contexts`, those with a label.

    Each step makes a table from the one before and drops that, so memory holds two of them at most.

    Raises:
        ValidationFailed: there are too many signals.
        Cancelled, Unavailable: see `QuerySession.run`.
    """
    with session.steps(12):
        has_replacements = _count_signals(session, window)
        session.with_connection(lambda connection: _register_cases(connection, cases))
        session.run(f"CREATE TABLE read_signals AS {_read_query(window, paths, has_replacements=has_replacements)}")
        session.run(f"CREATE TABLE entities AS {_ENTITIES}")
        session.run(f"CREATE TABLE coded AS {_coded_query(paths)}")
        session.run("DROP TABLE read_signals")
        session.run(f"CREATE TABLE labelled AS {_LABELLED}")
        session.run("DROP TABLE coded")
        session.run(f"CREATE TABLE sized AS {_sized_query(paths)}")
        session.run("DROP TABLE labelled")
        session.run(f"CREATE TABLE {REPLAYED} AS {_replayed_query(window, paths)}")
        session.run("DROP TABLE sized")
        session.run(f"CREATE VIEW contexts AS SELECT * FROM {REPLAYED} WHERE {_TRUTH} IS NOT NULL")


def _count_signals(session: QuerySession, window: SignalWindow) -> bool:
    """Require few signals; return whether some replace others."""
    ((count, replacing),) = session.run(f"SELECT count(*), count(replaces) FROM this WHERE {_time_condition(window)}")
    if count > MAX_SIGNALS:
        raise ValidationFailed.of(
            "/from",
            "too_many_signals",
            f"The window and the 7 days before it have {count:,} signals, and at most {MAX_SIGNALS:,} are replayed. "
            "Narrow it by from and to.",
        )
    return bool(replacing)


def _register_cases(connection: duckdb.DuckDBPyConnection, cases: pa.Table) -> None:
    connection.register("cases", cases)


def _read_query(window: SignalWindow, paths: Collection[str], *, has_replacements: bool) -> str:
    """Return the signals that no other replaces, from the longest window before the start."""
    columns = ", ".join(["seq", "score", "entity_type", "entity_id", *_texts(paths), "epoch_us(occurred_at) AS us"])
    read = f"FROM this WHERE {_time_condition(window)}"
    if not has_replacements:
        return f"SELECT {columns}, case_id {read}"
    return (
        f"WITH raw AS MATERIALIZED (SELECT {columns}, id, case_id, replaces {read}) "
        "SELECT raw.* EXCLUDE (id, case_id, replaces), coalesce(raw.case_id, earlier.case_id) AS case_id FROM raw "
        "LEFT JOIN (SELECT id, case_id FROM raw WHERE case_id IS NOT NULL) AS earlier ON earlier.id = raw.replaces "
        "ANTI JOIN (SELECT replaces FROM raw) AS later ON later.replaces = raw.id"
    )


_ENTITIES = (
    "SELECT entity_type, entity_id, (row_number() OVER ())::INTEGER AS entity "
    "FROM (SELECT DISTINCT entity_type, entity_id FROM read_signals)"
)


def _coded_query(paths: Collection[str]) -> str:
    """Return the signals with a number in place of their entity, and with the case that they joined."""
    kinds = ["entity_type"] if ENTITY_TYPE in paths else []
    columns = ", ".join(["seq", "us", "score", "entity", *_texts(paths), *kinds, "cases.number AS joined"])
    return (
        f"SELECT {columns} FROM read_signals AS s JOIN entities USING (entity_type, entity_id) "
        "LEFT JOIN cases ON cases.case_id = s.case_id"
    )


_LABELLED = (
    "SELECT s.* EXCLUDE (joined), coalesce(s.joined, CASE WHEN s.us <= timely.resolved_us THEN timely.number END) "
    "AS number FROM coded AS s ASOF LEFT JOIN (SELECT entity, opened_us, resolved_us, number FROM cases "
    "JOIN entities USING (entity_type, entity_id)) AS timely ON timely.entity = s.entity AND timely.opened_us <= s.us"
)


def _sized_query(paths: Collection[str]) -> str:
    """Return the signals with the number of signals in each window: all so far, without those before the window."""
    sizes = [
        f"row_number() OVER so_far - count(*) OVER (PARTITION BY entity ORDER BY us RANGE BETWEEN UNBOUNDED PRECEDING "
        f"AND {each.seconds * _US} PRECEDING) AS n_{each.name}"
        for each in list_look_backs(paths)
    ]
    since = ["us - lag(us) OVER so_far AS since_us"] if SINCE_PREVIOUS in paths else []
    return f"SELECT {', '.join(['*', *sizes, *since])} FROM labelled {_SO_FAR}"


def _replayed_query(window: SignalWindow, paths: Collection[str]) -> str:
    """Return the query of the table: the columns of a policy simulation's contexts, with label and case."""
    values = {
        SCORE: "score",
        SOURCE: "source",
        SIGNAL_TYPE: "signal_type",
        ENTITY_TYPE: "entity_type",
        SINCE_PREVIOUS: f"CASE WHEN since_us < {MAX_LOOK_BACK_S * _US} THEN since_us / 1e6 END",
    }
    for look_back in list_look_backs(paths):
        values |= _window_values(look_back)
    listed = ", ".join(f"{text} AS {quote_column(path)}" for path, text in values.items() if path in paths)
    inside = f"SELECT seq, us, number, {listed} FROM sized {_SO_FAR}"
    start = f" WHERE us >= {_to_us(window.start)}" if window.start is not None else ""
    label = f"coalesce(cases.label, {literal(NO_CASE)})"
    return (
        f"SELECT 1::BIGINT AS {WEIGHT}, seq AS {EXAMPLE}, s.* EXCLUDE (seq, us, number), {label} AS {LABEL}, "
        f"number AS {CASE}, {_is_fraud('cases.label')} AS {_TRUTH} "
        f"FROM ({inside}) AS s LEFT JOIN cases USING (number){start}"
    )


def _window_values(look_back: LookBack) -> dict[str, str]:
    """Return the attributes of one window; its frame has as many rows as the window holds."""
    count = f"n_{look_back.name}"
    frame = f"(so_far ROWS BETWEEN {count} - 1 PRECEDING AND CURRENT ROW)"
    return {
        COUNT + look_back.name: count,
        MAXIMUM + look_back.name: f"max(score) OVER {frame}",
        SOURCES + look_back.name: f"count(DISTINCT source) OVER {frame}",
    }


def _texts(paths: Collection[str]) -> list[str]:
    """Return the columns of texts that attributes need; others are not read."""
    needs_source = SOURCE in paths or any(path.startswith(SOURCES) for path in paths)
    return [*(["source"] if needs_source else []), *(["signal_type"] if SIGNAL_TYPE in paths else [])]


def _is_fraud(label: str) -> str:
    """Return the label as a BOOLEAN; NULL if it says nothing."""
    fraud, legitimate = literal(CaseOutcome.FRAUD.value), literal(CaseOutcome.LEGITIMATE.value)
    return f"CASE {label} WHEN {fraud} THEN TRUE WHEN {legitimate} THEN FALSE END"


def _time_condition(window: SignalWindow) -> str:
    """Return the condition of the signals that are read: those of the window, and of 7 days before it."""
    bounds = []
    if window.start is not None:
        bounds.append(f"occurred_at >= {_moment(window.start)} - INTERVAL {MAX_LOOK_BACK_S} SECOND")
    if window.end is not None:
        bounds.append(f"occurred_at < {_moment(window.end)}")
    return " AND ".join(bounds) or "TRUE"


def _moment(moment: datetime) -> str:
    return f"{literal(moment.isoformat())}::TIMESTAMPTZ"


def _to_us(moment: datetime) -> int:
    """Return the microseconds since 1970."""
    return (moment - _EPOCH) // timedelta(microseconds=1)
