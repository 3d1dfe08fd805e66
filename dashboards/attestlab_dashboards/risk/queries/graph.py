"""The entity graph around one entity: the one that the page names, or that is behind the step that stands out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.handles.risk import GraphHandle
from attestlab.core.errors import NotFound
from attestlab.risk.entities.shapes import EdgeOut
from attestlab.risk.rules import Entity, EntityType
from attestlab_dashboards.risk.queries.answer import RiskAnswer, load_answer
from attestlab_dashboards.risk.queries.names import load_issuer_names
from attestlab_dashboards.risk.state import PERIOD, RiskState, read_entity_key

READS: Final = (*PERIOD, "graph", "depth")


@dataclass(frozen=True)
class EntityGraphView:
    """The graph around an entity. `is_chosen` is false if the entity is the one behind what stands out."""

    focus: Entity
    graph: GraphHandle
    names: Mapping[str, str]
    is_chosen: bool
    answer: RiskAnswer


def load_graph(lab: Lab, state: RiskState) -> EntityGraphView | None:
    """Load the graph; None if there is no entity to begin with, or nothing is known of it."""
    answer = load_answer(lab, state)
    focus = _find_focus(answer, state)
    if focus is None:
        return None
    try:
        graph = lab.signals.graph(focus.type.value, focus.id, depth=state.depth)
    except NotFound:
        return None
    issuers = [node.id for node in graph.nodes if node.type == EntityType.ISSUER]
    return EntityGraphView(focus, graph, load_issuer_names(lab, issuers), bool(state.graph), answer)


def export_links(lab: Lab, state: RiskState) -> Records[EdgeOut]:
    """Export the links of the graph.

    Raises:
        NotFound: no entity stands out, so there is no graph.
    """
    view = load_graph(lab, state)
    if view is None:
        raise NotFound("graph", "of these filters")
    return view.graph.edges


def _find_focus(answer: RiskAnswer, state: RiskState) -> Entity | None:
    """Return the chosen entity; else the first that is behind what stands out; else the one the page is about."""
    if state.graph:
        return read_entity_key(state.graph)
    if state.about:
        return read_entity_key(state.about)
    found = answer.culprit or next(iter(answer.suspects), None)
    return found.entities[0] if found else None
