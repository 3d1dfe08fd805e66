"""Charts of any table: columns by day, bars, lines, a table of words, a table of counts."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, Final

import holoviews as hv
import pandas as pd
from hvplot import hvPlot
from matplotlib.colors import LinearSegmentedColormap

from attestlab.core.errors import ValidationFailed
from attestlab.plots.look import (
    BLUE,
    INK,
    RED,
    SERIES,
    SERIES_LABEL,
    WIDE,
    label_axis,
    size_rows,
    space_times,
    thin_ticks,
    write_nothing,
)
from attestlab.plots.requirements import require_angle, require_frame, require_names, require_series, require_words

if TYPE_CHECKING:
    from attestlab.plots.look import Chart

_STATES = {"ok": "#8FD3B0", "FAILED": "#F0908A", "open": "#F2D492", "skipped": "#EDF0F4"}  # behind dark words
_SHADES: Final = LinearSegmentedColormap.from_list("shades", ["#F3F6FE", "#8FAEEB"])  # dark text is readable on each
_NO_ROWS: Final = "There are no rows."


def draw_days(counts: pd.DataFrame, *, title: str, ylabel: str) -> Chart:
    """Draw counts as stacked columns, one for each day of the index.

    Args:
        counts: a row for each day (dates, or the beginnings of days), a column of numbers for each series.
        title: above the chart.
        ylabel: what is counted.

    Returns:
        The columns, from left to right in the order of the rows.

    Raises:
        ValidationFailed: `counts` is no frame of numbers, or its index has no days.

    >>> import pandas
    >>> from attestlab import plots
    >>> days = pandas.to_datetime(["2026-11-01", "2026-11-02"])
    >>> counts = pandas.DataFrame({"login": [3, 8], "media": [1, 0]}, index=days)
    >>> plots.draw_days(counts, title="Signals", ylabel="signals a day")
    :Bars   [index,series]   (value)
    """
    require_frame(counts, name="counts")
    try:
        days = [f"{pd.Timestamp(day):%-d %b}" for day in counts.index]
    except (TypeError, ValueError):
        raise ValidationFailed(
            "The index of counts has no days. Set it first: counts.set_index(pd.to_datetime(...))."
        ) from None
    return draw_columns(counts.set_axis(days), title=title, ylabel=ylabel, rot=90)


def draw_columns(
    counts: pd.DataFrame, *, title: str, ylabel: str, rot: float = 0, loud: Collection[object] = ()
) -> Chart:
    """Draw counts as stacked columns: one column for each row, one colour for each series.

    The last series has the loudest colour, so order them from the most usual to the one to see first.

    Args:
        counts: a row for each column of the chart, which the index names; a column of numbers for each series.
        title: above the chart.
        ylabel: what is counted.
        rot: by how many degrees the names below the columns are turned.
        loud: names of series that are red.

    Returns:
        The columns, from left to right in the order of the rows.

    Raises:
        ValidationFailed: `counts` is no frame of numbers, `rot` no angle, or `loud` no list.

    >>> import pandas
    >>> from attestlab import plots
    >>> counts = pandas.DataFrame({"legitimate": [40, 12], "fraud": [2, 9]}, index=["Mon", "Tue"])
    >>> plots.draw_columns(counts, title="Cases", ylabel="cases")
    :Bars   [index,series]   (value)
    """
    if require_frame(counts, name="counts").empty:
        return write_nothing(_NO_ROWS, title=title)
    loud, rot = require_names(loud, name="loud"), require_angle(rot, name="rot")
    usual = SERIES[-len(counts.columns) :] if len(counts.columns) > 1 else [BLUE]
    colours = [RED if name in loud else usual[place % len(usual)] for place, name in enumerate(counts.columns)]
    columns = hvPlot(_drop_names(counts)).bar(stacked=True, color=colours, rot=rot, group_label=SERIES_LABEL)
    hooks = [thin_ticks, partial(label_axis, ylabel)]
    return columns.opts(edgecolor="none", title=title, xlabel="", ylabel=ylabel, hooks=hooks, **WIDE)


def draw_bars(values: pd.Series, *, title: str, xlabel: str, loud: Collection[object] = ()) -> Chart:
    """Draw one bar for each row, the first at the top, with its number.

    Args:
        values: a number for each bar, which the index names.
        title: above the chart.
        xlabel: what is counted.
        loud: names of rows whose bars are red.

    Returns:
        The bars with their numbers.

    Raises:
        ValidationFailed: `values` is no series of numbers, or `loud` no list.

    >>> from attestlab import plots
    >>> kinds = lab.sql("select schema_id, count(*) as n from attestations group by all order by n desc").df()
    >>> chart = plots.draw_bars(kinds.set_index("schema_id")["n"], title="What is attested", xlabel="attestations")
    """
    if require_series(values, name="values").empty:
        return write_nothing(_NO_ROWS, title=title)
    loud = require_names(loud, name="loud")
    top = float(values.max()) or 1.0
    rows = list(enumerate(values.items()))
    drawn = hv.Labels([(float(value) + top * 0.015, -row, f"{value:,.6g}") for row, (_, value) in rows]).opts(
        horizontalalignment="left", color=INK, size=9, backend="matplotlib"
    )
    for colour, is_loud in ((BLUE, False), (RED, True)):
        bars = [(0, -row - 0.35, float(value), -row + 0.35) for row, (name, value) in rows if (name in loud) is is_loud]
        drawn *= hv.Rectangles(bars).opts(color=colour, linewidth=0, backend="matplotlib")
    names = [(-row, str(name)) for row, (name, _) in rows]
    return drawn.opts(yticks=names, title=title, xlabel=xlabel, ylabel="", xlim=(0, top * 1.12), **size_rows(len(rows)))


def draw_states(states: pd.DataFrame, *, title: str) -> Chart:
    """Draw a table of words as coloured cells: `ok`, `FAILED`, and in grey what was not proven or not reached.

    Args:
        states: a word in each cell; `ok`, `FAILED`, `open` and `skipped` have colours.
        title: above the chart.

    Returns:
        The cells, in the order of rows and columns.

    Raises:
        ValidationFailed: `states` is no frame.

    >>> import pandas
    >>> from attestlab import plots
    >>> bundle = next(lab.attestations.list(schema="degree")).bundle()
    >>> chart = plots.draw_states(pandas.DataFrame({"bundle": bundle.verify().steps}).T, title="What was verified")
    """
    if require_words(states, name="states").empty:
        return write_nothing(_NO_ROWS, title=title)
    rows, columns = range(len(states)), range(len(states.columns))
    cells = [(column, -row, str(states.iat[row, column])) for row in rows for column in columns]
    drawn = hv.Labels(cells).opts(color=INK, size=9, backend="matplotlib")
    for word, colour in _STATES.items():
        boxes = [(x - 0.48, y - 0.42, x + 0.48, y + 0.42) for x, y, state in cells if state == word]
        drawn = hv.Rectangles(boxes).opts(color=colour, linewidth=0, backend="matplotlib") * drawn
    return drawn.opts(xlabel="", ylabel="", title=title, **_name_cells(states))


def draw_counts(counts: pd.DataFrame, *, title: str) -> Chart:
    """Draw a table of counts as cells, each with its number; the more, the bluer.

    Args:
        counts: whole numbers; the names of index and columns name the axes.
        title: above the chart.

    Returns:
        The cells, in the order of rows and columns.

    Raises:
        ValidationFailed: `counts` is no frame of numbers.

    >>> from attestlab import plots
    >>> cases = lab.cases.df()
    >>> counts = cases.groupby(["entity_type", "status"], observed=True).size().unstack(fill_value=0)
    >>> chart = plots.draw_counts(counts, title="Cases")
    """
    if require_frame(counts, name="counts").empty:
        return write_nothing(_NO_ROWS, title=title)
    top = float(counts.to_numpy().max()) or 1.0
    rows, columns = range(len(counts)), range(len(counts.columns))
    cells = [(column, -row, int(counts.iat[row, column])) for row in rows for column in columns]
    drawn = hv.HeatMap(cells).opts(cmap=_SHADES, clim=(0, top), show_values=False, backend="matplotlib")
    texts = hv.Labels([(x, y, f"{count:,}") for x, y, count in cells])
    drawn *= texts.opts(color=INK, size=10, backend="matplotlib")
    names = {"xlabel": str(counts.columns.name or ""), "ylabel": str(counts.index.name or "")}
    return drawn.opts(title=title, **names, **_name_cells(counts))


def draw_lines(series: pd.DataFrame, *, title: str, ylabel: str) -> Chart:
    """Draw one line of steps for each column over the index, a number.

    Args:
        series: a row for each number of the index, whose name names the axis; a column for each line.
        title: above the chart.
        ylabel: what the lines show.

    Returns:
        The lines, from zero up.

    Raises:
        ValidationFailed: `series` is no frame of numbers.

    >>> from attestlab import plots
    >>> sweep = lab.policies.sweep("Employment checks", ("old-key", "key.age_days"), until="2026-11-02").sweep
    >>> lines = sweep.df().set_index("value")[["opened", "closed"]].rename_axis("days")
    >>> chart = plots.draw_lines(lines, title="What a limit of age would change", ylabel="decisions")
    """
    if require_frame(series, name="series").empty:
        return write_nothing(_NO_ROWS, title=title)
    colours = hv.Cycle([BLUE, RED, *SERIES[2:]])
    lines = hvPlot(_drop_names(series)).step(color=colours, where="post", group_label=SERIES_LABEL)
    return lines.opts(title=title, xlabel=str(series.index.name or ""), ylabel=ylabel, ylim=(0, None), **WIDE)


def draw_times(series: pd.DataFrame, *, title: str, ylabel: str) -> Chart:
    """Draw one line for each column over time, from point to point.

    Args:
        series: a row for each time of the index, a column for each line; a missing value is a gap.
        title: above the chart.
        ylabel: what the lines show.

    Returns:
        The lines, from zero up.

    Raises:
        ValidationFailed: `series` is no frame of numbers, or its index has no times.

    >>> import pandas
    >>> from attestlab import plots
    >>> days = pandas.to_datetime(["2026-11-01", "2026-11-02"])
    >>> chart = plots.draw_times(pandas.DataFrame({"login": [31.5, 44]}, index=days), title="Scores", ylabel="score")
    """
    if require_frame(series, name="series").empty:
        return write_nothing(_NO_ROWS, title=title)
    if not isinstance(series.index, pd.DatetimeIndex):
        raise ValidationFailed("The index of series has no times. Set it first: series.set_index(pd.to_datetime(...)).")
    lines = hvPlot(_drop_names(series.tz_localize(None))).line(
        color=hv.Cycle([BLUE, RED, *SERIES[2:]]), group_label=SERIES_LABEL
    )
    return lines.opts(title=title, xlabel="", ylabel=ylabel, ylim=(0, None), hooks=[space_times], **WIDE)


def _drop_names(table: pd.DataFrame) -> pd.DataFrame:
    """Drop the names of the axes, because hvPlot refuses a table in which one is that of another dimension."""
    return table.rename_axis(index=None, columns=None)


def _name_cells(table: pd.DataFrame) -> dict[str, object]:
    """Name the rows and columns of a table of cells."""
    xticks = list(enumerate(map(str, table.columns)))
    yticks = [(-row, str(name)) for row, name in enumerate(table.index)]
    return {"xticks": xticks, "yticks": yticks, **size_rows(len(table))}
