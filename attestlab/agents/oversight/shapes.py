"""Wire models of oversight: the tree of an agent, and the review of a fleet (CONTRACT 11.8)."""

from typing import Annotated

from pydantic import Field

from attestlab.agents.oversight.rules import MAX_GRACE_DAYS, ReviewFinding
from attestlab.agents.rules import AgentType
from attestlab.agents.shapes import AgentStatusName, AgentTypeName
from attestlab.core.filters import NO_CONDITION, Filters, Where
from attestlab.core.shapes import In, Moment, Out, Uuid, one_of
from attestlab.web.paging import PageQuery


class AgentTreeNodeOut(Out, wire_name="agent_tree_node", source="CONTRACT 11.8"):
    """An agent of a tree."""

    id: Uuid
    """The agent. Format: UUID, 36 characters."""
    agent_id: str
    """The agent in protocols. Format: maip:<8 digits of the tenant>:<ULID>."""
    display_name: str
    """Its name. Format: one line, 1-256 characters."""
    agent_type: AgentTypeName
    """What it is for. Format: orchestrator, worker, inference, pipeline, service, bot or llm."""
    status: AgentStatusName
    """Whether it may act. Format: active, suspended or revoked."""
    depth: int
    """Its distance from the agent without a parent. Format: from 0."""
    owner_user_id: Uuid | None
    """The person who answers for it. Format: UUID, 36 characters."""
    effective_scopes: list[str]
    """What it may do now, within all above it. Format: allows, then denies after !."""


class AgentTreeEdgeOut(Out, wire_name="agent_tree_edge", source="CONTRACT 11.8"):
    """A delegation between two agents of a tree."""

    parent_agent_id: Uuid
    """The agent that delegated. Format: UUID, 36 characters."""
    child_agent_id: Uuid
    """The agent that received it. Format: UUID, 36 characters."""
    scopes: list[str]
    """What was delegated. Format: resource:action or resource:*, after ! a deny."""
    expires_at: Moment | None
    """When the delegation ends; null if it has been revoked. Format: RFC 3339 date-time, UTC, milliseconds."""


class AgentTreeOut(Out, wire_name="agent_tree", source="CONTRACT 11.8"):
    """The agents above and below one, itself included, and who let whom."""

    nodes: list[AgentTreeNodeOut]
    """The agents, each after its parent, the root first. Format: at most 10,000."""
    edges: list[AgentTreeEdgeOut]
    """The delegations between them. Format: one for each node but the root."""
    truncated: bool
    """Whether there are more agents below; those nearest to the root are listed. Format: true or false."""


class AgentReviewOut(Out, wire_name="agent_review", source="CONTRACT 11.8"):
    """An agent that wants a look, and why."""

    agent_id: Uuid
    """The agent. Format: UUID, 36 characters."""
    display_name: str
    """Its name. Format: one line, 1-256 characters."""
    agent_type: AgentTypeName
    """What it is for. Format: orchestrator, worker, inference, pipeline, service, bot or llm."""
    status: AgentStatusName
    """Whether it may act. Format: active or suspended; a revoked agent needs no review."""
    findings: list[Annotated[str, one_of(ReviewFinding)]]
    """What wants a look. Format: ownerless, unused_30d, no_expiry, wildcard, key_over_90d, expiring_7d."""
    owner_user_id: Uuid | None
    """The person who answers for it, even if they were removed. Format: UUID, 36 characters."""
    last_active_at: Moment | None
    """When it last used a session; null: never. Format: RFC 3339 date-time, UTC, milliseconds."""
    key_created_at: Moment
    """Since when it has its key. Format: RFC 3339 date-time, UTC, milliseconds."""
    expires_at: Moment | None
    """From then on it is revoked. Format: RFC 3339 date-time, UTC, milliseconds."""


class AgentReviewQuery(PageQuery, Filters, wire_name="agent_review_query", source="CONTRACT 11.8"):
    """Filters of the review."""

    finding: Annotated[ReviewFinding | None, NO_CONDITION] = None
    """Only agents with this finding. Format: ownerless, unused_30d, no_expiry, wildcard, key_over_90d, expiring_7d."""
    agent_type: Annotated[AgentType | None, Where("agent_type")] = None
    """Only agents of this type. Format: orchestrator, worker, inference, pipeline, service, bot or llm."""
    owner_user_id: Annotated[Uuid | None, Where("owner_user_id")] = None
    """Only agents for which this person answers. Format: UUID, 36 characters."""


class AgentSettingsIn(In, wire_name="agent_settings_input", source="CONTRACT 11.8"):
    """What a tenant sets for its agents."""

    ownerless_grace_days: Annotated[int, Field(ge=0, le=MAX_GRACE_DAYS)]
    """How long an agent may act after its owner was removed, before it is suspended. Format: days, 0-365."""


class AgentSettingsOut(Out, wire_name="agent_settings", source="CONTRACT 11.8"):
    """What holds for the agents of a tenant."""

    ownerless_grace_days: int
    """How long an agent may act after its owner was removed, before it is suspended. Format: days, 0-365; default 7."""
