"""HTTP routes of an entity."""

from functools import partial

from attestlab.core.errors import NotFound, ValidationFailed
from attestlab.orgs.rules import Caller, Scope
from attestlab.risk.enforcement.rendering import render_case, render_list_entry
from attestlab.risk.entities.service import UNNAMED, Entities
from attestlab.risk.entities.shapes import EdgeOut, EntityOut, GraphOut, GraphQuery, NodeOut, RingOut
from attestlab.risk.rules import Entity
from attestlab.risk.signals.rendering import render_signal
from attestlab.web.executor import Executor
from attestlab.web.routing.routes import Routes

routes = Routes("risk")


@routes.get("/v1/risk/entities/{type}/{id}", scope=Scope.RISK_READ)
async def get_risk_entity(type: str, id: str, caller: Caller, entities: Entities, executor: Executor) -> EntityOut:
    """Get what is known about an entity: its newest signals and cases, its list entries and velocity.

    An entity of which the tenant knows nothing is a 404.
    """
    view = await executor.read(partial(entities.get, _parse_entity(type, id), caller=caller))
    return EntityOut(
        entity_type=view.entity.type.value,
        entity_id=view.entity.id,
        signals=[render_signal(row) for row in view.signals],
        cases=[render_case(row) for row in view.cases],
        lists=[render_list_entry(row) for row in view.list_entries],
        windows={action: dict(counts) for action, counts in view.windows.items()},
        truncated=view.truncated,
    )


@routes.get("/v1/risk/entities/{type}/{id}/graph", scope=Scope.RISK_READ)
async def get_risk_graph(
    type: str, id: str, query: GraphQuery, caller: Caller, entities: Entities, executor: Executor
) -> GraphOut:
    """Get the entities around one that facts name together with it, the links between them, and rings of users.

    The graph is explored breadth first up to `depth` links; `truncated` says whether bounds left something
    out.
    """
    read_graph = partial(entities.graph, _parse_entity(type, id), depth=query.depth, caller=caller)
    graph = await executor.run_in_thread(read_graph)
    return GraphOut(
        nodes=[NodeOut.of(node) for node in graph.nodes],
        edges=[EdgeOut.of(edge) for edge in graph.edges],
        rings=[RingOut.of(ring) for ring in graph.rings],
        truncated=graph.truncated,
    )


def _parse_entity(kind: str, entity_id: str) -> Entity:
    """Read an entity from the path; a kind that does not exist has no entity."""
    try:
        return Entity.of(kind, entity_id)
    except ValidationFailed:
        raise NotFound("entity", UNNAMED) from None
