"""Wire models of an entity and its graph (CONTRACT section 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from pydantic import Field

from attestlab.core.shapes import In, Moment, Out
from attestlab.risk.enforcement.shapes import CaseOut, ListEntryOut, Lists
from attestlab.risk.entities.graph import DEFAULT_DEPTH, MAX_DEPTH, Edge, Ring
from attestlab.risk.rules import Entity
from attestlab.risk.shapes import EntityTypeName
from attestlab.risk.signals.shapes import SignalOut

if TYPE_CHECKING:  # a client reads these models without the service
    from attestlab.risk.entities.service import GraphNode


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

    @classmethod
    def of(cls, entity: Entity) -> EntityNameOut:
        """Render the name of an entity."""
        return cls(type=entity.type.value, id=entity.id)


class NodeOut(Out):
    """An entity of a graph; `signal_count` and `max_score` cover its newest 1,000 signals."""

    type: EntityTypeName
    id: str
    distance: int
    signal_count: int
    max_score: float | None
    open_case: UUID | None
    list: Lists | None

    @classmethod
    def of(cls, node: GraphNode) -> NodeOut:
        """Render a node."""
        return cls(
            type=node.entity.type.value,
            id=node.entity.id,
            distance=node.distance,
            signal_count=node.signal_count,
            max_score=node.max_score,
            open_case=node.open_case,
            list=node.list,
        )


class EdgeOut(Out):
    """A link between two entities: `count` facts of the source `kind` name both."""

    source: EntityNameOut
    target: EntityNameOut
    kind: str
    count: int
    first_seen: Moment
    last_seen: Moment

    @classmethod
    def of(cls, edge: Edge) -> EdgeOut:
        """Render an edge."""
        return cls(
            source=EntityNameOut.of(edge.source),
            target=EntityNameOut.of(edge.target),
            kind=edge.kind,
            count=edge.count,
            first_seen=edge.first_seen,
            last_seen=edge.last_seen,
        )


class RingOut(Out):
    """At least three users who share devices, documents, sessions, several addresses or linked issuers.

    `shared` lists what at least two of them have in common; `density` is above 0 and goes up to 1.
    """

    users: list[EntityNameOut]
    shared: list[EntityNameOut]
    density: float

    @classmethod
    def of(cls, ring: Ring) -> RingOut:
        """Render a ring."""
        users, shared = ([EntityNameOut.of(entity) for entity in part] for part in ring[:2])
        return cls(users=users, shared=shared, density=ring.density)


class GraphOut(Out):
    """The entities around one and the links between them; `truncated` if bounds left some out."""

    nodes: list[NodeOut]
    edges: list[EdgeOut]
    rings: list[RingOut]
    truncated: bool
