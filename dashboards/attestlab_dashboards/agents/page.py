"""Machine agents as a page: its panes, filters, events and actions."""

from __future__ import annotations

from typing import Final

from attestlab.orgs.rules import Scope
from attestlab_dashboards.agents.actions import ACTIONS
from attestlab_dashboards.agents.events import EVENTS
from attestlab_dashboards.agents.filters import draw_filters
from attestlab_dashboards.agents.panes import acts, agent, answer, confirm, fleet, kpis, sessions, tree
from attestlab_dashboards.agents.state import AgentsState
from attestlab_dashboards.pages import DashboardPage

PAGE: Final = DashboardPage(
    path="agents",
    name="Agents",
    question="Who may do what, who let them, and what did they do?",
    state=AgentsState,
    scope=Scope.AGENTS_READ.value,
    chips=draw_filters,
    panes=(
        answer.PANE,
        kpis.PANE,
        fleet.PANE,
        tree.PANE,
        sessions.PANE,
        acts.PANE,
        agent.PANE,
        confirm.PANE,
    ),
    events=EVENTS,
    actions=ACTIONS,
)
