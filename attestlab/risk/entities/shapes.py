"""Wire model of an entity (CONTRACT section 8)."""

from __future__ import annotations

from attestlab.core.shapes import Out
from attestlab.risk.enforcement.shapes import CaseOut, ListEntryOut
from attestlab.risk.signals.shapes import SignalOut


class EntityOut(Out):
    """What is known about an entity: its 50 newest signals and cases, its list entries, and counts by action."""

    entity_type: str
    entity_id: str
    signals: list[SignalOut]
    cases: list[CaseOut]
    lists: list[ListEntryOut]
    windows: dict[str, dict[str, int]]
