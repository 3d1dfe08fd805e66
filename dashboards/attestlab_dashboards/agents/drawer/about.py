"""The first part of the drawer: who answers for an agent, who let it, what it may do now, its keys, what can change."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.agents.rules import AgentStatus
from attestlab.agents.shapes import AgentKeyOut
from attestlab.client.handles.agents import AgentHandle
from attestlab.client.handles.delegations import DelegationHandle
from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.agents.state import AgentsState
from attestlab_dashboards.agents.words import draw_owner, draw_scopes, draw_status, plural
from attestlab_dashboards.formats import count, day, time_tag
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.people import read_people
from attestlab_dashboards.safe import NOTHING, html, join

_FORBIDDEN: Final = "Your role reads agents. An owner or admin of the tenant can change them."


class AgentHop(NamedTuple):
    """A hop of the chain that let an agent: the agent that received, and its delegation; None if it was not let."""

    agent: AgentHandle
    received: DelegationHandle | None


class AgentFacts(NamedTuple):
    """An agent with all that this part shows; `hops` go from its root to itself."""

    now: datetime
    names: Mapping[str, str]
    agent: AgentHandle
    has_left: bool
    hops: tuple[AgentHop, ...]
    may_change: bool


def load_facts(lab: Lab, agent: AgentHandle, _state: AgentsState) -> AgentFacts:
    """Load what is known of an agent."""
    may_change = Scope.AGENTS_WRITE.value in lab.me().credential.scopes
    return AgentFacts(lab.now(), read_people(lab), agent, _has_left(lab, agent), _load_hops(lab, agent), may_change)


def _has_left(lab: Lab, agent: AgentHandle) -> bool:
    """Whether the person who answered for an agent was removed; any viewer may know."""
    query = "SELECT 1 FROM agents WHERE id = $agent AND owner_left_at IS NOT NULL"
    return bool(LakeQuery.bind(query, {"agent": str(agent.id)}).read_rows(lab))


def _load_hops(lab: Lab, agent: AgentHandle) -> tuple[AgentHop, ...]:
    """Load the chain of an agent, the root first; it has at most nine agents."""
    hops = [AgentHop(agent, _find_received(agent))]
    while (parent_id := hops[0].agent.parent_agent_id) is not None:
        parent = lab.agents[str(parent_id)]
        hops.insert(0, AgentHop(parent, _find_received(parent)))
    return tuple(hops)


def _find_received(agent: AgentHandle) -> DelegationHandle | None:
    return next(iter(agent.delegations("received")), None) if agent.parent_agent_id is not None else None


def find_obstacle(ask: str, status: str, *, may_change: bool) -> str:
    """Return why an agent cannot be changed so; empty if it can.

    >>> find_obstacle("resume", "active", may_change=True)
    'The agent is active; only a suspended one can be resumed.'
    """
    if not may_change:
        return _FORBIDDEN
    if ask == "suspend" and status != AgentStatus.ACTIVE:
        return f"The agent is {status}; only an active one can be suspended."
    if ask == "resume" and status != AgentStatus.SUSPENDED:
        return f"The agent is {status}; only a suspended one can be resumed."
    return ""


def draw_facts(facts: AgentFacts) -> Markup:
    """Draw the facts, what can be done, the chain and the keys."""
    return join([_draw_list(facts), _draw_changes(facts), _draw_hops(facts), _draw_keys(facts)])


def _draw_list(facts: AgentFacts) -> Markup:
    agent, now = facts.agent, facts.now
    return html(
        '<dl class="is-facts"><dt>State</dt><dd>{status}</dd><dt>Type</dt><dd>{kind}</dd>'
        "<dt>Answers for it</dt><dd>{owner}</dd><dt>May do now</dt><dd>{scopes}</dd>"
        "<dt>Trust</dt><dd>{trust}</dd><dt>Open sessions</dt><dd>{sessions}</dd><dt>Last active</dt><dd>{active}</dd>"
        "<dt>Ends</dt><dd>{ends}</dd></dl>",
        status=draw_status(agent.status),
        kind=agent.agent_type,
        owner=_draw_answering(facts),
        scopes=draw_scopes(agent.effective_scopes),
        trust=f"{agent.trust_score:.3f}, {agent.trust_level}",
        sessions=count(agent.session_count),
        active=time_tag(agent.last_active_at, now) if agent.last_active_at else "never",
        ends=day(agent.expires_at, now) if agent.expires_at else "no expiry",
    )


def _draw_answering(facts: AgentFacts) -> Markup:
    owner = facts.agent.owner_user_id
    return draw_owner(None if owner is None else str(owner), facts.names, has_left=facts.has_left)


def _draw_changes(facts: AgentFacts) -> Markup:
    """Draw what can be done: disabled, with the reason, where the role or the state forbids it."""
    agent = facts.agent
    buttons = [
        widgets.button(
            label,
            ev="ask",
            v=f"{ask}:{agent.id}",
            disabled_because=find_obstacle(ask, agent.status, may_change=facts.may_change),
        )
        for ask, label in (("suspend", "Suspend"), ("resume", "Resume"), ("kill", "Kill its tree…"))
    ]
    why = NOTHING if facts.may_change else html('<p class="sub">{why}</p>', why=_FORBIDDEN)
    tree = widgets.button("Show its tree", ev="tree", v=str(facts.hops[0].agent.id))
    return html('<div class="chips is-changes">{buttons}{tree}</div>{why}', buttons=join(buttons), tree=tree, why=why)


def _draw_hops(facts: AgentFacts) -> Markup:
    items = join(_draw_hop(hop, facts) for hop in facts.hops)
    return html('<h3>Who let it</h3><ol class="ag-hops">{items}</ol>', items=items)


def _draw_hop(hop: AgentHop, facts: AgentFacts) -> Markup:
    name = (
        html("<b>{name}</b>", name=hop.agent.display_name)
        if hop.agent.id == facts.agent.id
        else html(
            '<button type="button" class="ag-name" data-ev="agent" data-v="{id}" data-key="hop:{id}">{name}</button>',
            id=str(hop.agent.id),
            name=hop.agent.display_name,
        )
    )
    if hop.received is None:
        person = None if hop.agent.created_by_user_id is None else str(hop.agent.created_by_user_id)
        by = html("registered by {who}", who=draw_owner(person, facts.names) if person else "a key of the tenant")
        return html(
            "<li><div>{name} <span class=sub>{by}</span></div>{scopes}</li>",
            name=name,
            by=by,
            scopes=draw_scopes(hop.agent.scopes),
        )
    held = hop.received
    granted = [*held.scopes, *(f"!{scope}" for scope in held.denied_scopes)]
    until = f"delegated {day(held.created_at, facts.now)}, until {day(held.expires_at, facts.now)}"
    return html(
        '<li><div>{name} <span class="sub">{until}</span> {status}</div>{scopes}</li>',
        name=name,
        until=until,
        status=draw_status(held.status) if held.status != "active" else NOTHING,
        scopes=draw_scopes(granted),
    )


def _draw_keys(facts: AgentFacts) -> Markup:
    items = join(_draw_key(key, facts.now) for key in facts.agent.keys)
    return html('<h3>Newest keys</h3><ul class="is-keys">{items}</ul>', items=items)


def _draw_key(key: AgentKeyOut, now: datetime) -> Markup:
    return html(
        '<li><div><b>{kid}</b> {status}</div><div class="sub">{custody} · {age} old</div></li>',
        kid=key.kid,
        status=draw_status(key.status),
        custody="held by the service" if key.custody == "managed" else "held by the agent",
        age=plural((now - key.created_at).days, "day"),
    )
