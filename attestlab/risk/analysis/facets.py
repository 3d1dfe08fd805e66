"""Counts of the values that a filter can select."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from attestlab.risk.signals.conditions import build_condition
from attestlab.risk.signals.store import SignalFilter

if TYPE_CHECKING:
    import duckdb

FACETS = ("source", "signal_type", "entity_type")


def read_facets(connection: duckdb.DuckDBPyConnection, filter_: SignalFilter) -> Mapping[str, Mapping[str, int]]:
    """Count the signals by each value of source, type and type of entity, the most frequent value first.

    A facet ignores the filter's own value of it, so that its other values can be selected instead.
    """
    selected = {name: getattr(filter_, name) for name in FACETS}
    condition = build_condition(replace(filter_, **dict.fromkeys(FACETS)))
    query = f"SELECT {', '.join(FACETS)}, count(*) FROM signals WHERE {condition.sql} GROUP BY ALL"
    counts: dict[str, Counter[str]] = {name: Counter() for name in FACETS}
    for *values, count in connection.execute(query, condition.values).fetchall():
        differing = [name for name, value in zip(FACETS, values, strict=True) if selected[name] not in (None, value)]
        for name, value in zip(FACETS, values, strict=True):
            if set(differing) <= {name}:
                counts[name][value] += count
    return {name: dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))) for name, found in counts.items()}
