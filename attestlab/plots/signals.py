"""Charts of signals over time: how many there are, their scores, and how severe they are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import pandas as pd

from attestlab.plots.look import write_nothing
from attestlab.plots.requirements import (
    require_choice,
    require_columns,
    require_frame,
    require_names,
    require_steps,
    require_window,
)
from attestlab.plots.tables import draw_columns, draw_times

if TYPE_CHECKING:
    from attestlab.plots.look import Chart

MAX_SERIES: Final = 5  # colours of one chart
MAX_COLUMNS: Final = 12  # whose names are readable
LOUD: Final = ("critical", "escalated")  # series that are red
OTHERS: Final = "others"
NO_SIGNALS: Final = "There are no signals in this time."
SEVERITIES: Final = ("normal", "elevated", "high", "critical")  # of a score from 0, 50, 70 and 90
STEPS: Final = {"hour": "%-d %b %H:00", "day": "%-d %b", "week": "%-d %b", "month": "%b %Y"}
_FREQUENCIES: Final = {"hour": "h", "day": "D", "week": "7D", "month": "MS"}
_YEAR_DAYS: Final = 365

ChartTimes = tuple[datetime, datetime]
"""The first time of a chart, and its end."""


def draw_volume(
    counts: pd.DataFrame, *, every: str, title: str, order: Sequence[str] = (), window: ChartTimes | None = None
) -> Chart:
    """Draw how many signals there were in each step of time, by series.

    Args:
        counts: a row for each step and series: `at` (its beginning), `series` (a text) and `n`.
        every: `hour`, `day`, `week` or `month`; a step without signals has an empty place.
        title: above the chart.
        order: the series from the most usual to the one to see first; by default the largest first, of which all but
            four are `others`.
        window: the first time and the end of the chart; by default those of the signals.

    Returns:
        Stacked columns, from left to right in time.

    Raises:
        ValidationFailed: `counts` is no such frame, `every` is another word, `order` no list, or `window` no window.

    >>> from attestlab import plots
    >>> query = "select date_trunc('day', occurred_at) as at, source as series, count(*) as n from this group by all"
    >>> chart = plots.draw_volume(lab.signals.sql(query).df(), every="week", title="Signals by source")
    """
    table = spread_series(counts, every=every, values="n", window=window)
    if table.empty:
        return write_nothing(NO_SIGNALS, title=title)
    known = [name for name in require_names(order, name="order") if name in table.columns]
    table = table[known] if known else gather_others(table)
    return draw_columns(_name_steps(table, every), title=title, ylabel=f"signals per {every}", rot=90, loud=LOUD)


def draw_severities(counts: pd.DataFrame, *, title: str) -> Chart:
    """Draw how severe the signals of each series are.

    Args:
        counts: a row for each series and severity: `series` (a text), `severity` (`normal`, `elevated`, `high` or
            `critical`) and `n`.
        title: above the chart.

    Returns:
        A column for each series, the one with most signals first, at most twelve.

    Raises:
        ValidationFailed: `counts` is no frame.

    >>> import pandas
    >>> from attestlab import plots
    >>> counts = pandas.DataFrame({"series": ["login", "login"], "severity": ["normal", "critical"], "n": [40, 3]})
    >>> chart = plots.draw_severities(counts, title="Severity by source")
    """
    counts = require_columns(counts, {"series", "severity", "n"}, name="counts")
    require_frame(counts[["n"]], name="counts")
    if counts.empty:
        return write_nothing(NO_SIGNALS, title=title)
    table = counts.pivot_table(index="series", columns="severity", values="n", aggfunc="sum", fill_value=0)
    table = table.reindex(columns=list(SEVERITIES), fill_value=0).astype("int64")
    largest = table.loc[table.sum(axis="columns").sort_values(ascending=False, kind="stable").index[:MAX_COLUMNS]]
    rot = 90 if len(largest) > 6 else 0
    return draw_columns(largest.rename_axis(columns=None), title=title, ylabel="signals", rot=rot, loud=LOUD)


def draw_scores(scores: pd.DataFrame, *, every: str, title: str) -> Chart:
    """Draw the scores of each step of time as lines, one for each series.

    Args:
        scores: a row for each step and series: `at` (its beginning), `series` (a text), `score` (0 to 100) and `n`,
            the number of signals.
        every: `hour`, `day`, `week` or `month`.
        title: above the chart.

    Returns:
        A line for each of the five series with most signals; a step without signals has no point.

    Raises:
        ValidationFailed: `scores` is no frame, or `every` is another word.

    >>> import pandas
    >>> from attestlab import plots
    >>> days = pandas.to_datetime(["2026-11-01", "2026-11-02"], utc=True)
    >>> scores = pandas.DataFrame({"at": days, "series": "login", "score": [31.5, 44.0], "n": [80, 75]})
    >>> chart = plots.draw_scores(scores, every="day", title="Scores of logins")
    """
    require_choice(every, STEPS, name="every")
    scores = require_steps(require_columns(scores, {"n"}, name="scores"), "score", name="scores")
    if scores.empty:
        return write_nothing(NO_SIGNALS, title=title)
    largest = (
        scores.groupby("series", sort=False)["n"].sum().sort_values(ascending=False, kind="stable").index[:MAX_SERIES]
    )
    table = scores[scores["series"].isin(largest)].assign(at=begin_steps(scores["at"], every))
    lines = table.pivot_table(index="at", columns="series", values="score")[list(largest)]
    return draw_times(lines.rename_axis(columns=None), title=title, ylabel=f"score per {every}")


def spread_series(rows: pd.DataFrame, *, every: str, values: str, window: ChartTimes | None = None) -> pd.DataFrame:
    """Spread rows of step and series into a row for each step and a column for each series.

    Steps without rows are zero: those between the first and the last row, or all of a window.

    Raises:
        ValidationFailed: `rows` is no such frame, `every` is another word, or `window` no window.
    """
    require_choice(every, STEPS, name="every")
    rows, window = require_steps(rows, values, name="counts"), require_window(window, name="window")
    if rows.empty:
        return pd.DataFrame()
    starts = begin_steps(rows["at"], every)
    table = rows.assign(at=starts).pivot_table(index="at", columns="series", values=values, aggfunc="sum", fill_value=0)
    first, last = _find_ends(table.index, every, window)
    whole = pd.date_range(first, last, freq=_FREQUENCIES[every])
    return table.reindex(whole, fill_value=0).astype("int64")


def _find_ends(steps: pd.Index, every: str, window: ChartTimes | None) -> tuple[pd.Timestamp, pd.Timestamp]:
    """Find the first and the last step: of a window, whose end is the first time after it, or of the rows."""
    if window is None:
        return steps[0], steps[-1]
    first, last = begin_steps(pd.Series([window[0], window[1] - timedelta(microseconds=1)]), every)
    return min(first, steps[0]), max(last, steps[-1])


def begin_steps(times: pd.Series, every: str) -> pd.Series:
    """Return the beginning of the hour, day, week (Monday) or month of each time, in UTC."""
    at = pd.to_datetime(times, utc=True)
    if every in ("hour", "day"):
        return at.dt.floor(_FREQUENCIES[every])
    days = at.dt.floor("D")
    offsets = days.dt.day_of_week if every == "week" else days.dt.day - 1
    return days - pd.to_timedelta(offsets, unit="D")


def gather_others(table: pd.DataFrame) -> pd.DataFrame:
    """Keep the four largest series, and sum all others; the smallest of those that are kept is the loudest."""
    totals = table.sum().sort_values(ascending=False, kind="stable")
    if len(totals) <= MAX_SERIES:
        return table[list(totals.index)]
    kept = list(totals.index[: MAX_SERIES - 1])
    gathered = table[kept].copy()
    gathered.insert(0, OTHERS, table.drop(columns=kept).sum(axis="columns"))
    return gathered


def _name_steps(table: pd.DataFrame, every: str) -> pd.DataFrame:
    """Name each step by its beginning; with the year where the same day occurs twice."""
    is_long = (table.index[-1] - table.index[0]).days >= _YEAR_DAYS and every != "month"
    form = STEPS[every].replace("%b", "%b %Y") if is_long else STEPS[every]
    return table.set_axis([f"{at:{form}}" for at in table.index]).rename_axis(columns=None)
