"""Scales and axes of charts.

A plot is an SVG that is stretched to its box; the words of its axes are HTML next to it, so they keep their size on a
phone. Positions are percentages or the units of the plot, 1,000 wide and 100 high.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from math import floor, log10
from typing import Final

from markupsafe import Markup

from attestlab_dashboards.formats import compact
from attestlab_dashboards.safe import NOTHING, html, join

WIDTH: Final = 1_000
HEIGHT: Final = 100


def choose_ticks(top: float, wanted: int = 4) -> Sequence[int]:
    """Return round numbers from 0 up to at least `top`, about `wanted` of them.

    >>> choose_ticks(491), choose_ticks(52, 2), choose_ticks(0)
    ([0, 200, 400, 600], [0, 30, 60], [0, 1])
    """
    if top <= 1:
        return [0, 1]
    rough = top / wanted
    size = 10 ** floor(log10(rough))
    step = max(1, round(next(each * size for each in (1, 2, 2.5, 3, 4, 5, 10) if each * size >= rough)))
    return list(range(0, -int(-top // step) * step + 1, step))


def draw_scale(ticks: Sequence[float]) -> Markup:
    """Draw the words of a vertical axis whose plot reaches from the first tick to the last."""
    span = ticks[-1] - ticks[0]
    marks = (
        html('<span style="bottom:{at}%">{text}</span>', at=f"{100 * (tick - ticks[0]) / span:.2f}", text=compact(tick))
        for tick in ticks
    )
    return html('<div class="al-y" aria-hidden="true">{marks}</div>', marks=join(marks))


def draw_grid(ticks: Sequence[float]) -> Markup:
    """Draw a line of the plot for each tick."""
    span = ticks[-1] - ticks[0]
    heights = (f"{HEIGHT - HEIGHT * (tick - ticks[0]) / span:.2f}" for tick in ticks)
    return join(html('<path class="al-gridline" d="M0 {y}H1000"/>', y=y) for y in heights)


def draw_marks(marks: Iterable[tuple[float, str]]) -> Markup:
    """Draw the words of a horizontal axis, each at its place from 0 to 1."""
    drawn = (html('<span style="left:{at}%">{text}</span>', at=f"{100 * at:.2f}", text=text) for at, text in marks)
    return html('<div class="al-x" aria-hidden="true">{marks}</div>', marks=join(drawn))


def draw_lane(scale: Markup, plot: Markup, height: str) -> Markup:
    """Draw a plot with its scale on the left; `height` is one of the lane's sizes: s, m, l."""
    return html('<div class="al-lane {height}">{scale}{plot}</div>', height=height, scale=scale, plot=plot)


def draw_timed(plot: Markup, start: datetime, end: datetime, *, has_flags: bool = True, inset: str = "0") -> Markup:
    """Draw a plot whose width is a time, over which the page marks annotations; `inset` is where its axes stand.

    Of several plots of one time, the first alone `has_flags`.
    """
    return html(
        '<div class="al-timed">{plot}<div class="al-marks" data-from="{start}" data-to="{end}"{plain} '
        'style="inset:{inset}"></div></div>',
        plot=plot,
        start=start.isoformat(),
        end=end.isoformat(),
        plain=NOTHING if has_flags else html(" data-plain"),
        inset=inset,
    )


def draw_notes_place(start: datetime, end: datetime) -> Markup:
    """Draw the place below a chart of this time where the page lists its annotations."""
    return html(
        '<div class="al-notes" data-from="{start}" data-to="{end}"></div>', start=start.isoformat(), end=end.isoformat()
    )


def draw_rect(x: float, y: float, width: float, height: float, css: str) -> Markup:
    """Draw a rectangle of a plot; `y` counts from the bottom."""
    return html(
        '<rect class="{css}" x="{x}" y="{y}" width="{width}" height="{height}"/>',
        css=css,
        x=f"{x:.2f}",
        y=f"{HEIGHT - y - height:.2f}",
        width=f"{width:.2f}",
        height=f"{height:.2f}",
    )


def draw_tips(tips: Iterable[tuple[float, float, str]]) -> Markup:
    """Draw what tells the numbers of a plot where the pointer is: columns that are not seen, from a place to another.

    Each of `tips` has the left and right end of a column in units of the plot, and its words.
    """
    return join(
        html('<g data-tip="{tip}">{hit}</g>', tip=tip, hit=draw_rect(left, 0, right - left, HEIGHT, "al-hit"))
        for left, right, tip in tips
    )


def write_path(points: Iterable[tuple[float, float]]) -> str:
    """Write a line through points of a plot; `y` counts from the bottom."""
    return "M" + "L".join(f"{x:.2f} {HEIGHT - y:.2f}" for x, y in points)
