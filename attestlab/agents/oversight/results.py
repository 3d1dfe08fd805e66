"""Results of oversight: the agents of a tree, and those of a review with their findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from attestlab.agents.oversight.rules import ReviewFinding
from attestlab.agents.rules import AgentStatus
from attestlab.agents.scopes import ScopeSet


class TreeRow(NamedTuple):
    """The columns of an agent that its tree shows; `depth` is its distance from the root."""

    id: UUID
    tenant_id: UUID
    parent_agent_id: UUID | None
    display_name: str
    agent_type: str
    status: str
    expires_at: datetime | None
    owner_user_id: UUID | None
    scopes: str
    delegated_scopes: str | None
    delegated_until: datetime | None
    depth: int


@dataclass(frozen=True)
class AgentNode:
    """An agent of a tree, as it is now."""

    row: TreeRow
    status: AgentStatus
    effective_scopes: ScopeSet = field(repr=False)


@dataclass(frozen=True)
class AgentTree:
    """The agents above and below one, each after its parent; `truncated` says that there are more below."""

    nodes: Sequence[AgentNode] = field(repr=False)
    truncated: bool


class ReviewRow(NamedTuple):
    """The columns of an agent that its review reads."""

    id: UUID
    display_name: str
    agent_type: str
    status: str
    scopes: str
    owner_user_id: UUID | None
    created_at: datetime
    expires_at: datetime | None
    key_created_at: datetime
    has_active_owner: bool
    last_active_at: datetime | None


@dataclass(frozen=True)
class ReviewedAgent:
    """An agent with what of it wants a look."""

    row: ReviewRow
    findings: Sequence[ReviewFinding]
