"""Service for entities: their signals, cases, entries of lists, velocity and graph, as of one moment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, Integer, bindparam, func, select

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.errors import NotFound
from attestlab.orgs.rules import Caller
from attestlab.risk import links
from attestlab.risk.enforcement import store as enforcement_store
from attestlab.risk.enforcement.comments import Discussion, find_newest
from attestlab.risk.enforcement.shapes import CasesQuery
from attestlab.risk.enforcement.store import ListPage, RiskCaseRecord, RiskListEntryRecord
from attestlab.risk.entities.graph import DEFAULT_DEPTH, Edge, Exploration, Ring, find_rings
from attestlab.risk.rules import Entity, ListName
from attestlab.risk.signals import store as signal_store
from attestlab.risk.signals.store import RiskSignalRecord
from attestlab.risk.velocity import count_actions

MAX_SIGNALS_COUNTED = 1_000  # of an entity, the newest; so that a busy address does not take seconds


class SignalSummary(NamedTuple):
    """The number of an entity's newest signals, up to `MAX_SIGNALS_COUNTED`, and the highest of their scores."""

    count: int  # type: ignore[assignment]  # overrides tuple.count
    max_score: float | None


_columns = signal_store.signals.c
_NEWEST = (
    select(_columns.score)
    .where(
        _columns.tenant_id == bindparam("tenant_id"),
        _columns.entity_type == bindparam("type"),
        _columns.entity_id == bindparam("id"),
    )
    .order_by(_columns.seq.desc())
    .limit(bindparam("limit", type_=Integer))
    .subquery()
)
_SUMMARY = select(func.count(), func.max(_NEWEST.c.score)).select_from(_NEWEST)


def summarize_signals(execute: Execute, tenant_id: UUID, entity: Entity) -> SignalSummary:
    """Count the newest signals of an entity."""
    of_entity = {"tenant_id": tenant_id, "type": entity.type.value, "id": entity.id}
    return SignalSummary(*execute(_SUMMARY, {**of_entity, "limit": MAX_SIGNALS_COUNTED}).one())


MAX_SIGNALS = MAX_CASES = 50  # the newest of an entity
MAX_ACTIONS = 20
UNNAMED = "of this type and id"

FindIssuances = Callable[[Connection, UUID, Entity], Sequence[Edge]]
"""Finds the issuer of an attestation, or attestations of an issuer."""


@dataclass(frozen=True)
class EntityView:
    """What is known about an entity: its newest signals and cases, its list entries, and its counts by action.

    `discussions` are the newest comments by case; `truncated` if it has more signals, cases or actions.
    """

    entity: Entity
    signals: Sequence[RiskSignalRecord]
    cases: Sequence[RiskCaseRecord]
    discussions: Mapping[UUID, Discussion]
    list_entries: Sequence[RiskListEntryRecord]
    windows: Mapping[str, Mapping[str, int]]
    truncated: bool


class GraphNode(NamedTuple):
    """An entity of a graph, and how many links it is away from the first one.

    `signal_count` and `max_score` cover its newest 1,000 signals, `list` is `allow` or `deny`.
    """

    entity: Entity
    distance: int
    signal_count: int
    max_score: float | None
    open_case: UUID | None
    list: Literal["allow", "deny"] | None


@dataclass(frozen=True)
class EntityGraph:
    """The entities around one; `truncated` if a bound left some of them, or of their edges, out."""

    nodes: Sequence[GraphNode]
    edges: Sequence[Edge]
    rings: Sequence[Ring]
    truncated: bool


class Entities:
    """The entities of tenants."""

    def __init__(self, *, storage: Storage, clock: Clock, find_issuances: FindIssuances) -> None:
        self.storage = storage
        self.clock = clock
        self._find_issuances = find_issuances

    def get(self, entity: Entity, *, caller: Caller) -> EntityView:
        """Return what the tenant knows about an entity.

        Raises:
            NotFound: the tenant knows nothing about it.
        """
        now, tenant_id = self.clock.now(), caller.tenant_id
        its_own = CasesQuery.model_validate({"entity_type": entity.type.value, "entity_id": entity.id})
        with self.storage.read() as connection:
            execute = connection.execute
            signals = signal_store.find_newest(execute, tenant_id, entity, limit=MAX_SIGNALS + 1)
            cases = enforcement_store.list_cases(execute, ListPage(tenant_id, None, MAX_CASES + 1), its_own)
            windows = count_actions(execute, tenant_id, entity, now=now, limit=MAX_ACTIONS + 1)
            view = EntityView(
                entity,
                signals[:MAX_SIGNALS],
                cases[:MAX_CASES],
                find_newest(execute, tenant_id, [case.id for case in cases[:MAX_CASES]]),
                enforcement_store.find_list_entries(execute, tenant_id, entity, now=now),
                dict(islice(windows.items(), MAX_ACTIONS)),
                truncated=len(signals) > MAX_SIGNALS or len(cases) > MAX_CASES or len(windows) > MAX_ACTIONS,
            )
        if not (view.signals or view.cases or view.list_entries or view.windows):
            raise NotFound("entity", UNNAMED)
        return view

    def graph(self, entity: Entity, *, depth: int = DEFAULT_DEPTH, caller: Caller) -> EntityGraph:
        """Return the entities within `depth` links of one, their edges, and the rings among them; about 100 ms.

        Raises:
            NotFound: the tenant knows nothing about the entity.
        """
        with self.storage.read() as connection:
            explored = Exploration(
                entity,
                depth=depth,
                find_edges=lambda each, limit: self._find_edges(connection, caller.tenant_id, each, limit),
            )
            nodes = self._describe(connection, caller.tenant_id, explored.distances)
        if not explored.edges and nodes[0][2:] == _NOTHING_KNOWN:
            raise NotFound("entity", UNNAMED)
        edges = explored.edges
        return EntityGraph(nodes, edges, find_rings(edge[:2] for edge in edges), explored.truncated)

    def _find_edges(self, connection: Connection, tenant_id: UUID, entity: Entity, limit: int) -> list[Edge]:
        recorded = links.list_newest(connection.execute, tenant_id, entity, limit=limit)
        return [*self._find_issuances(connection, tenant_id, entity), *map(Edge.of, recorded)][:limit]

    def _describe(
        self, connection: Connection, tenant_id: UUID, distances: Mapping[Entity, int]
    ) -> Sequence[GraphNode]:
        execute = connection.execute
        open_cases = enforcement_store.find_open_cases(execute, tenant_id, distances)
        lists = enforcement_store.find_lists_of(execute, tenant_id, distances, now=self.clock.now())
        return [
            GraphNode(
                entity,
                distance,
                *summarize_signals(execute, tenant_id, entity),
                open_cases[entity].id if entity in open_cases else None,
                _choose_list(lists.get(entity, ())),
            )
            for entity, distance in distances.items()
        ]


def _choose_list(names: Collection[str]) -> Literal["allow", "deny"] | None:
    """Return the list that a node shows; `deny` wins over `allow`."""
    if not names:
        return None
    return "deny" if ListName.DENY in names else "allow"


_NOTHING_KNOWN = (0, None, None, None)
