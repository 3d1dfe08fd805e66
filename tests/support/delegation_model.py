"""The reference model of delegation: what each agent may do, by walking up from it and asking every grant."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


def matches(pattern: str, scope: str) -> bool:
    return pattern == scope or (pattern.endswith(":*") and pattern[:-1] == scope[: len(pattern) - 1])


def allows(texts: list[str], scope: str) -> bool:
    """Whether a list as agents send it allows a scope, and no deny of it covers that."""
    return any(matches(text, scope) for text in texts) and not any(matches(text[1:], scope) for text in texts)


@dataclass
class ModelGrant:
    parent: str
    child: str
    texts: list[str]
    end: datetime
    is_revoked: bool = False


@dataclass
class DelegationModel:
    """Agents with what they were given by their tenant, and the grants between them."""

    own: dict[str, list[str]] = field(default_factory=dict)
    stopped: set[str] = field(default_factory=set)
    grants: dict[str, ModelGrant] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)  # the newest grant that an agent received

    def list_path(self, agent: str) -> list[ModelGrant]:
        """The grants from an agent up to its root."""
        grant = self.grants.get(self.parents.get(agent, ""))
        return [] if grant is None else [grant, *self.list_path(grant.parent)]

    def holds(self, agent: str, now: datetime) -> bool:
        """Whether an agent, all above it and all grants between them are in force."""
        path = self.list_path(agent)
        agents = {agent, *(grant.parent for grant in path)}
        return not agents & self.stopped and not any(grant.is_revoked or grant.end <= now for grant in path)

    def may(self, agent: str, scope: str) -> bool:
        """Whether the scopes of an agent allow a request, those of each agent above it, and those of each grant."""
        path = self.list_path(agent)
        lists = [self.own[agent], *(self.own[grant.parent] for grant in path), *(grant.texts for grant in path)]
        return all(allows(texts, scope) for texts in lists)

    def is_bound(self, agent: str, now: datetime) -> bool:
        """Whether an agent has a live parent or a live child."""
        live = [grant for grant in self.grants.values() if not grant.is_revoked and grant.end > now]
        return any(agent in (grant.parent, grant.child) for grant in live)

    def revoke(self, grant_id: str) -> None:
        """Revoke a grant with everything that was given under it."""
        self.grants[grant_id].is_revoked = True
        for other, grant in self.grants.items():
            if not grant.is_revoked and self.grants[grant_id] in self.list_path(grant.child):
                self.revoke(other)
