"""Trust scores of agents: all that explains a score, and the changes that led to it."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from attestlab.agents.trust.shapes import TrustChangeOut, TrustComponentOut, TrustOut, TrustPenaltyOut
from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.analysis.records import Records
from attestlab.client.arguments import When
from attestlab.client.handles.agent_keys import AGENTS
from attestlab.client.handles.base import Handle
from attestlab.client.service_client import ServiceClient, path_of


class AgentTrustHandle(TrustOut, Handle):
    """The trust score of an agent at a moment; `components` and `penalties` are tables too."""

    shown_fields: ClassVar = ("score", "raw", "evidence", "cap", "computed_at")

    components: Records[TrustComponentOut]
    penalties: Records[TrustPenaltyOut]


class AgentTrustChangeHandle(TrustChangeOut, Handle):
    """A change of an agent's trust score with its cause."""

    shown_fields: ClassVar = ("at", "score", "cause", "reference")


def fetch_trust(client: ServiceClient, agent_id: UUID) -> AgentTrustHandle:
    """Fetch the trust score of an agent."""
    return AgentTrustHandle.parse(client, client.get(f"{AGENTS}{path_of(agent_id, 'trust')}"))


def list_trust_changes(
    client: ServiceClient, agent_id: UUID, since: When | None, until: When | None
) -> Listing[AgentTrustChangeHandle]:
    """List the changes of an agent's trust score, newest first."""
    period = arguments.read_period(since, until)
    asked = {name: at for name, at in period.items() if at is not None}
    path = f"{AGENTS}{path_of(agent_id, 'trust', 'history')}"
    return Listing(
        "change",
        AgentTrustChangeHandle,
        lambda: (AgentTrustChangeHandle.parse(client, each) for each in client.iterate(path, asked)),
    )
