"""Exploration of the entity graph from one entity, breadth first and within bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from attestlab.risk.rules import Entity, EntityType

if TYPE_CHECKING:  # its constants and edges are part of the wire models
    from attestlab.risk.links import RiskLinkRecord

MAX_DEPTH = 3
DEFAULT_DEPTH = 2
MAX_NODES = 200
MAX_EDGES = 600
MAX_LINKS_OF_NODE = 100  # those last seen


class Edge(NamedTuple):
    """A link between two entities of the graph; `count` facts of the source `kind` name both."""

    source: Entity
    target: Entity
    kind: str
    count: int  # type: ignore[assignment]  # overrides tuple.count
    first_seen: datetime
    last_seen: datetime

    @classmethod
    def of(cls, link: RiskLinkRecord) -> Edge:
        """Return a recorded link."""
        source = Entity(EntityType(link.first_type), link.first_id)
        target = Entity(EntityType(link.second_type), link.second_id)
        return cls(source, target, link.kind, link.count, link.first_seen, link.last_seen)


class Exploration:
    """The entities within `depth` links of the first one, by their distance, and the edges between them.

    `find_edges(entity, limit)` returns edges of an entity, the most recent first. `truncated` is true if a bound left
    entities or edges out.
    """

    def __init__(self, start: Entity, *, depth: int, find_edges: Callable[[Entity, int], Sequence[Edge]]) -> None:
        self.distances = {start: 0}
        self.truncated = False
        self._edges: dict[tuple[Entity, Entity, str], Edge] = {}
        self._find_edges = find_edges
        for distance in range(depth + 1):
            self._visit(distance, is_last=distance == depth)

    @property
    def edges(self) -> list[Edge]:
        """The edges, those nearest to the first entity first."""
        return list(self._edges.values())

    def _visit(self, distance: int, *, is_last: bool) -> None:
        """Follow the edges of all entities at a distance; at the last one, only to entities that are known."""
        for entity in [each for each, its_own in self.distances.items() if its_own == distance]:
            for edge in self._read_edges(entity):
                other = edge.target if edge.source == entity else edge.source
                if not is_last:
                    self._add_node(other, distance + 1)
                if other in self.distances:
                    self._add_edge(edge)

    def _read_edges(self, entity: Entity) -> Iterator[Edge]:
        found = self._find_edges(entity, MAX_LINKS_OF_NODE + 1)
        self.truncated |= len(found) > MAX_LINKS_OF_NODE
        yield from found[:MAX_LINKS_OF_NODE]

    def _add_node(self, entity: Entity, distance: int) -> None:
        if len(self.distances) < MAX_NODES:
            self.distances.setdefault(entity, distance)
        elif entity not in self.distances:
            self.truncated = True

    def _add_edge(self, edge: Edge) -> None:
        key = edge[:3]
        if len(self._edges) < MAX_EDGES:
            self._edges.setdefault(key, edge)
        elif key not in self._edges:
            self.truncated = True
