"""Charts of risk: why a score is what it is, who is near an entity, which scores drifted, what a threshold costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import holoviews as hv
import pandas as pd

from attestlab.core.counting import plural
from attestlab.plots.look import BLUE, GRID, MAGENTA, ORANGE, RED, ROUND, SLATE, TEAL, WIDE, size_rows, write_nothing
from attestlab.plots.requirements import require_answer, require_choice, require_factors
from attestlab.plots.tables import draw_columns, draw_lines
from attestlab.risk.entities.shapes import GraphOut
from attestlab.risk.shapes import DriftOut, FactorOut
from attestlab.simulation.risk.shapes import RiskSimulationOut

if TYPE_CHECKING:
    from attestlab.plots.look import Chart
    from attestlab.risk.entities.shapes import EntityNameOut, NodeOut

_Name = tuple[str, str]  # the type and id of an entity
_KINDS: Final = {"user": BLUE, "ip": ORANGE, "device": RED, "issuer": MAGENTA, "document": SLATE, "attestation": TEAL}
_NOUNS, _PLURALS = {"ip": "address"}, {"ip": "addresses"}
_LEVELS: Final = {"stable": SLATE, "moderate": ORANGE, "major": RED}
MODERATE_PSI, MAJOR_PSI = 0.1, 0.25  # docs/risk.md
CURVES: Final = ("cost", "alarms", "quality")


def draw_contributions(factors: Sequence[Mapping[str, object]] | Sequence[FactorOut], *, title: str) -> Chart:
    """Draw the factors of a score as bars that start where the last ended, and so sum to the score.

    Args:
        factors: those of an answer (`login.factors`), or `details["factors"]` of a signal.
        title: above the chart.

    Returns:
        The bars on the scale of scores, 0 to 100.

    Raises:
        ValidationFailed: these are no factors.

    >>> from attestlab import plots
    >>> upload = lab.signals.record_velocity("upload", "user:u-5")
    >>> chart = plots.draw_contributions(upload.factors, title="Why uploads score what they do")
    """
    total, bars, found = 0.0, [], require_factors(factors)
    for row, factor in enumerate(found):
        start, total = total, total + float(str(factor["contribution"]))
        bars.append((start, -row - 0.35, total, -row + 0.35))
    names = [(-row, str(factor["name"]).replace("_", " ")) for row, factor in enumerate(found)]
    drawn = hv.Rectangles(bars, ["points", "row", "end", "top"]).opts(color=BLUE, linewidth=0, backend="matplotlib")
    return drawn.opts(yticks=names, title=title, xlabel="points of the score", ylabel="", xlim=(0, 100), **WIDE)


def draw_graph(graph: GraphOut, *, title: str | None = None) -> Chart:
    """Draw an entity and what surrounds it: each kind of entity has its own ring and colour.

    Args:
        graph: what `lab.signals.graph` returns.
        title: above the chart; by default the entity with the numbers of its graph.

    Returns:
        The entities as points, and the links between them as lines.

    Raises:
        ValidationFailed: `graph` is no graph.

    >>> from attestlab import plots
    >>> chart = plots.draw_graph(lab.signals.graph("device:device-73d1efba", depth=1))
    """
    require_answer(graph, GraphOut, name="graph", made_by="lab.signals.graph(...)")
    rings = _arrange(graph)
    places = {each: place for ring in rings.values() for each, place in ring.items()}
    lines = hv.Segments([(*places[_name(edge.source)], *places[_name(edge.target)]) for edge in graph.edges])
    drawn = lines.opts(color=GRID, linewidth=0.8, backend="matplotlib")
    for kind, ring in rings.items():
        noun = _NOUNS.get(kind, kind) if len(ring) == 1 else _PLURALS.get(kind, f"{kind}s")
        points = hv.Points(list(ring.values()), label=f"{len(ring)} {noun}")
        size = 160 if len(ring) < 8 else 50
        drawn *= points.opts(color=_KINDS.get(kind, SLATE), s=size, backend="matplotlib")
    return drawn.opts(title=_describe(graph) if title is None else title, legend_position="right", **ROUND)


def draw_drift(drift: DriftOut, *, title: str | None = None) -> Chart:
    """Draw the drift of scores of each source and type, the strongest at the top, with the bounds of what is usual.

    Args:
        drift: what `lab.signals.drift` returns.
        title: above the chart; by default the window.

    Returns:
        The population stability index (PSI) as bars: grey is stable, orange moderate from 0.1 on, red major from 0.25
        on. Kinds with too few signals are left out.

    Raises:
        ValidationFailed: `drift` is no drift.

    >>> from attestlab import plots
    >>> chart = plots.draw_drift(lab.signals.drift(since="2026-10-26", until="2026-11-02"))
    """
    require_answer(drift, DriftOut, name="drift", made_by="lab.signals.drift()")
    title = f"Drift of scores, {drift.since:%-d %b} to {drift.until:%-d %b %Y}" if title is None else title
    measured = [each for each in drift.items if each.psi is not None]
    if not measured:
        return write_nothing("No kind has the 500 signals in both windows that a comparison needs.", title=title)
    top = max(MAJOR_PSI * 1.2, *(float(each.psi or 0) * 1.12 for each in measured))
    drawn = hv.VLine(MODERATE_PSI).opts(color=_LEVELS["moderate"], linewidth=1, linestyle="--", backend="matplotlib")
    drawn *= hv.VLine(MAJOR_PSI).opts(color=_LEVELS["major"], linewidth=1, linestyle="--", backend="matplotlib")
    for level, colour in _LEVELS.items():
        rows = [(row, each.psi) for row, each in enumerate(measured) if each.level == level]
        bars = hv.Rectangles([(0, -row - 0.35, psi, -row + 0.35) for row, psi in rows])
        drawn *= bars.opts(color=colour, linewidth=0, backend="matplotlib")
    names = [(-row, f"{each.source}, {each.signal_type}") for row, each in enumerate(measured)]
    look = size_rows(len(measured))
    return drawn.opts(yticks=names, title=title, xlabel="PSI", ylabel="", xlim=(0, top), **look)


def draw_curve(report: RiskSimulationOut, what: str = "cost", *, title: str | None = None) -> Chart:
    """Draw what each value of a threshold would have done to the labelled signals.

    Args:
        report: what `lab.signals.simulate` returns.
        what: `cost` of the wrong decisions; `alarms`, the frauds found and the false alarms; or `quality`, precision
            and recall.
        title: above the chart; by default the threshold.

    Returns:
        Lines of steps over the values of the threshold; a dashed line marks the present value.

    Raises:
        ValidationFailed: `report` is no simulation of rules, or `what` is another word.

    >>> from attestlab import plots
    >>> high = {"attr": "signal.score", "op": "gte", "value": 95}
    >>> report = lab.signals.simulate([{"id": "high", "when": high}], since="2026-10-26")
    >>> chart = plots.draw_curve(report, "alarms")
    """
    require_answer(report, RiskSimulationOut, name="report", made_by="lab.signals.simulate(...)")
    require_choice(what, CURVES, name="what")
    swept = report.threshold
    title = (
        ("What a threshold would do" if swept is None else f"{swept.rule_id}: {swept.attribute}")
        if title is None
        else title
    )
    if swept is None or not report.curve:
        return write_nothing("No rule compares a number of labelled signals, so there is no curve.", title=title)
    lines, ylabel = _read_curve(report, what)
    drawn = draw_lines(lines.rename_axis(swept.attribute), title=title, ylabel=ylabel)
    mark = hv.VLine(swept.value).opts(color=SLATE, linewidth=1, linestyle="--", backend="matplotlib")
    return (drawn * mark).opts(title=title, **WIDE)


def draw_risk_rules(report: RiskSimulationOut, *, title: str | None = None) -> Chart:
    """Draw what each rule of a simulation is the first to escalate: fraud, legitimate, and without a label.

    Args:
        report: what `lab.signals.simulate` returns.
        title: above the chart; by default the number of signals.

    Returns:
        A column for each rule, in the order in which they decide.

    Raises:
        ValidationFailed: `report` is no simulation of rules.

    >>> from attestlab import plots
    >>> high = {"attr": "signal.score", "op": "gte", "value": 95}
    >>> chart = plots.draw_risk_rules(lab.signals.simulate([{"id": "high", "when": high}], since="2026-10-26"))
    """
    require_answer(report, RiskSimulationOut, name="report", made_by="lab.signals.simulate(...)")
    title = f"What each rule escalates of {report.signals:,} signals" if title is None else title
    if not report.rules:
        return write_nothing("The simulation has no rules.", title=title)
    counts = {
        each.rule_id: (each.escalated - each.fraud - each.legitimate, each.legitimate, each.fraud)
        for each in report.rules
    }
    table = pd.DataFrame.from_dict(counts, orient="index", columns=["no label", "legitimate", "fraud"])
    return draw_columns(table, title=title, ylabel="signals", loud=["fraud"])


def _read_curve(report: RiskSimulationOut, what: str) -> tuple[pd.DataFrame, str]:
    """Read the lines of a curve, by the value of the threshold, and what they show."""
    points = pd.DataFrame([each.model_dump() for each in report.curve]).set_index("value").sort_index()
    if what == "cost":
        return points[["cost"]], "cost"
    if what == "alarms":
        named = {"true_positive": "frauds found", "false_positive": "false alarms"}
        return points[list(named)].rename(columns=named), "signals"
    return points[["recall", "precision"]].astype("float64"), "share"


def _describe(graph: GraphOut) -> str:
    first = graph.nodes[0].id if graph.nodes else "nothing"
    entities, links = plural(len(graph.nodes), "entity", "entities"), plural(len(graph.edges), "link")
    return f"{first}: {entities}, {links}, {plural(len(graph.rings), 'ring')}"


def _arrange(graph: GraphOut) -> dict[str, dict[_Name, tuple[float, float]]]:
    """Place the entities by kind on rings, each near the entity of an inner ring that it is linked to."""
    kinds = list(dict.fromkeys(node.type for node in graph.nodes))
    order = {_name(node): number for number, node in enumerate(graph.nodes)}
    nearest = dict.fromkeys(order, -1)
    for edge in graph.edges:
        inner, outer = sorted((_name(edge.source), _name(edge.target)), key=lambda each: kinds.index(each[0]))
        nearest[outer] = max(nearest[outer], order[inner])
    return {kind: _place_ring(radius, kind, nearest, order) for radius, kind in enumerate(kinds)}


def _place_ring(
    radius: int, kind: str, nearest: Mapping[_Name, int], order: Mapping[_Name, int]
) -> dict[_Name, tuple[float, float]]:
    """Place the entities of one kind on a circle around the first entity."""
    members = sorted((each for each in order if each[0] == kind), key=lambda each: (nearest[each], order[each]))
    turn = 2 * math.pi / len(members)
    angles = [turn * (number + 0.5) for number in range(len(members))]
    places = [(radius * math.cos(angle), radius * math.sin(angle)) for angle in angles]
    return dict(zip(members, places, strict=True))


def _name(entity: NodeOut | EntityNameOut) -> _Name:
    return entity.type, entity.id
