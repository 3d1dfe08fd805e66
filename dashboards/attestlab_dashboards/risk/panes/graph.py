"""The entity graph: who is linked to whom, and the rings that share devices, documents, addresses or issuers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import atan2
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.handles.risk import GraphHandle
from attestlab.core.errors import NotFound
from attestlab.risk.entities.shapes import EdgeOut, EntityNameOut, NodeOut, RingOut
from attestlab.risk.rules import Entity, EntityType
from attestlab_dashboards.formats import count, day, plural
from attestlab_dashboards.issuer_names import load_issuer_names
from attestlab_dashboards.lake_query import write_python
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.risk.layout import place_nodes
from attestlab_dashboards.risk.panes.answer import RiskAnswer, copy_answer_sql, load_answer
from attestlab_dashboards.risk.state import MAX_DEPTH, PERIOD, RiskState, read_entity_key, write_entity_key
from attestlab_dashboards.risk.words import KINDS, kind_of, label_of, write_step
from attestlab_dashboards.safe import NOTHING, html, join, path
from attestlab_dashboards.widgets import button, chip, empty, hint

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


def copy_graph_python(state: RiskState) -> str:
    """Return Python that reads the graph of the chosen entity, or of the one that the most escalations name.

    Its last line is None where the escalations name no entity.
    """
    if state.graph or state.about:
        entity = read_entity_key(state.graph or state.about)
        return f"lab.signals.graph({entity.type.value!r}, {entity.id!r}, depth={state.depth})"
    query = write_python(copy_answer_sql(state))
    return (
        f"suspects = {query}\n"
        'first = suspects.dropna(subset="name").nlargest(1, "signals")[["kind", "name"]]\n'
        f"None if first.empty else lab.signals.graph(*first.iloc[0], depth={state.depth})"
    )


WIDTH, HEIGHT = 560, 250
MAX_LABELS: Final = 14
_HUES: Final[Mapping[str, str]] = {
    EntityType.USER: "c0",
    EntityType.DEVICE: "c1",
    EntityType.IP: "c2",
    EntityType.DOCUMENT: "c3",
    EntityType.ISSUER: "c4",
    EntityType.ATTESTATION: "c4",
    EntityType.SESSION: "c4",
}
_Name = tuple[str, str]
_Places = Mapping[_Name, tuple[float, float]]


def draw_graph(view: EntityGraphView | None, state: RiskState) -> Markup:
    """Draw the graph, its legend, and its rings in words."""
    if view is None:
        return empty(
            "No graph to show",
            "Nothing stands out in this time, so no entity is its centre. Open an entity and choose “Show its graph”.",
            button("Follow what stands out", ev="graph") if state.graph else NOTHING,
        )
    return html(
        '{choices}<div class="rk-graph">{picture}</div><p class="al-tip small muted" data-tip-line>{hint}</p>{rings}',
        choices=_draw_choices(view, state),
        picture=_draw_picture(view),
        hint=hint("Hover or Tab to an entity for its numbers; a click opens it.", "Tap an entity to open it."),
        rings=_draw_rings(view),
    )


def read_graph(view: EntityGraphView | None, _state: RiskState) -> str:
    """Write the second line of the card."""
    if view is None:
        return "Entities that signals and events name together"
    label = f"{kind_of(view.focus.type)} {label_of(view.focus, view.names)}"
    why = "" if view.is_chosen else f", which stands out {write_step(view.answer.start, view.answer.period)}"
    more = "; more entities were left out" if view.graph.truncated else ""
    size = f"{plural(len(view.graph.nodes), 'entity', 'entities')}, {plural(len(view.graph.edges), 'link')}"
    return f"Around {label}{why}: {size}{more}"


def _draw_choices(view: EntityGraphView, state: RiskState) -> Markup:
    kinds = sorted({node.type for node in view.graph.nodes}, key=list(KINDS).index)
    keys = (
        html('<span class="rk-key">{glyph}{kind}</span>', glyph=_draw_key(kind), kind=kind_of(kind)) for kind in kinds
    )
    depths = [
        chip(f"{depth} link{'s' if depth > 1 else ''}", ev="depth", v=str(depth), pressed=depth == state.depth)
        for depth in range(1, MAX_DEPTH + 1)
    ]
    follow = [chip("Chosen entity", ev="graph", v="", pressed=True, removable=True)] if view.is_chosen else []
    return html(
        '<div class="rk-legend"><span class="rk-keys">{keys}</span><span class="chips">{chips}</span></div>',
        keys=join(keys),
        chips=join([*follow, *depths]),
    )


def _draw_key(kind: str) -> Markup:
    return html(
        '<svg class="rk-glyph" viewBox="-8 -8 16 16" aria-hidden="true">{shape}</svg>', shape=_draw_shape(kind, 6)
    )


def _draw_picture(view: EntityGraphView) -> Markup:
    graph = view.graph
    places = _arrange(graph)
    labelled = _choose_labels(graph)
    nodes = join(_draw_node(node, places, view) for node in reversed(graph.nodes))
    labels = join(_draw_label(node, places, view) for node in graph.nodes if _name(node) in labelled)
    return html(
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" '
        'role="group" aria-label="{summary}">{rings}{edges}{nodes}</svg>{labels}',
        summary=read_graph(view, RiskState()),
        rings=join(_draw_hull(ring, places) for ring in graph.rings),
        edges=join(_draw_edge(edge, places, graph.rings) for edge in graph.edges),
        nodes=nodes,
        labels=labels,
    )


def _arrange(graph: GraphHandle) -> _Places:
    names = [_name(node) for node in graph.nodes]
    numbers = {name: number for number, name in enumerate(names)}
    edges = [(numbers[_name(edge.source)], numbers[_name(edge.target)]) for edge in graph.edges]
    placed = place_nodes([node.distance for node in graph.nodes], edges)
    return {name: (WIDTH * x, HEIGHT * y) for name, (x, y) in zip(names, placed.tolist(), strict=True)}


def _name(entity: EntityNameOut | NodeOut) -> _Name:
    return entity.type, entity.id


def _choose_labels(graph: GraphHandle) -> set[_Name]:
    """Choose the nodes that get words: all of a small graph; else the first, the shared, and those with most links."""
    links = Counter(_name(end) for edge in graph.edges for end in (edge.source, edge.target))
    shared = {_name(each) for ring in graph.rings for each in ring.shared}
    usual = sorted(links.values())[len(links) // 2] if links else 0
    ranked = sorted(
        graph.nodes, key=lambda node: (node.distance, _name(node) not in shared, -links[_name(node)], node.id)
    )
    if len(ranked) > MAX_LABELS:
        ranked = [node for node in ranked if not node.distance or _name(node) in shared or links[_name(node)] > usual]
    return {_name(node) for node in ranked[:MAX_LABELS]}


def _draw_node(node: NodeOut, places: _Places, view: EntityGraphView) -> Markup:
    x, y = places[_name(node)]
    entity = Entity(EntityType(node.type), node.id)
    size = 11 if node.distance == 0 else 7
    css = " rk-focus" if node.distance == 0 else " rk-hot" if node.open_case or node.list == "deny" else ""
    return html(
        '<a href="?entity={key}" class="rk-node{css}" data-ev="entity" data-v="{value}" data-key="node:{value}" '
        'data-tip="{tip}" aria-label="{tip}" transform="translate({x} {y})"><circle class="al-hit"/>{shape}</a>',
        key=path(write_entity_key(entity)),
        css=css,
        value=write_entity_key(entity),
        tip=_write_tip(node, entity, view),
        x=f"{x:.1f}",
        y=f"{y:.1f}",
        shape=_draw_shape(node.type, size),
    )


def _write_tip(node: NodeOut, entity: Entity, view: EntityGraphView) -> str:
    score = "" if node.max_score is None else f", highest score {node.max_score:.4g}"
    state = ", open case" if node.open_case else ""
    listed = f", on the {node.list} list" if node.list else ""
    signals = plural(node.signal_count, "signal")
    return f"{kind_of(node.type)} {label_of(entity, view.names)}: {signals}{score}{state}{listed}"


def _draw_shape(kind: str, size: int) -> Markup:
    """Draw the shape of a type: its form says as much as its hue."""
    css, side = f"f-{_HUES.get(kind, 'c4')}", size * 0.9
    if kind == EntityType.DEVICE:
        return html(
            '<rect class="{css}" x="-{s}" y="-{s}" width="{w}" height="{w}"/>',
            css=css,
            s=f"{side:.1f}",
            w=f"{2 * side:.1f}",
        )
    if kind == EntityType.IP:
        return html('<path class="{css}" d="M0 -{s}L{s} 0L0 {s}L-{s} 0Z"/>', css=css, s=f"{size * 1.2:.1f}")
    if kind in (EntityType.DOCUMENT, EntityType.ATTESTATION):
        points = f"{-size},0 {-size / 2},{-side} {size / 2},{-side} {size},0 {size / 2},{side} {-size / 2},{side}"
        return html('<polygon class="{css}" points="{points}"/>', css=css, points=points)
    if kind == EntityType.ISSUER:
        return html('<polygon class="{css}" points="0,-{s} {s},{s} -{s},{s}"/>', css=css, s=f"{size * 1.1:.1f}")
    return html('<circle class="{css}" r="{size}"/>', css=css, size=size)


def _draw_label(node: NodeOut, places: _Places, view: EntityGraphView) -> Markup:
    """Draw it below its node, and within the graph where that is at an edge."""
    x, y = places[_name(node)]
    label = label_of(Entity(EntityType(node.type), node.id), view.names)
    return html(
        '<span class="rk-node-label{focus}" style="left:clamp(66px,{x}%,calc(100% - 66px));top:{y}%" '
        'aria-hidden="true">{label}</span>',
        focus=" rk-focus" if node.distance == 0 else "",
        x=f"{100 * x / WIDTH:.2f}",
        y=f"{100 * (y + 12) / HEIGHT:.2f}",
        label=label if len(label) <= 18 else f"{label[:10]}…{label[-5:]}",
    )


def _draw_edge(edge: EdgeOut, places: _Places, rings: Sequence[RingOut]) -> Markup:
    (x0, y0), (x1, y1) = places[_name(edge.source)], places[_name(edge.target)]
    ends = {_name(edge.source), _name(edge.target)}
    is_in_ring = any(ends <= {_name(each) for each in [*ring.users, *ring.shared]} for ring in rings)
    times = plural(edge.count, "time")
    return html(
        '<path class="rk-edge{ring}" d="{line}" data-tip="{tip}"/>',
        ring=" rk-ring-edge" if is_in_ring else "",
        line=f"M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}",
        tip=f"{edge.source.id} and {edge.target.id}: {times} by {edge.kind}, last {day(edge.last_seen)}",
    )


def _draw_hull(ring: RingOut, places: _Places) -> Markup:
    """Draw the outline of a ring: the convex hull of its members, rounded by a broad line."""
    points = _find_hull([places[_name(each)] for each in [*ring.users, *ring.shared] if _name(each) in places])
    if len(points) < 3:
        return NOTHING
    return html('<polygon class="rk-hull" points="{points}"/>', points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points))


def _find_hull(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """Return the corners of the convex hull (Andrew's monotone chain), in order around their middle."""
    ordered = sorted(set(points))
    corners = [*_find_chain(ordered), *_find_chain(ordered[::-1])]
    found = list(dict.fromkeys(corners))
    middle = (sum(x for x, _ in found) / max(1, len(found)), sum(y for _, y in found) / max(1, len(found)))
    return sorted(found, key=lambda point: atan2(point[1] - middle[1], point[0] - middle[0]))


def _find_chain(ordered: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    chain: list[tuple[float, float]] = []
    for point in ordered:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    return chain


def _turn(one: tuple[float, float], two: tuple[float, float], three: tuple[float, float]) -> float:
    return (two[0] - one[0]) * (three[1] - one[1]) - (two[1] - one[1]) * (three[0] - one[0])


def _draw_rings(view: EntityGraphView) -> Markup:
    if not view.graph.rings:
        return html(
            '<p class="small muted">No ring: no three users share devices, documents, sessions, addresses or '
            "issuers.</p>"
        )
    return html(
        '<ul class="rk-rings">{rings}</ul>', rings=join(_draw_ring(ring, view) for ring in view.graph.rings[:3])
    )


def _draw_ring(ring: RingOut, view: EntityGraphView) -> Markup:
    shared = [Entity(EntityType(each.type), each.id) for each in ring.shared]
    shown = ", ".join(label_of(each, view.names) for each in shared[:3])
    more = f" and {len(shared) - 3} more" if len(shared) > 3 else ""
    return html(
        "<li><b>Ring of {users} users</b> who share {shown}{more}; {density} of all possible links exist.</li>",
        users=count(len(ring.users)),
        shown=shown,
        more=more,
        density=f"{100 * ring.density:.0f} %",
    )


PANE: Final = Pane(
    key="graph",
    question="Who is linked to whom",
    reading=read_graph,
    span=6,
    load=load_graph,
    draw=draw_graph,
    reads=READS,
    copy_python=copy_graph_python,
    export=export_links,
    is_common=True,
)
