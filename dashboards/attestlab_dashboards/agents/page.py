"""Machine agents as a page: its panes, filters and events, and its writes, which the verbs of the facade check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from attestlab import Lab
from attestlab.orgs.rules import Scope
from attestlab_dashboards.agents.events import EVENTS
from attestlab_dashboards.agents.filters import draw_filters
from attestlab_dashboards.agents.panes import acts, agent, answer, confirm, fleet, kpis, review, sessions, tree
from attestlab_dashboards.agents.state import AgentsState
from attestlab_dashboards.agents.words import plural
from attestlab_dashboards.pages import Action, DashboardPage, Notice, read_field
from attestlab_dashboards.reducers import close_question
from attestlab_dashboards.safe import html


def suspend(lab: Lab, state: AgentsState, fields: Mapping[str, str]) -> Notice:
    """Suspend an agent."""
    agent = lab.agents[read_field(fields, "agent")].suspend(read_field(fields, "reason"))
    text = html("<b>Suspended.</b> {name} has no session now. Next: resume it, or kill it.", name=agent.display_name)
    return Notice(text, close_question(state))


def resume(lab: Lab, state: AgentsState, fields: Mapping[str, str]) -> Notice:
    """Resume an agent."""
    agent = lab.agents[read_field(fields, "agent")].resume(read_field(fields, "reason"))
    return Notice(html("<b>Resumed.</b> {name} can open sessions.", name=agent.display_name), close_question(state))


def kill(lab: Lab, state: AgentsState, fields: Mapping[str, str]) -> Notice:
    """Kill an agent and all below it."""
    killed = lab.agents.kill(read_field(fields, "agent"), read_field(fields, "reason"))
    text = html(
        "<b>Killed.</b> {name} and {below} below it are revoked; {sessions} ended.",
        name=killed.agent.display_name,
        below=plural(killed.revoked_descendants, "agent"),
        sessions=plural(killed.terminated_sessions, "session"),
    )
    return Notice(text, close_question(state))


def _act(run: Callable[[Lab, AgentsState, Mapping[str, str]], Notice]) -> Action[AgentsState]:
    return Action(scope=Scope.AGENTS_WRITE.value, run=run)


ACTIONS: Final[Mapping[str, Action[AgentsState]]] = {
    "suspend": _act(suspend),
    "resume": _act(resume),
    "kill": _act(kill),
}

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
        review.PANE,
        tree.PANE,
        sessions.PANE,
        acts.PANE,
        agent.PANE,
        confirm.PANE,
    ),
    events=EVENTS,
    actions=ACTIONS,
)
