"""Usage as a page: its panes, filters and events."""

from __future__ import annotations

from typing import Final

from attestlab.orgs.rules import Scope
from attestlab_dashboards.pages import DashboardPage
from attestlab_dashboards.usage.events import EVENTS
from attestlab_dashboards.usage.panes import answer, changes, chips, days, forecast, invoices, kpis, limits
from attestlab_dashboards.usage.state import UsageState

PAGE: Final = DashboardPage(
    path="usage",
    name="Usage",
    question="What do we use, and when do we reach a limit?",
    state=UsageState,
    scope=Scope.BILLING_READ.value,
    chips=chips.draw_filters,
    panes=(answer.PANE, chips.PANE, kpis.PANE, days.PANE, forecast.PANE, limits.PANE, changes.PANE, invoices.PANE),
    events=EVENTS,
)
