"""Charts of the notebooks: hvPlot draws them with Matplotlib, as pictures that a code host shows without scripts.

Importing this module gives every pandas frame `.hvplot`. Colours are those of the dashboards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import holoviews as hv
from IPython.utils.capture import capture_output

with capture_output():  # hvPlot displays the scripts of interactive charts, which pictures do not need
    import hvplot.pandas

    hvplot.extension("matplotlib")

if TYPE_CHECKING:
    import pandas as pd

    from attestlab.client.handles.risk import GraphHandle
    from attestlab.risk.entities.shapes import EntityNameOut, NodeOut

_Name = tuple[str, str]  # the type and id of an entity
BLUE, ORANGE, TEAL, MAGENTA, SLATE, RED = "#4C78DB", "#D9730D", "#12998A", "#BF5796", "#76839A", "#D9534F"
_SERIES = [SLATE, BLUE, TEAL, MAGENTA, ORANGE]
_KINDS = {"user": BLUE, "ip": ORANGE, "device": RED, "issuer": MAGENTA, "document": SLATE, "attestation": TEAL}
_NOUNS, _PLURALS = {"ip": "address"}, {"ip": "addresses"}
_GRID = "#E3E6EB"
_LOOK = {
    "fontsize": {"title": 12, "labels": 10, "ticks": 9, "legend": 9, "legend_title": 9},
    "show_frame": False,
    "backend": "matplotlib",
}
_WIDE = {"fig_inches": 8, "aspect": 3.2, **_LOOK}
_ROUND = {"fig_inches": (6, 5), "aspect": "equal", "xaxis": None, "yaxis": None, **_LOOK}

hv.Store.display_formats = ["png"]


def draw_days(counts: pd.DataFrame, *, title: str, ylabel: str) -> hv.Element:
    """Draw counts as stacked columns: one column for each row (its index is a date), one colour for each series.

    The last series has the loudest colour, so order them from the most usual to the one to see first.
    """
    labelled = counts.set_axis([f"{day:%-d %b}" for day in counts.index])
    columns = labelled.hvplot.bar(stacked=True, color=hv.Cycle(_SERIES[-len(counts.columns) :]), rot=90)
    return columns.opts(edgecolor="none", title=title, xlabel="", ylabel=ylabel, **_WIDE)


def draw_lines(series: pd.DataFrame, *, title: str, ylabel: str) -> hv.Element:
    """Draw one line for each column over the index, a number."""
    lines = series.hvplot.step(color=hv.Cycle([BLUE, RED]), where="post", group_label=ylabel)
    return lines.opts(title=title, xlabel=str(series.index.name), ylabel=ylabel, ylim=(0, None), **_WIDE)


def draw_contributions(factors: Sequence[Mapping[str, object]], *, title: str) -> hv.Element:
    """Draw the factors of a score as bars that start where the last ended, and so sum to the score (0 to 100)."""
    total, bars = 0.0, []
    for row, factor in enumerate(factors):
        start, total = total, total + float(str(factor["contribution"]))
        bars.append((start, -row - 0.35, total, -row + 0.35))
    names = [(-row, str(factor["name"]).replace("_", " ")) for row, factor in enumerate(factors)]
    drawn = hv.Rectangles(bars, ["points", "row", "end", "top"])
    return drawn.opts(
        color=BLUE,
        linewidth=0,
        yticks=names,
        title=title,
        xlabel="points of the score",
        ylabel="",
        xlim=(0, 100),
        **_WIDE,
    )


def draw_graph(graph: GraphHandle, *, title: str) -> hv.Element:
    """Draw an entity and what surrounds it: each kind of entity has its own ring and colour."""
    rings = _arrange(graph)
    places = {each: place for ring in rings.values() for each, place in ring.items()}
    lines = hv.Segments([(*places[_name(edge.source)], *places[_name(edge.target)]) for edge in graph.edges])
    drawn = lines.opts(color=_GRID, linewidth=0.8, backend="matplotlib")
    for kind, ring in rings.items():
        noun = _NOUNS.get(kind, kind) if len(ring) == 1 else _PLURALS.get(kind, f"{kind}s")
        points = hv.Points(list(ring.values()), label=f"{len(ring)} {noun}")
        drawn *= points.opts(color=_KINDS[kind], s=160 if len(ring) < 8 else 50, backend="matplotlib")
    return drawn.opts(title=title, legend_position="right", **_ROUND)


def _arrange(graph: GraphHandle) -> dict[str, dict[_Name, tuple[float, float]]]:
    """Place the entities by kind on rings, each near the entity of an inner ring that it is linked to."""
    kinds = list(dict.fromkeys(node.type for node in graph.nodes))
    order = {_name(node): number for number, node in enumerate(graph.nodes)}
    nearest = dict.fromkeys(order, -1)
    for edge in graph.edges:
        inner, outer = sorted((_name(edge.source), _name(edge.target)), key=lambda each: kinds.index(each[0]))
        nearest[outer] = max(nearest[outer], order[inner])
    rings = {}
    for radius, kind in enumerate(kinds):
        members = sorted((each for each in order if each[0] == kind), key=lambda each: (nearest[each], order[each]))
        turn = 2 * math.pi / len(members)
        rings[kind] = {
            each: (radius * math.cos(turn * (number + 0.5)), radius * math.sin(turn * (number + 0.5)))
            for number, each in enumerate(members)
        }
    return rings


def _name(entity: NodeOut | EntityNameOut) -> _Name:
    return entity.type, entity.id
