"""What was used on each day, against the limit of a day and the threshold at which its event is published."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Final

from markupsafe import Markup

from attestlab.billing.rules import THRESHOLDS
from attestlab.orgs.rules import Scope
from attestlab_dashboards import axes
from attestlab_dashboards.formats import count, percent, plural
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.usage.changes import UsageReport, load_report
from attestlab_dashboards.usage.forecast import MeterDay
from attestlab_dashboards.usage.overview import UsageOverview, export_days, write_days_sql
from attestlab_dashboards.usage.state import FILTERS, UsageState
from attestlab_dashboards.usage.words import write_date
from attestlab_dashboards.widgets import button, empty

FIRST_THRESHOLD: Final = THRESHOLDS[0]  # percent
_BAR_SHARE: Final = 0.78  # of a day's width
_TIME_TICKS: Final = 5
_MAX_HEADROOM: Final = 3  # a limit further above the highest day, as a multiple, is not drawn


def write_reading(report: UsageReport, state: UsageState) -> str:
    """Write what the chart shows."""
    overview = report.overview
    limit = overview.get_item(state.meter).limit
    against = "without a limit" if limit is None else f"against the {count(limit)} that a day allows now"
    return f"{state.meter.capitalize()} of each UTC day, {state.find_days(overview.today).words}, {against}"


def draw_days(report: UsageReport, state: UsageState) -> Markup:
    """Draw a bar for each day, with the limit and its threshold."""
    overview = report.overview
    shown, limit = state.find_days(overview.today), overview.get_item(state.meter).limit
    days = overview.list_between(state.meter, shown)
    most = max(days, key=lambda each: each.used, default=None)
    if most is None or not most.used:
        back = button("Reset", ev="clear", v="all", primary=True) if state.list_changed(FILTERS) else NOTHING
        return empty("Nothing was used", f"There are no {state.meter} in this time: {shown.words}.", back)
    has_line = limit is not None and 0 < limit <= _MAX_HEADROOM * most.used
    ticks = axes.choose_ticks(max(most.used, limit if has_line and limit else 0))
    lines = draw_limit_lines(limit, ticks[-1]) if has_line and limit else NOTHING
    plot = html(
        '<svg class="al-plot" viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label="{label}">'
        "{grid}{bars}{lines}</svg>",
        label=_write_summary(days, most, limit, overview),
        grid=axes.draw_grid(ticks),
        bars=join(_draw_day(place, days, limit, ticks[-1], overview) for place in range(len(days))),
        lines=lines,
    )
    start, end = _find_ends(days)
    named = html(
        "<div>{plot}{names}</div>",
        plot=axes.draw_timed(plot, start, end),
        names=draw_limit_names(limit, ticks[-1]) if has_line else NOTHING,
    )
    return html(
        '{lane}{axis}{notes}<p class="al-tip small muted" data-tip-line>{summary}</p>',
        lane=axes.draw_lane(axes.draw_scale(ticks), named, "l"),
        axis=axes.draw_marks(_list_marks(days, overview)),
        notes=axes.draw_notes_place(start, end),
        summary=_write_summary(days, most, limit, overview),
    )


def _find_ends(days: Sequence[MeterDay]) -> tuple[datetime, datetime]:
    """Find when the first day begins and the last one ends (UTC)."""
    first, last = (datetime.combine(each.day, time(), UTC) for each in (days[0], days[-1]))
    return first, last + timedelta(days=1)


def draw_limit_lines(limit: int, top: float) -> Markup:
    """Draw the line of a limit, and that of its first threshold."""
    return html(
        '<path class="us-threshold" d="M0 {threshold}H1000"/><path class="us-limit" d="M0 {limit}H1000"/>',
        threshold=f"{100 - FIRST_THRESHOLD * limit / top:.2f}",
        limit=f"{100 - 100 * limit / top:.2f}",
    )


def draw_limit_names(limit: int | None, top: float) -> Markup:
    """Draw the words next to these lines."""
    if limit is None:
        return NOTHING
    return html(
        '<span class="us-name bad" style="bottom:{limit_at}%">limit {limit}</span>'
        '<span class="us-name warn" style="bottom:{threshold_at}%">{percent} %</span>',
        limit_at=f"{100 * limit / top:.2f}",
        limit=count(limit),
        threshold_at=f"{FIRST_THRESHOLD * limit / top:.2f}",
        percent=FIRST_THRESHOLD,
    )


def tone_of(used: int, limit: int | None) -> str:
    """Return the colour of a day: red at its limit, amber from the first threshold on.

    >>> [tone_of(used, 10) for used in (7, 8, 10)], tone_of(7, None)
    (['c0', 'amber', 'red'], 'c0')
    """
    if limit is None or used * 100 < FIRST_THRESHOLD * limit:
        return "c0"
    return "red" if used >= limit else "amber"


def _draw_day(place: int, days: Sequence[MeterDay], limit: int | None, top: float, overview: UsageOverview) -> Markup:
    day, width = days[place], axes.WIDTH / len(days)
    tip = f"{write_date(day.day, overview.today)}: {count(day.used)}"
    share = f", {percent(day.used, limit)} of the limit" if limit else ""
    return html(
        '<g class="us-day{pale}" data-tip="{tip}">{hit}{bar}</g>',
        pale=" us-pale" if day.day == overview.today else "",
        tip=tip + share + (", so far" if day.day == overview.today else ""),
        hit=axes.draw_rect(place * width, 0, width, axes.HEIGHT, "al-hit"),
        bar=axes.draw_rect(
            (place + (1 - _BAR_SHARE) / 2) * width,
            0,
            _BAR_SHARE * width,
            axes.HEIGHT * day.used / top,
            f"f-{tone_of(day.used, limit)}",
        ),
    )


def _write_summary(days: Sequence[MeterDay], most: MeterDay, limit: int | None, overview: UsageOverview) -> str:
    """Write the highest day, and on how many days the threshold was reached."""
    highest = f"Highest: {count(most.used)} on {write_date(most.day, overview.today)}"
    if limit is None:
        return f"{highest}."
    over = sum(1 for day in days if tone_of(day.used, limit) != "c0")
    reached = "No day" if not over else plural(over, "day")
    return f"{highest}, {percent(most.used, limit)} of the limit. {reached} reached {FIRST_THRESHOLD} %."


def _list_marks(days: Sequence[MeterDay], overview: UsageOverview) -> list[tuple[float, str]]:
    each = max(1, round(len(days) / _TIME_TICKS))
    places = range(each // 2, len(days), each)
    return [((place + 0.5) / len(days), write_date(days[place].day, overview.today)) for place in places]


PANE: Final = Pane(
    key="days",
    question="What was used each day",
    reading=write_reading,
    span=7,
    load=load_report,
    draw=draw_days,
    reads=(),
    scope=Scope.BILLING_READ.value,
    copy_sql=write_days_sql,
    export=export_days,
    is_common=True,
)
