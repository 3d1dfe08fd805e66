"""The entities with the most signals, or with the highest scores."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from attestlab.risk.signals.conditions import build_condition
from attestlab.risk.signals.store import SignalFilter

if TYPE_CHECKING:
    import duckdb


class EntityOrder(StrEnum):
    """What makes an entity come first."""

    COUNT = "count"
    MAX_SCORE = "max_score"


class TopEntity(NamedTuple):
    """An entity with its number of signals, their highest score (0 to 100) and the time of the newest (UTC)."""

    entity_type: str
    entity_id: str
    count: int  # type: ignore[assignment]  # overrides tuple.count
    max_score: float
    last_seen: datetime


_ORDERS = {EntityOrder.COUNT: "count DESC, max_score DESC", EntityOrder.MAX_SCORE: "max_score DESC, count DESC"}


def read_top_entities(
    connection: duckdb.DuckDBPyConnection,
    filter_: SignalFilter,
    *,
    order: EntityOrder = EntityOrder.COUNT,
    limit: int = 20,
) -> Sequence[TopEntity]:
    """Read the first `limit` entities; ties are in the order of their types and ids."""
    condition = build_condition(filter_)
    query = f"""
        SELECT entity_type, entity_id, count(*) AS count, max(score) AS max_score, max(occurred_at)
        FROM signals WHERE {condition.sql} GROUP BY entity_type, entity_id
        ORDER BY {_ORDERS[order]}, entity_type, entity_id LIMIT ?
    """
    return [TopEntity(*row) for row in connection.execute(query, [*condition.values, limit]).fetchall()]
