"""Wire models of an entity and its graph (CONTRACT section 8)."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from attestlab.core.shapes import In, Moment, Out
from attestlab.risk.enforcement.shapes import CaseOut, ListEntryOut, Lists
from attestlab.risk.entities.graph import DEFAULT_DEPTH, MAX_DEPTH
from attestlab.risk.shapes import EntityTypeName
from attestlab.risk.signals.shapes import SignalOut


class EntityOut(Out):
    """What is known about an entity: its 50 newest signals and cases, its list entries, and counts by action.

    `truncated` if it has more signals, cases or actions. `windows` are counts by action and window; each is exact up
    to 1,000, and stays there.
    """

    entity_type: EntityTypeName
    entity_id: str
    signals: list[SignalOut]
    cases: list[CaseOut]
    lists: list[ListEntryOut]
    windows: dict[str, dict[str, int]]
    truncated: bool


class GraphQuery(In):
    """How many links a graph reaches from its first entity."""

    depth: Annotated[int, Field(ge=1, le=MAX_DEPTH)] = DEFAULT_DEPTH


class EntityNameOut(Out):
    """The type and id of an entity."""

    type: EntityTypeName
    id: str


class NodeOut(Out):
    """An entity of a graph; `signal_count` and `max_score` cover its newest 1,000 signals."""

    type: EntityTypeName
    id: str
    distance: int
    signal_count: int
    max_score: float | None
    open_case: UUID | None
    list: Lists | None


class EdgeOut(Out):
    """A link between two entities: `count` facts of the source `kind` name both."""

    source: EntityNameOut
    target: EntityNameOut
    kind: str
    count: int
    first_seen: Moment
    last_seen: Moment


class RingOut(Out):
    """At least three users who share devices, documents, sessions, several addresses or linked issuers.

    `shared` lists what at least two of them have in common; `density` is above 0 and goes up to 1.
    """

    users: list[EntityNameOut]
    shared: list[EntityNameOut]
    density: float


class GraphOut(Out):
    """The entities around one and the links between them; `truncated` if bounds left some out."""

    nodes: list[NodeOut]
    edges: list[EdgeOut]
    rings: list[RingOut]
    truncated: bool
