"""Wire models of velocity scoring (CONTRACT section 8)."""

from __future__ import annotations

from uuid import UUID

from attestlab.core.shapes import In, Moment, Out
from attestlab.risk.shapes import EntityId, EntityTypes, FactorOut, Name


class VelocityIn(In):
    """One occurrence of an action of an entity."""

    entity_type: EntityTypes
    entity_id: EntityId
    action: Name
    occurred_at: Moment | None = None


class VelocityOut(Out):
    """The score of the action's frequency; `windows` are counts by window: 1m, 5m, 1h and 24h.

    A count is exact up to 1,000, and stays there; the score is exact always, because it is full from 300 on.
    """

    score: float
    windows: dict[str, int]
    factors: list[FactorOut]
    signal_id: UUID | None
