"""How full each limit is: what is used of it, what is left, and when it is reached."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.billing.rules import THRESHOLDS
from attestlab.billing.shapes import ResourceUseOut
from attestlab.client.analysis.records import Records
from attestlab.orgs.rules import Scope
from attestlab_dashboards.formats import count
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.usage.changes import UsageReport, load_report
from attestlab_dashboards.usage.forecast import Outlook
from attestlab_dashboards.usage.overview import UsageOverview
from attestlab_dashboards.usage.panes.days import tone_of
from attestlab_dashboards.usage.state import METERS, UsageState
from attestlab_dashboards.usage.words import write_date, write_limit, write_resource
from attestlab_dashboards.widgets import TableColumn, share_bar, table

_COLUMNS: Final = (
    TableColumn("Limit"),
    TableColumn("Used", "right"),
    TableColumn("Of", "right"),
    TableColumn("Share", phone=False),
    TableColumn("Left", "right", phone=False),
    TableColumn("Reached at this pace", phone=False),
)


def export_uses(lab: Lab, _state: UsageState) -> Records[ResourceUseOut]:
    """Return how much of each limit is used."""
    return lab.billing.usage().items


def write_uses_python(_state: UsageState) -> str:
    """Write Python that asks for it."""
    return "lab.billing.usage().items.df()"


def draw_limits(report: UsageReport, _state: UsageState) -> Markup:
    """Draw a row for each limit, the fullest first."""
    overview = report.overview
    items = sorted(overview.usage.items, key=lambda item: -1 if item.percent is None else item.percent, reverse=True)
    rows = [_draw_row(item, overview) for item in items]
    return table(_COLUMNS, rows, caption="How much of each limit is used", keys=[item.resource for item in items])


def _draw_row(item: ResourceUseOut, overview: UsageOverview) -> list[Markup]:
    name = write_resource(item.resource)
    return [
        html("{name}{over}", name=name[:1].upper() + name[1:], over=_draw_share_word(item)),
        html("{used}", used=count(item.used)),
        html("{limit}", limit=write_limit(item.limit)),
        _draw_share(item),
        html("{left}", left="any number" if item.remaining is None else count(item.remaining)),
        html("{when}", when=_write_reached(item, overview)),
    ]


def _draw_share_word(item: ResourceUseOut) -> Markup:
    """Draw the threshold that is reached, so that colour is not its only sign."""
    reached = [each for each in THRESHOLDS if item.limit and item.used * 100 >= each * item.limit]
    if not reached:
        return NOTHING
    return html(
        ' <span class="us-word {tone}">{word}</span>',
        tone="bad" if reached[-1] == 100 else "warn",
        word=f"over {reached[-1]} %" if reached[-1] < 100 else "full",
    )


def _draw_share(item: ResourceUseOut) -> Markup:
    if item.percent is None or not item.limit:
        return html('<span class="muted">{word}</span>', word="none")
    marks = join(html('<i class="us-tick" style="left:{at}%"></i>', at=at) for at in THRESHOLDS[:-1])
    return html(
        '<span class="us-share"><span class="us-bar">{bar}{marks}</span>{percent} %</span>',
        bar=share_bar(item.used / item.limit, tone_of(item.used, item.limit)),
        marks=marks,
        percent=item.percent,
    )


def _write_reached(item: ResourceUseOut, overview: UsageOverview) -> str:
    if item.limit is None:
        return "never: there is no limit"
    if item.resource not in METERS:
        return "full" if not item.remaining else "not forecast: past numbers are not recorded"
    forecast = overview.forecast(item.resource)
    if forecast.outlook is Outlook.REACHED:
        return "today"
    if forecast.outlook is Outlook.TOO_FEW:
        return "too few days to tell"
    if forecast.day is None:
        return "not within this period, nor in a year"
    day = write_date(forecast.day, overview.today)
    return f"{day}, within this period" if forecast.outlook is Outlook.WITHIN else f"not within this period; {day}"


PANE: Final = Pane(
    key="limits",
    question="How full each limit is",
    reading=f"What the plan and its add-ons allow now; the ticks are {THRESHOLDS[0]} and {THRESHOLDS[1]} %, "
    "at which an event is published",
    load=load_report,
    draw=draw_limits,
    reads=(),
    scope=Scope.BILLING_READ.value,
    copy_python=write_uses_python,
    export=export_uses,
    is_common=True,
)
