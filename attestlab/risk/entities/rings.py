"""Rings: groups of users who share devices, documents, sessions, addresses or linked issuers, found by union-find."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from attestlab.risk.rules import Entity, EntityType

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
