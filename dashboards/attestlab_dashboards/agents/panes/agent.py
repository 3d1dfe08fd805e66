"""The drawer of an agent, in three parts: what it may do and who let it, its trust with the reasons, and its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.handles.agents import AgentHandle
from attestlab.orgs.rules import Scope
from attestlab_dashboards import icons, widgets
from attestlab_dashboards.agents.drawer.about import AgentFacts, draw_facts, load_facts
from attestlab_dashboards.agents.drawer.runs import AgentRuns, draw_runs, load_runs
from attestlab_dashboards.agents.drawer.trust import TrustReasons, draw_reasons, load_reasons
from attestlab_dashboards.agents.state import AgentsState
from attestlab_dashboards.formats import short_id
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join

AgentPart = AgentFacts | TrustReasons | AgentRuns
_LOADS: Final[Mapping[str, Callable[[Lab, AgentHandle, AgentsState], AgentPart]]] = {
    "": load_facts,
    "trust": load_reasons,
    "runs": load_runs,
}
_LABELS: Final[Mapping[str, str]] = {"": "About", "trust": "Trust", "runs": "Runs"}


class OpenAgent(NamedTuple):
    """An agent, and the part of its drawer that is shown."""

    agent: AgentHandle
    part: AgentPart


def load_drawer(lab: Lab, state: AgentsState) -> OpenAgent | None:
    """Load the agent of the drawer with the chosen part; None while the drawer is closed.

    Raises:
        NotFound: the tenant has no such agent or run.
    """
    if not state.agent:
        return None
    agent = lab.agents[state.agent]
    return OpenAgent(agent, _LOADS[state.part](lab, agent, state))


def draw_drawer(opened: OpenAgent | None, state: AgentsState) -> Markup:
    """Draw the drawer; nothing while it is closed."""
    if opened is None:
        return NOTHING
    return html(
        '<aside class="al-drawer" role="dialog" aria-label="{name}" tabindex="-1">{head}{tabs}{part}</aside>',
        name=opened.agent.display_name,
        head=_draw_head(opened.agent),
        tabs=_draw_tabs(state.part),
        part=_draw_part(opened.part),
    )


def _draw_head(agent: AgentHandle) -> Markup:
    return html(
        '<div class="is-head"><h2>{name}</h2><button type="button" class="btn sm" data-ev="close" data-v="" '
        'data-key="close-drawer" aria-label="Close" data-focus>{icon}</button></div>'
        '<p class="sub">{description}</p><p class="sub">{id}</p>',
        name=agent.display_name,
        icon=icons.draw("cross"),
        description=agent.description or agent.agent_type,
        id=short_id(agent.agent_id),
    )


def _draw_tabs(chosen: str) -> Markup:
    chips = join(widgets.chip(label, ev="part", v=part, pressed=part == chosen) for part, label in _LABELS.items())
    return html('<div class="chips ag-parts" role="group" aria-label="Part">{chips}</div>', chips=chips)


def _draw_part(part: AgentPart) -> Markup:
    match part:
        case AgentFacts():
            return draw_facts(part)
        case TrustReasons():
            return draw_reasons(part)
        case AgentRuns():
            return draw_runs(part)


PANE: Final = Pane(
    key="agent",
    load=load_drawer,
    draw=draw_drawer,
    reads=("agent", "part", "run"),
    scope=Scope.AGENTS_READ.value,
)
