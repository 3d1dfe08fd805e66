"""How many replayed decisions cannot tell what a draft asks about risk.

A decision stores the risk that was looked up for the policies of its time. What an address or a document would have
shown a later policy is not reconstructed, because decisions store neither.
"""

from __future__ import annotations

from collections.abc import Iterable

from attestlab.policy.language.attributes import PLATFORM, RISK_ATTRIBUTES, RISK_ENTITIES
from attestlab.policy.sql.compiler import quote_column
from attestlab.risk.rules import EntityType
from attestlab.simulation.history import History
from attestlab.simulation.query_session import QuerySession


def count_without_risk(session: QuerySession, history: History, tested: Iterable[str]) -> list[dict[str, object]]:
    """Return `{entity, decisions}` for each entity whose risk the paths `tested` name.

    `decisions` is the number of those that store nothing about the risk of the entity.

    Raises:
        Cancelled, Unavailable: see `QuerySession.run`.
    """
    used = {RISK_ATTRIBUTES[path] for path in tested if path in RISK_ATTRIBUTES}
    entities = [entity for entity in RISK_ENTITIES if entity in used]
    if not entities:
        return []
    attributes = {path: PLATFORM[path] for path, entity in RISK_ATTRIBUTES.items() if entity in used}
    rows = session.with_connection(lambda connection: history.raw(connection, attributes))
    counts = ", ".join(f"count(*) FILTER ({_is_without(entity)})" for entity in entities)
    ((*found,),) = session.run(f"SELECT {counts} FROM ({rows})")
    return [{"entity": entity.value, "decisions": int(count)} for entity, count in zip(entities, found, strict=True)]


def _is_without(entity: EntityType) -> str:
    paths = [path for path, of in RISK_ATTRIBUTES.items() if of is entity]
    return " AND ".join(f"{quote_column(path)} IS NULL" for path in paths)
