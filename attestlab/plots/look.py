"""The look of every chart: the backend that draws it, its colours and sizes, those of the dashboards.

Loading this module makes Matplotlib the backend of HoloViews, whose charts are then PNG pictures: a code host, a
saved notebook and a mail show these without scripts.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Final, TypeAlias

import holoviews as hv
import hvplot
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

# What every function of `attestlab.plots` returns: an element or overlay of HoloViews, with `opts`, `*` and `+`.
Chart: TypeAlias = hv.core.Dimensioned

BLUE, ORANGE, TEAL, MAGENTA, SLATE, RED = "#4C78DB", "#D9730D", "#12998A", "#BF5796", "#76839A", "#D9534F"
SERIES: Final = [SLATE, BLUE, TEAL, MAGENTA, ORANGE]  # the last one is the loudest
INK, GRID = "#16202E", "#E3E6EB"
SERIES_LABEL: Final = "series"  # the title of a legend
MAX_TICKS: Final = 32  # names below the columns of one chart that are readable

_LOOK: Final[dict[str, object]] = {
    "fig_size": 100,  # percent; hvPlot has another default
    "fontsize": {"title": 12, "labels": 10, "ticks": 9, "legend": 9, "legend_title": 9},
    "show_frame": False,
    "backend": "matplotlib",
}
WIDE: Final[dict[str, object]] = {"fig_inches": 8, "aspect": 3.2, **_LOOK}
ROUND: Final[dict[str, object]] = {"fig_inches": (6, 5), "aspect": "equal", "xaxis": None, "yaxis": None, **_LOOK}
_DPI: Final = 110


def _capture_scripts() -> AbstractContextManager[object]:
    """Keep from a notebook the scripts of interactive charts, which hvPlot displays and pictures do not need."""
    if "IPython" not in sys.modules:
        return nullcontext()
    from IPython.utils.capture import capture_output

    return capture_output()


with _capture_scripts():
    hvplot.extension("matplotlib")
hv.Store.display_formats = ["png"]
hv.Store.renderers["matplotlib"].dpi = _DPI


def size_rows(count: int) -> dict[str, object]:
    """Return the look of a wide chart with a number of rows, which get a height that is readable."""
    return {**WIDE, "aspect": max(1.6, 13 / (count + 1))}


def write_nothing(sentence: str, *, title: str) -> Chart:
    """Draw a chart that says in a sentence why it has no data."""
    text = hv.Labels([(0, 0, sentence)]).opts(color=SLATE, size=11, backend="matplotlib")
    return text.opts(title=title, xaxis=None, yaxis=None, xlim=(-1, 1), ylim=(-1, 1), **WIDE)


def thin_ticks(plot: hv.plotting.Plot, element: object) -> None:
    """Hide names below columns that would overlap: a hook of HoloViews, which calls it with its Matplotlib plot."""
    ticks = plot.handles["axis"].get_xticklabels()
    step = -(-len(ticks) // MAX_TICKS)
    for place, tick in enumerate(ticks):
        tick.set_visible(place % step == 0)


def label_axis(ylabel: str, plot: hv.plotting.Plot, element: object) -> None:
    """Write what stacked columns count, which HoloViews leaves out: a hook, as `thin_ticks`."""
    plot.handles["axis"].set_ylabel(ylabel)


def space_times(plot: hv.plotting.Plot, element: object) -> None:
    """Write as few times below lines as are readable: a hook, as `thin_ticks`."""
    axis = plot.handles["axis"].xaxis
    locator = AutoDateLocator(maxticks=8)  # type: ignore[no-untyped-call]  # Matplotlib has types in places
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
