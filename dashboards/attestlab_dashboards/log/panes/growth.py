"""How the log grew: the number of entries at the end of each day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab_dashboards import axes
from attestlab_dashboards.formats import compact, count, day, plural
from attestlab_dashboards.log.panes.entries import read_utc
from attestlab_dashboards.log.public_reads import NO_RIGHTS, sample_sizes
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import empty

GROWTH_POINTS: Final = 90
_MOMENTS: Final = 24  # that a caller without rights asks for, one request each
GROWTH: Final = """
WITH days AS (
  SELECT CAST(date_trunc('day', logged_at) AS TIMESTAMPTZ) AS day, count(*) AS n FROM log_entries GROUP BY ALL),
grown AS (SELECT day, n, sum(n) OVER (ORDER BY day) AS entries FROM days)
SELECT day, n, CAST(entries AS BIGINT) AS entries FROM grown ORDER BY day DESC
"""


@dataclass(frozen=True)
class GrowthDay:
    """A day on which entries were logged: how many, and the size of the log at its end."""

    day: datetime
    added: int
    size: int


@dataclass(frozen=True)
class Growth:
    """The days on which the log grew, oldest first; of a caller who may not count them, some moments `is_sampled`."""

    days: tuple[GrowthDay, ...]
    is_sampled: bool = False


def load_growth(lab: Lab, _state: LogState) -> Growth:
    """Load the last days on which the log grew; without the rights to count them, when it had which size."""
    try:
        rows = list(lab.sql(f"{GROWTH} LIMIT {GROWTH_POINTS}"))
    except NO_RIGHTS:
        return _sample_growth(lab)
    days = [GrowthDay(read_utc(row["day"]), int(str(row["n"])), int(str(row["entries"]))) for row in rows]
    return Growth(tuple(sorted(days, key=lambda each: each.day)))


def _sample_growth(lab: Lab) -> Growth:
    """Sample the growth from public entries: the last size that is known of each day."""
    samples = sample_sizes(lab, len(lab.log), _MOMENTS)
    sizes = {at.replace(hour=0, minute=0, second=0, microsecond=0): size for at, size in samples}
    before = (0, *sizes.values())
    days = (GrowthDay(at, size - last, size) for (at, size), last in zip(sizes.items(), before, strict=False))
    return Growth(tuple(days), is_sampled=True)


def tell_growth(growth: Growth, _state: LogState) -> str:
    """Tell which days the chart has."""
    if growth.is_sampled:
        return f"Entries in the log, by up to {_MOMENTS} of them; each day is counted for callers with an API key"
    return f"Entries in the log, over the newest {GROWTH_POINTS} days that have any"


def select_growth(lab: Lab, _state: LogState) -> Rows:
    """Select all days of the growth, for an export."""
    return lab.sql(GROWTH)


def copy_growth_sql(_state: LogState) -> str:
    """Compose the query of all days of the growth."""
    return GROWTH.strip()


_WIDTH, _HEIGHT = 420.0, 250.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 410.0, 14.0, 214.0
_INSET: Final = " ".join(
    f"{100 * share:.2f}%" for share in (_TOP / _HEIGHT, 1 - _RIGHT / _WIDTH, 1 - _BOTTOM / _HEIGHT, _LEFT / _WIDTH)
)


def draw_growth(growth: Growth, state: LogState) -> Markup:
    """Draw the number of entries at the end of each day on which the log grew."""
    days = growth.days
    if not days:
        return empty("The log is empty", "It has no entry yet.")
    start, end = days[0].day, days[-1].day + timedelta(days=1)
    top = _round_up(days[-1].size)
    line, y = [], _scale_y(days[0].size - days[0].added, top)
    for each in days:
        x_here, y_here = _scale_x(each.day, start, end), _scale_y(each.size, top)
        line += [f"{x_here:.1f},{y:.1f}", f"{x_here:.1f},{y_here:.1f}"]
        y = y_here
    line.append(f"{_RIGHT:.1f},{y:.1f}")
    first_x = line[0].partition(",")[0]
    plot = html(
        '<svg class="lg-draw lg-growth" viewBox="0 0 420 250" role="img" aria-label="{label}">{grid}'
        '<polygon class="lg-area" points="{first},{bottom} {line} {right},{bottom}"/>'
        '<polyline class="lg-line" points="{line}"/>{kept}'
        '<circle class="lg-now" cx="{right}" cy="{y}" r="5"/>{ticks}{tips}</svg>',
        label=_label_growth(days),
        grid=_draw_grid(top),
        first=first_x,
        bottom=f"{_BOTTOM:g}",
        right=f"{_RIGHT:g}",
        line=" ".join(line),
        y=f"{y:.1f}",
        ticks=_draw_days(start, end),
        kept=_draw_kept(days, state, start, end, top),
        tips=_draw_tips(days, start, end),
    )
    return html(
        '{plot}{notes}<p class="lg-legend">{legend}<span><i class="lg-dot lg-new"></i>head of now</span></p>',
        plot=axes.draw_timed(plot, start, end, inset=_INSET),
        notes=axes.draw_notes_place(start, end),
        legend=html('<span><i class="lg-dot lg-old"></i>head that you kept</span>') if state.kept else NOTHING,
    )


def _label_growth(days: tuple[GrowthDay, ...]) -> str:
    first, last = days[0], days[-1]
    return f"{plural(first.size, 'entry', 'entries')} on {day(first.day)}, and {count(last.size)} on {day(last.day)}."


def _draw_kept(days: tuple[GrowthDay, ...], state: LogState, start: datetime, end: datetime, top: int) -> Markup:
    if state.kept is None or state.kept.size > days[-1].size:
        return NOTHING
    size = state.kept.size
    at = next(each.day for each in days if each.size >= size)
    return html(
        '<circle class="lg-then" cx="{x}" cy="{y}" r="5"/>',
        x=f"{_scale_x(at, start, end):.1f}",
        y=f"{_scale_y(size, top):.1f}",
    )


def _draw_tips(days: tuple[GrowthDay, ...], start: datetime, end: datetime) -> Markup:
    """Draw columns that are not seen, from each day to the next one, whose tips tell its entries."""
    ends = [*(each.day for each in days[1:]), end]
    return join(
        html(
            '<rect class="al-hit" data-tip="{tip}" x="{x}" y="{y}" width="{width}" height="{height}"/>',
            tip=f"{day(each.day)}: {plural(each.size, 'entry', 'entries')}, {count(each.added)} more",
            x=f"{_scale_x(each.day, start, end):.1f}",
            y=f"{_TOP:g}",
            width=f"{_scale_x(until, start, end) - _scale_x(each.day, start, end):.1f}",
            height=f"{_BOTTOM - _TOP:g}",
        )
        for each, until in zip(days, ends, strict=True)
    )


def _scale_x(at: datetime, start: datetime, end: datetime) -> float:
    return _LEFT + (_RIGHT - _LEFT) * ((at - start) / (end - start))


def _scale_y(size: int, top: int) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * size / top


def _round_up(number: int) -> int:
    """Round up to a number whose quarters are round.

    >>> [_round_up(number) for number in (1, 39, 20_412)]
    [4, 40, 24000]
    """
    quarters = (int(f"{factor}{'0' * power}") for power in range(19) for factor in (1, 2, 3, 4, 5, 6, 8))
    return next(4 * quarter for quarter in quarters if 4 * quarter >= number)


def _draw_grid(top: int) -> Markup:
    lines = []
    for quarter in range(5):
        value = top * quarter // 4
        y = _scale_y(value, top)
        lines.append(
            html(
                '<path class="lg-grid" d="M{left} {y}H{right}"/>'
                '<text class="lg-m" x="{label}" y="{text}" text-anchor="end">{n}</text>',
                left=f"{_LEFT:g}",
                right=f"{_RIGHT:g}",
                y=f"{y:.1f}",
                label=f"{_LEFT - 8:g}",
                text=f"{y + 4:.1f}",
                n=compact(value),
            )
        )
    return join(lines)


def _draw_days(start: datetime, end: datetime) -> Markup:
    """Draw first, middle and last day below the axis."""
    marks = (
        (_LEFT, start, "start"),
        ((_LEFT + _RIGHT) / 2, start + (end - start) / 2, "middle"),
        (_RIGHT, end - timedelta(days=1), "end"),
    )
    return join(
        html(
            '<text class="lg-m" x="{x}" y="236" text-anchor="{anchor}">{day}</text>',
            x=f"{x:g}",
            anchor=anchor,
            day=day(at),
        )
        for x, at, anchor in marks
    )


PANE: Final = Pane(
    key="growth",
    question="Growth",
    reading=tell_growth,
    span=5,
    load=load_growth,
    draw=draw_growth,
    reads=("looked",),
    copy_sql=copy_growth_sql,
    export=select_growth,
    is_common=True,
)
