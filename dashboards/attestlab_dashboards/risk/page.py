"""The risk explorer: its panes, events and actions."""

from __future__ import annotations

from typing import Final

from attestlab_dashboards.pages import DashboardPage
from attestlab_dashboards.risk.actions import ACTIONS
from attestlab_dashboards.risk.events import EVENTS
from attestlab_dashboards.risk.panes import answer, cases, chips, drawer, graph, kpis, queue, what, what_if, when, who
from attestlab_dashboards.risk.state import RiskState

PAGE: Final = DashboardPage(
    path="risk",
    name="Risk",
    question="What is happening, and who is behind it?",
    state=RiskState,
    chips=chips.draw_chips,
    events=EVENTS,
    actions=ACTIONS,
    panes=(
        answer.PANE,
        kpis.PANE,
        chips.PANE,
        when.PANE,
        what.PANE,
        queue.BUTTON,
        queue.PANE,
        who.PANE,
        graph.PANE,
        what_if.PANE,
        cases.PANE,
        drawer.PANE,
    ),
)
