"""Charts of the notebooks: hvPlot draws them with Matplotlib, as pictures that a code host shows without scripts.

Importing this module gives every pandas frame `.hvplot`. Colours are those of the dashboards.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import holoviews as hv
from IPython.utils.capture import capture_output
from matplotlib.colors import LinearSegmentedColormap

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
_GRID, _INK = "#E3E6EB", "#16202E"
_STATES = {"ok": "#8FD3B0", "FAILED": "#F0908A", "open": "#F2D492", "skipped": "#EDF0F4"}  # behind dark words
_LOOK = {
    "fig_size": 100,  # percent; hvPlot has another default
    "fontsize": {"title": 12, "labels": 10, "ticks": 9, "legend": 9, "legend_title": 9},
    "show_frame": False,
    "backend": "matplotlib",
}
_WIDE = {"fig_inches": 8, "aspect": 3.2, **_LOOK}
_ROUND = {"fig_inches": (6, 5), "aspect": "equal", "xaxis": None, "yaxis": None, **_LOOK}

hv.Store.display_formats = ["png"]
hv.Store.renderers["matplotlib"].dpi = 110


def draw_days(counts: pd.DataFrame, *, title: str, ylabel: str) -> hv.Element:
    """Draw counts as stacked columns, one for each day of the index; see `draw_columns`."""
    labelled = counts.set_axis([f"{day:%-d %b}" for day in counts.index])
    return draw_columns(labelled, title=title, ylabel=ylabel, rot=90)


def draw_columns(counts: pd.DataFrame, *, title: str, ylabel: str, rot: int = 0) -> hv.Element:
    """Draw counts as stacked columns: one column for each row, one colour for each series.

    The last series has the loudest colour, so order them from the most usual to the one to see first.
    """
    columns = counts.hvplot.bar(stacked=True, color=hv.Cycle(_SERIES[-len(counts.columns) :]), rot=rot)
    return columns.opts(edgecolor="none", title=title, xlabel="", ylabel=ylabel, **_WIDE)


def draw_bars(values: pd.Series, *, title: str, xlabel: str, loud: Collection[object] = ()) -> hv.Element:
    """Draw one bar for each row, the first at the top, with its number; the rows in `loud` are red."""
    top = float(values.max()) or 1.0
    rows = list(enumerate(values.items()))
    drawn = hv.Labels([(float(value) + top * 0.015, -row, f"{value:,.6g}") for row, (_, value) in rows]).opts(
        horizontalalignment="left", color=_INK, size=9, backend="matplotlib"
    )
    for colour, is_loud in ((BLUE, False), (RED, True)):
        bars = [(0, -row - 0.35, float(value), -row + 0.35) for row, (name, value) in rows if (name in loud) is is_loud]
        drawn *= hv.Rectangles(bars).opts(color=colour, linewidth=0, backend="matplotlib")
    names = [(-row, str(name)) for row, (name, _) in rows]
    look = {**_WIDE, "aspect": max(1.6, 13 / (len(values) + 1))}
    return drawn.opts(yticks=names, title=title, xlabel=xlabel, ylabel="", xlim=(0, top * 1.12), **look)


def draw_states(states: pd.DataFrame, *, title: str) -> hv.Element:
    """Draw a table of words as coloured cells: `ok`, `FAILED`, and in grey what was not proven or not reached."""
    cells = [
        (column, -row, str(states.iat[row, column]))
        for row in range(len(states))
        for column in range(len(states.columns))
    ]
    drawn = hv.Labels(cells).opts(color=_INK, size=9, backend="matplotlib")
    for word, colour in _STATES.items():
        boxes = [(x - 0.48, y - 0.42, x + 0.48, y + 0.42) for x, y, state in cells if state == word]
        drawn = hv.Rectangles(boxes).opts(color=colour, linewidth=0, backend="matplotlib") * drawn
    xticks = list(enumerate(map(str, states.columns)))
    yticks = [(-row, str(name)) for row, name in enumerate(states.index)]
    look = {**_WIDE, "aspect": max(1.6, 13 / (len(states) + 1))}
    return drawn.opts(xticks=xticks, yticks=yticks, xlabel="", ylabel="", title=title, **look)


def draw_counts(counts: pd.DataFrame, *, title: str) -> hv.Element:
    """Draw a table of counts as cells, each with its number; the more, the bluer."""
    top = float(counts.to_numpy().max()) or 1.0
    rows, columns = range(len(counts)), range(len(counts.columns))
    cells = [(column, -row, int(counts.iat[row, column])) for row in rows for column in columns]
    shades = LinearSegmentedColormap.from_list("shades", ["#F3F6FE", "#8FAEEB"])  # dark text is readable on each
    drawn = hv.HeatMap(cells).opts(cmap=shades, clim=(0, top), backend="matplotlib")
    texts = hv.Labels([(x, y, f"{count:,}") for x, y, count in cells])
    drawn *= texts.opts(color=_INK, size=10, backend="matplotlib")
    xticks = list(enumerate(map(str, counts.columns)))
    yticks = [(-row, str(name)) for row, name in enumerate(counts.index)]
    look = {**_WIDE, "aspect": max(1.6, 13 / (len(counts) + 1))}
    names = {"xlabel": str(counts.columns.name), "ylabel": str(counts.index.name)}
    return drawn.opts(xticks=xticks, yticks=yticks, title=title, **names, **look)


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
