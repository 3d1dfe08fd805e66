"""Agents, their keys and their delegations in memory, made with the rules of the service, and judged like by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import count, pairwise
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from attestlab.agents.delegation import rules
from attestlab.agents.delegation.hops import ALGORITHM, Hop, compute_digest
from attestlab.agents.delegation.verification import (
    ChainReport,
    Knowledge,
    KnownAgent,
    KnownKey,
    RecordedHop,
    compute_scopes,
    judge_chain,
)
from attestlab.agents.scopes import NO_SCOPES, ScopeSet, parse_scopes
from attestlab.core.crypto import signing

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)


@dataclass
class WorldKey:
    """A key of a ledger; both halves follow from its number, so that a failing example repeats itself."""

    kid: str
    private: Ed25519PrivateKey = field(repr=False)
    ended_index: int | None = None
    compromised_at: datetime | None = None

    @property
    def thumbprint(self) -> str:
        return signing.thumbprint(ALGORITHM, self.private.public_key())


@dataclass
class WorldAgent:
    """An agent with its own scopes, and its keys, the newest last."""

    id: str
    scopes: ScopeSet
    keys: list[WorldKey]
    ended: str | None = None


@dataclass
class Grant:
    """A delegation with the chain that ends in it."""

    hop: Hop
    chain: list[str]
    ids: tuple[str, ...]
    log_index: int
    at: datetime
    is_revoked: bool = False


class DelegationWorld:
    """One tenant with its agents; the log is a counter."""

    def __init__(self) -> None:
        self.now = NOON
        self.agents: dict[str, WorldAgent] = {}
        self.grants: dict[str, Grant] = {}
        self.received: dict[str, Grant] = {}
        self._numbers = count(1)
        self.tenant_id = self.new_id()
        self.log_size = 0

    def new_id(self) -> str:
        """Return a UUID that no agent and no delegation has."""
        return str(UUID(int=next(self._numbers)))

    def append(self) -> int:
        """Append an entry to the log; returns its index."""
        self.log_size += 1
        return self.log_size - 1

    def add_agent(self, *scopes: str) -> WorldAgent:
        """Register an agent with a first key."""
        agent = WorldAgent(self.new_id(), parse_scopes(scopes), [])
        self.agents[agent.id] = agent
        self.add_key(agent)
        return agent

    def add_key(self, agent: WorldAgent) -> WorldKey:
        """Add a key to an agent's ledger."""
        kid = f"agk_{next(self._numbers)}"
        key = WorldKey(kid, Ed25519PrivateKey.from_private_bytes(sha256(kid.encode()).digest()))
        agent.keys.append(key)
        self.append()
        return key

    def end_key(self, agent: WorldAgent) -> None:
        """Rotate an agent's key: the old one ends with an entry of the log, and a new one follows."""
        agent.keys[-1].ended_index = self.append()
        self.add_key(agent)

    def effective_scopes(self, agent: WorldAgent) -> ScopeSet:
        """What an agent may pass on: its own scopes, within the chain that it received."""
        grant = self.received.get(agent.id)
        if grant is None:
            return agent.scopes.simplify()
        if not all(self.is_live(self.grants[each]) for each in grant.ids):
            return NO_SCOPES
        return compute_scopes([self.grants[each].hop for each in grant.ids], self.known_agents())

    def delegate(
        self,
        parent: WorldAgent,
        child: WorldAgent,
        *scopes: str,
        hours: float | None = None,
        key: WorldKey | None = None,
    ) -> Grant:
        """Delegate as the service does; the rules decide whether it is allowed."""
        before = self.received.get(parent.id)
        ancestors = [self.grants[each].hop.parent for each in before.ids] if before else []
        rules.require_place(parent.id, child.id, ancestors)
        has_children = any(each.hop.parent == child.id for each in self.list_live())
        rules.require_unbound(child.id, has_parent=self.is_live(self.received.get(child.id)), has_children=has_children)
        granted = rules.grant_scopes(parse_scopes(scopes), self.effective_scopes(parent))
        wanted = None if hours is None else self.now + timedelta(hours=hours)
        expires_at = rules.choose_expiry(wanted, [before.hop.expires_at if before else None], now=self.now)
        return self.record(self.build_hop(parent, child, granted, expires_at), key or parent.keys[-1])

    def build_hop(self, parent: WorldAgent, child: WorldAgent, granted: ScopeSet, expires_at: datetime) -> Hop:
        """Build the hop with which a parent grants scopes to a child, without asking any rule."""
        before = self.received.get(parent.id)
        return Hop(
            self.new_id(),
            self.tenant_id,
            parent.id,
            child.id,
            child.keys[-1].thumbprint,
            granted,
            len(before.ids) + 1 if before else 1,
            self.now,
            expires_at,
            compute_digest(before.chain[-1]) if before else None,
        )

    def record(self, hop: Hop, key: WorldKey) -> Grant:
        """Sign a hop with a key and record it."""
        before = self.received.get(hop.parent)
        token = hop.sign(key.kid, key.private)
        chain, ids = ([*before.chain, token], (*before.ids, hop.id)) if before else ([token], (hop.id,))
        grant = Grant(hop, chain, ids, self.append(), self.now)
        self.grants[hop.id] = grant
        self.received[hop.child] = grant
        return grant

    def revoke(self, grant: Grant) -> list[Grant]:
        """Revoke a grant with everything below it; returns what was revoked now."""
        ended = [each for each in self.grants.values() if grant.hop.id in each.ids and not each.is_revoked]
        for each in ended:
            each.is_revoked = True
        return ended

    def is_live(self, grant: Grant | None) -> bool:
        """Whether a grant is neither revoked nor expired."""
        return grant is not None and not grant.is_revoked and grant.hop.expires_at > self.now

    def list_live(self) -> list[Grant]:
        """List the grants that are neither revoked nor expired."""
        return [each for each in self.grants.values() if self.is_live(each)]

    def known_agents(self) -> dict[str, KnownAgent]:
        """What the service knows of its agents."""
        return {each.id: KnownAgent(self.tenant_id, each.scopes, each.ended) for each in self.agents.values()}

    def knowledge(self) -> Knowledge:
        """What the service knows."""
        recorded = {
            each.hop.id: RecordedHop(compute_digest(each.chain[-1]), each.log_index, each.at)
            for each in self.grants.values()
        }
        revoked = {each.hop.id for each in self.grants.values() if each.is_revoked}
        return Knowledge(self.known_keys(), revoked, self.known_agents(), recorded)

    def stranger_knowledge(self) -> Knowledge:
        """What a stranger with the keys and the public list of revocations knows."""
        known = self.knowledge()
        return Knowledge({kid: key._replace(ended_index=None) for kid, key in known.keys.items()}, known.revoked)

    def known_keys(self) -> dict[str, KnownKey]:
        """The ledgers of all agents."""
        return {
            key.kid: KnownKey(
                key.kid,
                agent.id,
                key.private.public_key(),
                key.thumbprint,
                position,
                key.ended_index,
                key.compromised_at,
            )
            for agent in self.agents.values()
            for position, key in enumerate(agent.keys)
        }

    def judge(self, chain: Sequence[str], required_scope: str | None = None) -> ChainReport:
        """Judge a chain with all that the service knows."""
        return judge_chain(chain, lambda _: self.knowledge(), now=self.now, required_scope=required_scope)


def build_line(depth: int, *scopes: str) -> tuple[DelegationWorld, Grant]:
    """Build a world with one chain of `depth` hops, each of which grants the same; returns it and its last grant."""
    world = DelegationWorld()
    agents = [world.add_agent(*scopes) for _ in range(depth + 1)]
    grants = [world.delegate(parent, child, *scopes, hours=24) for parent, child in pairwise(agents)]
    return world, grants[-1]
