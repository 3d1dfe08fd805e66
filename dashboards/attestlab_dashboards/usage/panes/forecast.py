"""When a limit is reached: the line through the last four weeks, continued, and how it is computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.billing.rules import THRESHOLDS
from attestlab.client.analysis.rows import Rows
from attestlab.orgs.rules import Scope
from attestlab_dashboards import axes
from attestlab_dashboards.formats import count, plural
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.usage.changes import UsageReport, load_report
from attestlab_dashboards.usage.forecast import MIN_WEEKS, WEEK_DAYS, WEEKS, Forecast, MeterDay, Outlook, Trend
from attestlab_dashboards.usage.overview import UsageOverview
from attestlab_dashboards.usage.panes.days import draw_limit_lines, draw_limit_names
from attestlab_dashboards.usage.state import UsageState
from attestlab_dashboards.usage.words import write_date, write_limit
from attestlab_dashboards.widgets import empty, pill

_AHEAD_DAYS: Final = 60  # that the chart shows at most
_EDGE: Final = 0.04  # of the width, by which the words of the axis stay within it
_LOOKED: Final = f"""SELECT day, used, plan_limit FROM usage WHERE resource = $meter
  AND day < (SELECT max(day) FROM usage) AND day >= (SELECT max(day) FROM usage) - INTERVAL {WEEKS * WEEK_DAYS} DAY
