"""The signals of one entity."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from attestlab.risk.rules import Entity

if TYPE_CHECKING:
    import duckdb


class EntitySignal(NamedTuple):
    """A signal of an entity; `score` is 0 to 100, `details` is JSON, times are UTC."""

    seq: int
    id: str
    source: str
    signal_type: str
    score: float
    occurred_at: datetime
    details: str
    case_id: str | None


def read_entity_signals(
    connection: duckdb.DuckDBPyConnection, entity: Entity, *, limit: int = 100
) -> Sequence[EntitySignal]:
    """Read the newest signals of an entity, the newest first.

    Their numbers are read first, so that DuckDB skips the row groups before them, with their long columns.
    """
    condition, values = "entity_id = ? AND entity_type = ?", [entity.id, entity.type.value]
    numbers = f"SELECT seq FROM signals WHERE {condition} ORDER BY seq DESC LIMIT ?"
    found = connection.execute(numbers, [*values, limit]).fetchall()
    if not found:
        return []
    query = f"SELECT {', '.join(EntitySignal._fields)} FROM signals WHERE {condition} AND seq >= ? ORDER BY seq DESC"
    rows = connection.execute(query, [*values, *found[-1]]).fetchall()
    return [EntitySignal(*row) for row in rows]
