"""How much is used, when a limit is reached, and what would raise it: the answer in a few sentences."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab.billing.rules import format_money
from attestlab.orgs.rules import Scope
from attestlab_dashboards.formats import count, utc
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.usage.changes import UsageReport, load_report
from attestlab_dashboards.usage.forecast import Outlook
from attestlab_dashboards.usage.overview import UsageOverview
from attestlab_dashboards.usage.state import UsageState
from attestlab_dashboards.usage.words import write_change, write_date, write_limit


def draw_answer(report: UsageReport, _state: UsageState) -> Markup:
    """Answer the three questions of the page."""
    meter = report.overview.find_pressing()
    parts = [_draw_use(report.overview, meter), _draw_outlook(report.overview, meter), _draw_remedy(report, meter)]
    return join([part for part in parts if part], html(" "))


def _draw_use(overview: UsageOverview, meter: str) -> Markup:
    item = overview.get_item(meter)
    if item.limit is None:
        return html("Today <b>{used} {meter}</b> are used; there is no limit.", used=count(item.used), meter=meter)
    return html(
        "Today <b>{used} of {limit} {meter}</b> are used ({percent} %).",
        used=count(item.used),
        limit=count(item.limit),
        meter=meter,
        percent=item.percent,
    )


def _draw_outlook(overview: UsageOverview, meter: str) -> Markup:
    forecast = overview.forecast(meter)
    end = write_date(overview.period_end, overview.today)
    match forecast.outlook:
        case Outlook.REACHED:
            return html(
                "The limit is <b>reached</b>; at {when} the count begins again.", when=_write_reset(overview, meter)
            )
        case Outlook.WITHIN if forecast.day is not None:
            day = write_date(forecast.day, overview.today)
            return html("At this pace a busy day reaches the limit <b>on {day}</b>, within this period.", day=day)
        case Outlook.LATER if forecast.day is not None:
            day = write_date(forecast.day, overview.today)
            return html(
                "At this pace the limit is <b>not reached within this period</b>, which ends on {end}, but on {day}.",
                end=end,
                day=day,
            )
        case Outlook.NEVER:
            return html("At this pace the limit is <b>not reached</b>, neither within this period nor within a year.")
        case Outlook.TOO_FEW:
            return html("There are <b>too few days</b> of use to tell when the limit is reached.")
    return NOTHING


def _write_reset(overview: UsageOverview, meter: str) -> str:
    resets_at = overview.get_item(meter).resets_at
    return "00:00 UTC" if resets_at is None else utc(resets_at)


def _draw_remedy(report: UsageReport, meter: str) -> Markup:
    """Say what would raise the limit, and what that costs."""
    if report.overview.get_item(meter).limit is None:
        return NOTHING
    if report.comparison is None:
        return html("Owners and admins see what a larger plan costs.")
    found = report.comparison.find_remedy(meter)
    if found is None:
        return html("No plan or add-on raises it; agree a higher limit with the operator.")
    after = next(effect.limit_after for effect in found.preview.effects if effect.resource == meter)
    return html(
        "<b>{change}</b> raises it to {limit}, for {due} now and {next} with the next invoice.",
        change=write_change(found.name),
        limit=write_limit(after),
        due=format_money(found.preview.due_now_minor, found.preview.next_invoice.currency),
        next=format_money(found.preview.next_invoice.amount_minor, found.preview.next_invoice.currency),
    )


PANE: Final = Pane(
    key="answer", load=load_report, draw=draw_answer, reads=(), scope=Scope.BILLING_READ.value, is_common=True
)
