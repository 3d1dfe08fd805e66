"""The filter of the list of signals as a condition of DuckDB's SQL; values are parameters."""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

from attestlab.risk.signals.store import SignalFilter

_CONDITIONS = {
    "source": "source = ?",
    "signal_type": "signal_type = ?",
    "entity_type": "entity_type = ?",
    "entity_id": "entity_id = ?",
    "min_score": "score >= ?",
    "max_score": "score <= ?",
    "since": "occurred_at >= ?",
    "until": "occurred_at < ?",
}
if undeclared := {field.name for field in fields(SignalFilter)} ^ _CONDITIONS.keys():
    raise TypeError(f"Declare the condition of each member of SignalFilter in _CONDITIONS; differing: {undeclared}.")


class SqlCondition(NamedTuple):
    """A condition, and the values of its parameters."""

    sql: str
    values: list[object]


def build_condition(filter_: SignalFilter) -> SqlCondition:
    """Return the condition of a filter; one without members holds for every signal.

    >>> build_condition(SignalFilter(source="velocity", min_score=80))
    SqlCondition(sql='source = ? AND score >= ?', values=['velocity', 80])
    >>> build_condition(SignalFilter())
    SqlCondition(sql='TRUE', values=[])
    """
    given = {name: getattr(filter_, name) for name in _CONDITIONS}
    wanted = {name: value for name, value in given.items() if value is not None}
    return SqlCondition(" AND ".join(_CONDITIONS[name] for name in wanted) or "TRUE", list(wanted.values()))