ORDER BY day"""


def compose_looked(state: UsageState) -> LakeQuery:
    """Compose the query of the days that the line goes through."""
    return LakeQuery(_LOOKED, {"meter": state.meter})


def export_looked(lab: Lab, state: UsageState) -> Rows:
    """Return these days."""
    return compose_looked(state).read(lab)


def write_looked_sql(state: UsageState) -> str:
    """Write the query of these days."""
    return compose_looked(state).to_sql()


def write_reading(report: UsageReport, state: UsageState) -> str:
    """Write until when this period lasts."""
    overview = report.overview
    return f"{state.meter.capitalize()} a day; this period ends on {write_date(overview.period_end, overview.today)}"


def draw_forecast(report: UsageReport, state: UsageState) -> Markup:
    """Draw when the limit of a meter is reached."""
    overview = report.overview
    found = overview.forecast(state.meter)
    if found.limit is None:
        return empty("No limit", f"The plan allows any number of {state.meter} a day, so none is reached.")
    if found.trend is None:
        known = len(overview.days[state.meter])
        return empty(
            "Too few days to tell",
            f"A line needs {MIN_WEEKS} full weeks of use, and there are {plural(known, 'day')}. "
            f"Today {count(overview.get_item(state.meter).used)} of {write_limit(found.limit)} are used.",
        )
    return join(
        [
            html('<p class="us-verdict">{verdict}</p>', verdict=_draw_verdict(found, overview)),
            _draw_chart(found, found.trend, found.limit, overview, state),
            _draw_shares(found, found.limit, overview, state),
            html('<p class="small muted us-how">{how}</p>', how=write_method(found.trend)),
        ]
    )


def _draw_verdict(found: Forecast, overview: UsageOverview) -> Markup:
    """Draw the forecast as a mark and a sentence."""
    end = write_date(overview.period_end, overview.today)
    day = NOTHING if found.day is None else html("<b>{day}</b>", day=write_date(found.day, overview.today))
    match found.outlook:
        case Outlook.REACHED:
            return html("{pill}<span>The limit is reached today.</span>", pill=pill("reached", "bad", "warn"))
        case Outlook.WITHIN:
            return html(
                "{pill}<span>A busy day reaches the limit on {day}.</span>",
                pill=pill("within this period", "warn", "clock"),
                day=day,
            )
        case Outlook.LATER:
            return html(
                "{pill}<span>It ends on {end}; at this pace a busy day reaches the limit on {day}.</span>",
                pill=pill("not within this period", "good", "check"),
                end=end,
                day=day,
            )
    return html(
        "{pill}<span>At this pace no day of the next year reaches the limit.</span>",
        pill=pill("not within this period", "good", "check"),
    )


def write_method(trend: Trend) -> str:
    """Write how the forecast is computed, with its numbers."""
    weekly = round(trend.growth * WEEK_DAYS)
    growth = f"{count(abs(weekly))} {'more' if weekly >= 0 else 'fewer'} each week"
    return (
        f"How: a straight line through the busiest day of each of the last {len(trend.busiest)} weeks, {growth} (the "
        "median between each two weeks), continued until it is as high as the limit. It knows nothing of holidays and "
        "campaigns."
    )


def _draw_chart(found: Forecast, trend: Trend, limit: int, overview: UsageOverview, state: UsageState) -> Markup:
    past = overview.days[state.meter][-WEEK_DAYS * len(trend.busiest) :]
    last = _find_last_day(found, overview)
    span = (last - trend.first).days + 1
    top = max([limit, *(day.used for day in past), trend.use_on(last)])
    ticks = axes.choose_ticks(top)
    plot = html(
        '<svg class="al-plot" viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label="{label}">'
        '{grid}{bars}{lines}<path class="us-line" d="{past_line}"/><path class="us-ahead" d="{line}"/>{tips}</svg>',
        label=f"{write_method(trend)} The limit is {count(limit)}.",
        grid=axes.draw_grid(ticks),
        bars=_draw_past(past, trend, span, ticks[-1]),
        lines=draw_limit_lines(limit, ticks[-1]),
        past_line=_write_line(trend, (trend.first, overview.today), span, ticks[-1]),
        line=_write_line(trend, (overview.today, last), span, ticks[-1]),
        tips=axes.draw_tips(_list_tips(past, trend, span, overview.today)),
    )
    marks = [(_EDGE, trend.first), ((len(past) + 0.5) / span, overview.today), (1 - _EDGE, last)]
    return html(
        "{lane}{axis}{notes}",
        notes=axes.draw_notes_place(_midnight(trend.first), _midnight(last + timedelta(days=1))),
        lane=axes.draw_lane(
            axes.draw_scale(ticks),
            html(
                '<div class="us-names-left">{plot}{names}{mark}</div>',
                plot=axes.draw_timed(plot, _midnight(trend.first), _midnight(last + timedelta(days=1))),
                names=draw_limit_names(limit, ticks[-1]),
                mark=_draw_mark(found, trend, span),
            ),
            "m",
        ),
        axis=axes.draw_marks(
            (at, "today" if day == overview.today else write_date(day, overview.today)) for at, day in marks
        ),
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _find_last_day(found: Forecast, overview: UsageOverview) -> date:
    """Return the last day of the chart: that of the limit or of the period, but not too far ahead."""
    wanted = max(overview.period_end, found.day or overview.period_end) + timedelta(days=2)
    return min(wanted, overview.today + timedelta(days=_AHEAD_DAYS))


def _draw_past(past: Sequence[MeterDay], trend: Trend, span: int, top: float) -> Markup:
    """Draw a bar for each day that the line was fitted to; the busiest of each week stand out."""
    width = axes.WIDTH / span
    return join(
        axes.draw_rect(
            (place + 0.14) * width,
            0,
            0.72 * width,
            axes.HEIGHT * day.used / top,
            "f-c0" if day in trend.busiest else "us-past",
        )
        for place, day in enumerate(past)
    )


def _list_tips(past: Sequence[MeterDay], trend: Trend, span: int, today: date) -> Iterator[tuple[float, float, str]]:
    """List for each day what was used, or what the line expects of a busy one."""
    used, width = {day.day: day.used for day in past}, axes.WIDTH / span
    for place in range(span):
        day = trend.first + timedelta(days=place)
        expected = f"about {count(round(max(0.0, trend.use_on(day))))} if it is a busy day"
        words = count(used[day]) if day in used else expected
        yield place * width, (place + 1) * width, f"{write_date(day, today)}: {words}"


def _write_line(trend: Trend, ends: tuple[date, date], span: int, top: float) -> str:
    """Write the line between the middles of two days; where it would be below 0, it stays there."""
    return axes.write_path(
        (axes.WIDTH * ((day - trend.first).days + 0.5) / span, axes.HEIGHT * max(0.0, trend.use_on(day)) / top)
        for day in ends
    )


def _draw_mark(found: Forecast, trend: Trend, span: int) -> Markup:
    """Draw the day on which the limit is reached, if the chart shows it."""
    if found.day is None or (place := (found.day - trend.first).days) >= span:
        return NOTHING
    return html('<i class="us-mark" style="left:{at}%"></i>', at=f"{100 * (place + 0.5) / span:.2f}")


def _draw_shares(found: Forecast, limit: int, overview: UsageOverview, state: UsageState) -> Markup:
    today = overview.get_today(state.meter)
    rows = join(
        html(
            "<li><span>{percent} % <small>{number}</small></span><b>{day}</b><span>{when}</span></li>",
            percent=percent,
            number=count(-(-limit * percent // 100)),
            day="not in a year" if day is None else write_date(day, overview.today),
            when="not within this period" if day is None or day >= overview.period_end else "within this period",
        )
        for percent, day in ((percent, found.find_day(percent, today=today)) for percent in THRESHOLDS)
    )
    return html('<ul class="us-shares" aria-label="When each share of the limit is reached">{rows}</ul>', rows=rows)


PANE: Final = Pane(
    key="forecast",
    question="When is the limit reached",
    reading=write_reading,
    span=5,
    load=load_report,
    draw=draw_forecast,
    reads=(),
    scope=Scope.BILLING_READ.value,
    copy_sql=write_looked_sql,
    export=export_looked,
    is_common=True,
)
