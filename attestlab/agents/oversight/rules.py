"""Rules of oversight: what of an agent wants a look, and what the agents of a tree may do (CONTRACT 11.8)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from attestlab.agents.effective_scopes import NOTHING, Delegated, parse_stored
from attestlab.agents.rules import AgentStatus, status_at
from attestlab.agents.scopes import ScopeSet

MAX_TREE_NODES: Final = 10_000
UNUSED_AFTER: Final = timedelta(days=30)
MAX_KEY_AGE: Final = timedelta(days=90)
EXPIRING_WITHIN: Final = timedelta(days=7)
DEFAULT_GRACE_DAYS: Final = 7
MAX_GRACE_DAYS: Final = 365


class ReviewFinding(StrEnum):
    """What of an agent wants a look."""

    OWNERLESS = "ownerless"
    UNUSED = "unused_30d"
    NO_EXPIRY = "no_expiry"
    WILDCARD = "wildcard"
    OLD_KEY = "key_over_90d"
    EXPIRING = "expiring_7d"


@dataclass(frozen=True)
class ReviewFacts:
    """What a review knows of an agent; `last_active_at` is None if it never used a session."""

    has_active_owner: bool
    last_active_at: datetime | None
    created_at: datetime
    expires_at: datetime | None
    scopes: str
    key_created_at: datetime


def find_findings(facts: ReviewFacts, *, now: datetime) -> list[ReviewFinding]:
    """Return what of an agent wants a look, in the order of the enumeration.

    An agent that never used a session counts as active when it was registered, so that a new one is not unused.
    """
    last_active_at = facts.last_active_at or facts.created_at
    found = {
        ReviewFinding.OWNERLESS: not facts.has_active_owner,
        ReviewFinding.UNUSED: last_active_at <= now - UNUSED_AFTER,
        ReviewFinding.NO_EXPIRY: facts.expires_at is None,
        ReviewFinding.WILDCARD: parse_stored(facts.scopes).count_wildcards() > 0,
        ReviewFinding.OLD_KEY: facts.key_created_at <= now - MAX_KEY_AGE,
        ReviewFinding.EXPIRING: facts.expires_at is not None and facts.expires_at <= now + EXPIRING_WITHIN,
    }
    return [finding for finding, is_found in found.items() if is_found]


class TreeAgent(Delegated, Protocol):
    """An agent of a tree, with the delegation that it got from its parent."""

    @property
    def id(self) -> UUID: ...
    @property
    def parent_agent_id(self) -> UUID | None: ...


class _Reach(NamedTuple):
    """What an agent may do, and whether those below it may do nothing, because it is revoked or cut off."""

    scopes: ScopeSet
    is_cut: bool


def compute_tree_scopes(agents: Iterable[TreeAgent], *, now: datetime) -> dict[UUID, ScopeSet]:
    """Compute what each agent of a tree may do, in one pass; each comes after its parent, the root first.

    Each result is that of `compute_effective_scopes` for the agent and all above it.
    """
    reached: dict[UUID, _Reach] = {}
    for agent in agents:
        above = reached.get(agent.parent_agent_id) if agent.parent_agent_id is not None else None
        is_over = agent.delegated_until is not None and agent.delegated_until <= now
        is_cut = is_over or (above is not None and above.is_cut)
        within = None if above is None else above.scopes
        scopes = NOTHING if is_cut else _narrow(within, agent.scopes, agent.delegated_scopes)
        is_revoked = status_at(agent.status, agent.expires_at, now) is AgentStatus.REVOKED
        reached[agent.id] = _Reach(scopes, is_cut or is_revoked)
    return {agent_id: reach.scopes for agent_id, reach in reached.items()}


@lru_cache(maxsize=4096)
def _narrow(above: ScopeSet | None, own: str, delegated: str | None) -> ScopeSet:
    """Narrow an agent's own scopes to its delegation and to what is above it; siblings share the result."""
    scopes = parse_stored(own)
    if delegated is not None:
        scopes = scopes.intersect(parse_stored(delegated))
    return scopes if above is None else scopes.intersect(above)
