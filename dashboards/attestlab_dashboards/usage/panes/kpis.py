"""The tiles: today's use, the fullest count, when a limit is reached, the next invoice; each leads to its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from markupsafe import Markup

from attestlab.billing.rules import format_money
from attestlab.billing.shapes import ResourceUseOut
from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import count
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import html
from attestlab_dashboards.usage.changes import UsageReport, load_report
from attestlab_dashboards.usage.forecast import Outlook
from attestlab_dashboards.usage.overview import UsageOverview
from attestlab_dashboards.usage.state import METERS, UsageState
from attestlab_dashboards.usage.words import NO_LIMIT, write_date, write_plan, write_resource
from attestlab_dashboards.widgets import Kpi

_SPARK_DAYS: Final = 30


def draw_tiles(report: UsageReport, _state: UsageState) -> Markup:
    """Draw the tiles."""
    overview = report.overview
    return widgets.kpi_strip(
        [
            *(_draw_meter(overview, meter) for meter in METERS),
            _draw_fullest(overview),
            _draw_reached(overview),
            _draw_invoice(overview),
        ]
    )


def _draw_meter(overview: UsageOverview, meter: str) -> Kpi:
    item = overview.get_item(meter)
    busiest = overview.find_busiest(meter)
    shown = overview.list_shown(meter, _SPARK_DAYS)
    most = f"at most {count(busiest.used)} in four weeks"
    return Kpi(
        label=f"{meter.capitalize()} today",
        value=_of(item),
        note=most if item.percent is None else f"{item.percent} %; {most}",
        values=[day.used for day in shown],
        times=[write_date(day.day, overview.today) for day in shown],
        rows="days",
        ev="meter",
        v=meter,
    )


def _draw_fullest(overview: UsageOverview) -> Kpi:
    """Draw the resource that is counted, not used by the day, and has the least room."""
    counted = [item for item in overview.usage.items if item.resource not in METERS and item.percent is not None]
    if not counted:
        return Kpi(label="Fullest other limit", value="none", note="nothing else is limited", rows="limits")
    item = max(counted, key=lambda each: each.percent or 0)
    return Kpi(
        label="Fullest other limit",
        value=_of(item),
        note=f"{write_resource(item.resource)}, {item.percent} %",
        rows="limits",
    )


def _draw_reached(overview: UsageOverview) -> Kpi:
    meter = overview.find_pressing()
    forecast = overview.forecast(meter)
    words = {
        Outlook.NO_LIMIT: ("never", "no daily limit"),
        Outlook.REACHED: ("today", meter),
        Outlook.TOO_FEW: ("unknown", "too few days of use"),
        Outlook.NEVER: ("not in a year", f"{meter}, at this pace"),
    }
    if forecast.outlook in words:
        value, note = words[forecast.outlook]
        return _lead(Kpi(label="Limit reached", value=value, note=note), meter)
    assert forecast.day is not None, "the other outlooks have a day"
    when = "within" if forecast.outlook is Outlook.WITHIN else "not within"
    value = write_date(forecast.day, overview.today)
    return _lead(Kpi(label="Limit reached", value=value, note=f"{meter}; {when} this period"), meter)


def _lead(tile: Kpi, meter: str) -> Kpi:
    """Let a tile lead to the forecast of a meter."""
    return replace(tile, rows="forecast", ev="meter", v=meter)


def _draw_invoice(overview: UsageOverview) -> Kpi:
    draft = overview.next_invoice
    day = write_date(draft.period_start.date(), overview.today)
    return Kpi(
        label="Next invoice",
        value=format_money(draft.amount_minor, draft.currency),
        note=f"on {day}; plan {write_plan(overview.subscription.plan)}",
        rows="invoices",
    )


def _of(item: ResourceUseOut) -> Markup:
    of = NO_LIMIT if item.limit is None else f"of {count(item.limit)}"
    return html("{used} <small>{of}</small>", used=count(item.used), of=of)


PANE: Final = Pane(
    key="kpis", load=load_report, draw=draw_tiles, reads=(), scope=Scope.BILLING_READ.value, is_common=True
)
