"""The tree of an agent and the review of a fleet, as the service answered; and the cards of agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar
from uuid import UUID

from attestlab.agents.oversight.shapes import (
    AgentReviewOut,
    AgentSettingsOut,
    AgentTreeEdgeOut,
    AgentTreeNodeOut,
    AgentTreeOut,
)
from attestlab.client.analysis.records import Records
from attestlab.client.handles.agent_keys import AGENTS
from attestlab.client.handles.base import Handle
from attestlab.client.own_keys import OwnKey, require_key
from attestlab.client.service_client import ServiceClient, path_of

AgentCard = dict[str, object]


class AgentReviewHandle(AgentReviewOut, Handle):
    """An agent that wants a look, and why: `findings`."""

    shown_fields: ClassVar = ("display_name", "findings", "status", "agent_id")


class AgentSettingsHandle(AgentSettingsOut, Handle):
    """What holds for the agents of a tenant."""

    shown_fields: ClassVar = ("ownerless_grace_days",)


class AgentTreeHandle(AgentTreeOut, Handle):
    """The agents above and below one, itself included; `nodes` and `edges` have a `.df()` each."""

    shown_fields: ClassVar = ("agents", "truncated")

    nodes: Records[AgentTreeNodeOut]
    edges: Records[AgentTreeEdgeOut]

    @property
    def agents(self) -> int:
        """How many agents it lists."""
        return len(self.nodes)


def fetch_tree(client: ServiceClient, agent_id: UUID | str) -> AgentTreeHandle:
    """Fetch the tree of an agent."""
    return AgentTreeHandle.parse(client, client.get(f"{AGENTS}{path_of(agent_id, 'tree')}"))


def iterate_review(client: ServiceClient, filters: dict[str, object]) -> Iterator[AgentReviewHandle]:
    """Yield the agents that want a look, read page by page."""
    for answer in client.iterate(f"{AGENTS}/review", filters):
        yield AgentReviewHandle.parse(client, answer)


def fetch_card(client: ServiceClient, agent_id: UUID | str) -> AgentCard:
    """Fetch the card of an agent."""
    return dict(client.get(f"{AGENTS}{path_of(agent_id, 'card')}"))


def sign_own_card(client: ServiceClient, agent_id: UUID, kid: str, key: OwnKey) -> AgentCard:
    """Sign the present card of an agent with its own key, and have the service keep the signature."""
    signature = require_key(key).sign_card(fetch_card(client, agent_id), kid=kid)
    path = f"{AGENTS}{path_of(agent_id, 'card')}/signature"
    return dict(client.put(path, {"signature": signature}))
