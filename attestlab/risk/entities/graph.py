"""The graph of entities: its exploration from one entity, breadth first and within bounds, and the rings in it.

Rings are groups of users who share devices, documents, sessions, addresses or linked issuers, found by union-find.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, NamedTuple

from attestlab.risk.rules import Entity, EntityType

if TYPE_CHECKING:
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


MIN_RING_USERS = 3
MIN_SHARED_ADDRESSES = 2  # one address may be that of an office or a mobile network
PERSONAL = frozenset({EntityType.DEVICE, EntityType.DOCUMENT, EntityType.SESSION})  # usually those of one user
SHARED = PERSONAL | {EntityType.IP}


class Ring(NamedTuple):
    """Users who belong together, and what at least two of them share.

    `density` is the part of all possible links between a user and a shared entity that exist, above 0 and up to 1.
    """

    users: Sequence[Entity]
    shared: Sequence[Entity]
    density: float


class Groups:
    """Disjoint groups of entities, with union by size and path compression."""

    def __init__(self) -> None:
        self._parents: dict[Entity, Entity] = {}
        self._sizes: dict[Entity, int] = {}

    def find(self, entity: Entity) -> Entity:
        """Return the entity that represents the group of an entity."""
        parent = self._parents.setdefault(entity, entity)
        if parent != entity:
            parent = self._parents[entity] = self.find(parent)
        return parent

    def join(self, one: Entity, other: Entity) -> None:
        """Make one group of the groups of two entities."""
        small, large = sorted((self.find(one), self.find(other)), key=lambda root: self._sizes.get(root, 1))
        if small != large:
            self._parents[small] = large
            self._sizes[large] = self._sizes.get(large, 1) + self._sizes.get(small, 1)


def find_rings(pairs: Iterable[tuple[Entity, Entity]]) -> list[Ring]:
    """Find the rings among linked entities, largest first.

    Two users belong together if they share a device, a document or a session, at least `MIN_SHARED_ADDRESSES`
    addresses, or two issuers that are linked to each other; and so do those who belong together with the same user.
    From `MIN_RING_USERS` users on it is a ring.
    """
    listed = list(pairs)
    linked_issuers = {frozenset(pair) for pair in listed if {each.type for each in pair} == {EntityType.ISSUER}}
    users_of = _group_users(listed, frozenset().union(*linked_issuers))
    groups = Groups()
    for one, other in _find_companions(users_of, linked_issuers):
        groups.join(one, other)
    members: defaultdict[Entity, set[Entity]] = defaultdict(set)
    for user in {user for users in users_of.values() for user in users}:
        members[groups.find(user)].add(user)
    rings = [_describe(users, users_of) for users in members.values() if len(users) >= MIN_RING_USERS]
    return sorted(rings, key=lambda ring: (-len(ring.users), ring.users))


def _group_users(
    pairs: Iterable[tuple[Entity, Entity]], linked_issuers: frozenset[Entity]
) -> Mapping[Entity, set[Entity]]:
    """Return the users of each entity that makes those who share it suspicious."""
    users_of: defaultdict[Entity, set[Entity]] = defaultdict(set)
    for pair in pairs:
        for user, other in (pair, pair[::-1]):
            if user.type is EntityType.USER and (other.type in SHARED or other in linked_issuers):
                users_of[other].add(user)
    return users_of


def _find_companions(
    users_of: Mapping[Entity, set[Entity]], linked_issuers: Iterable[frozenset[Entity]]
) -> Iterator[tuple[Entity, Entity]]:
    """Yield pairs of users who share a personal entity, enough addresses, or two issuers that are linked."""
    addresses: Counter[tuple[Entity, Entity]] = Counter()
    for shared, users in users_of.items():
        if shared.type in PERSONAL:
            yield from _chain(users)
        elif shared.type is EntityType.IP:
            addresses.update(combinations(sorted(users), 2))
    yield from (pair for pair, count in addresses.items() if count >= MIN_SHARED_ADDRESSES)
    for pair in linked_issuers:
        yield from _chain(set.intersection(*(users_of.get(issuer, set()) for issuer in pair)))


def _chain(users: set[Entity]) -> Iterator[tuple[Entity, Entity]]:
    """Yield pairs that connect the users."""
    return pairwise(sorted(users))


def _describe(users: set[Entity], users_of: Mapping[Entity, set[Entity]]) -> Ring:
    counts = {shared: len(users & its_users) for shared, its_users in users_of.items()}
    shared = sorted(each for each, count in counts.items() if count >= 2)
    density = sum(counts[each] for each in shared) / (len(users) * len(shared))
    return Ring(sorted(users), shared, round(density, 4))
