"""The writes of the page. Each passes what the form sent to a verb of the facade, which checks it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from attestlab import Lab
from attestlab.core.errors import ValidationFailed
from attestlab.orgs.rules import Scope
from attestlab_dashboards.agents.events import close_question
from attestlab_dashboards.agents.state import AgentsState
from attestlab_dashboards.agents.words import plural
from attestlab_dashboards.pages import Action, Notice
from attestlab_dashboards.safe import html


def suspend(lab: Lab, state: AgentsState, fields: Mapping[str, str]) -> Notice:
    """Suspend an agent."""
    agent = lab.agents[_read(fields, "agent")].suspend(_read(fields, "reason"))
    text = html("<b>Suspended.</b> {name} has no session now. Next: resume it, or kill it.", name=agent.display_name)
    return Notice(text, close_question(state))


def resume(lab: Lab, state: AgentsState, fields: Mapping[str, str]) -> Notice:
    """Resume an agent."""
    agent = lab.agents[_read(fields, "agent")].resume(_read(fields, "reason"))
    return Notice(html("<b>Resumed.</b> {name} can open sessions.", name=agent.display_name), close_question(state))


def kill(lab: Lab, state: AgentsState, fields: Mapping[str, str]) -> Notice:
    """Kill an agent and all below it."""
    killed = lab.agents.kill(_read(fields, "agent"), _read(fields, "reason"))
    text = html(
        "<b>Killed.</b> {name} and {below} below it are revoked; {sessions} ended.",
        name=killed.agent.display_name,
        below=plural(killed.revoked_descendants, "agent"),
        sessions=plural(killed.terminated_sessions, "session"),
    )
    return Notice(text, close_question(state))


def _read(fields: Mapping[str, str], name: str) -> str:
    text = fields.get(name, "").strip()
    if not text:
        raise ValidationFailed.of(f"/{name}", "missing", f"The {name} is missing. Enter it, and send the form again.")
    return text


def _act(run: Callable[[Lab, AgentsState, Mapping[str, str]], Notice]) -> Action[AgentsState]:
    return Action(scope=Scope.AGENTS_WRITE.value, run=run)


ACTIONS: Final[Mapping[str, Action[AgentsState]]] = {
    "suspend": _act(suspend),
    "resume": _act(resume),
    "kill": _act(kill),
}
