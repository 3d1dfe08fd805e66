"""The dialog before a change: for a kill first what it would end, from a dry run; then the reason."""

from __future__ import annotations

from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.agents.rules import MAX_REASON_LENGTH
from attestlab.client.handles.agents import AgentHandle, AgentKillHandle
from attestlab.core.errors import Conflict
from attestlab.orgs.rules import Scope
from attestlab_dashboards.agents.state import AgentsState
from attestlab_dashboards.formats import count
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join

_TITLES: Final = {"suspend": "Suspend {name}", "resume": "Resume {name}", "kill": "Kill {name} and all below it"}
_EFFECTS: Final = {
    "suspend": "Its sessions end with the next request, and it opens no other until someone resumes it. "
    "The agents below it stay.",
    "resume": "It can open sessions again. Those that it had stay ended.",
    "kill": "This is final. Each of these agents is refused from its very next request on.",
}
_BUTTONS: Final = {"suspend": "Suspend it", "resume": "Resume it", "kill": "Kill {agents}"}


class AgentChange(NamedTuple):
    """The agent of a dialog, and what a kill would end; None where the question is another one."""

    agent: AgentHandle
    dry_run: AgentKillHandle | None


def load_change(lab: Lab, state: AgentsState) -> AgentChange | None:
    """Load what the dialog asks about; None while there is none, or when the kill is done and someone goes back to it.

    Raises:
        NotFound: the tenant has no such agent.
    """
    if not state.about:
        return None
    agent = lab.agents[state.about]
    if state.ask != "kill":
        return AgentChange(agent, None)
    try:
        return AgentChange(agent, agent.kill(dry_run=True))
    except Conflict:  # the agent and all below it are revoked already
        return None


def draw_dialog(change: AgentChange | None, state: AgentsState) -> Markup:
    """Draw the dialog; nothing while none is open."""
    if change is None:
        return NOTHING
    title = _TITLES[state.ask].format(name=change.agent.display_name)
    agents = 1 if change.dry_run is None else 1 + change.dry_run.revoked_descendants
    return html(
        '<div class="al-dialog" role="dialog" aria-modal="true" aria-label="{title}"><div class="is-dialog">'
        '<h2>{title}</h2>{counted}<p class="sub">{effect}</p><form data-act="{act}">'
        '<input type="hidden" name="agent" value="{id}">'
        '<label class="field">Reason, kept in the audit trail<textarea name="reason" rows="2" required '
        'maxlength="{most}" data-focus></textarea></label><div class="is-foot"><button type="button" class="btn" '
        'data-ev="close" data-v="" data-key="close-dialog">Cancel</button><button type="submit" class="btn {tone}" '
        'data-key="submit">{button}</button></div></form></div></div>',
        title=title,
        counted=_draw_counted(change.dry_run),
        effect=_EFFECTS[state.ask],
        act=state.ask,
        id=str(change.agent.id),
        most=MAX_REASON_LENGTH,
        tone="primary" if state.ask == "resume" else "is-danger",
        button=_BUTTONS[state.ask].format(agents="1 agent" if agents == 1 else f"{agents:,} agents"),
    )


def _draw_counted(dry_run: AgentKillHandle | None) -> Markup:
    if dry_run is None:
        return NOTHING
    counted = (
        (dry_run.revoked_descendants, "agent below it is revoked with it", "agents below it are revoked with it"),
        (dry_run.terminated_sessions, "open session ends", "open sessions end"),
        (dry_run.revoked_delegations, "delegation is void", "delegations are void"),
    )
    return join(
        html(
            '<div class="is-impact {tone}"><b>{number}</b><span>{words}</span></div>',
            tone="bad" if number else "",
            number=count(number),
            words=one if number == 1 else more,
        )
        for number, one, more in counted
    )


PANE: Final = Pane(
    key="confirm",
    load=load_change,
    draw=draw_dialog,
    reads=("ask", "about"),
    scope=Scope.AGENTS_READ.value,
)
