"""Trees of agents, each with its key, its delegation and an open session.

The services make a root, a child and a session; the others are copies of these rows under ids of their own, written
without audit lines and log entries, which no measured verb reads.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import text

from attestlab.agents import store as agent_store
from attestlab.agents.delegation import store as delegation_store
from attestlab.agents.delegation.shapes import DelegationIn
from attestlab.agents.delegation.tables import DelegationRecord
from attestlab.agents.sessions import store as session_store
from attestlab.agents.sessions.shapes import AgentSessionIn
from attestlab.agents.sessions.tables import AgentSessionRecord
from attestlab.agents.shapes import AgentIn
from attestlab.agents.tables import AgentKeyRecord, AgentRecord
from attestlab.core.db.transaction import Transaction
from attestlab.core.ids import new_ids
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller

SCOPES = ["docs:read", "mail:send"]
BELOW = 10  # children of each agent, so that 10,000 agents are four levels
A_COMMIT = 5_000


class _Model(NamedTuple):
    """The rows of an agent that was delegated to, as the services made them."""

    agent: AgentRecord
    key: AgentKeyRecord
    delegation: DelegationRecord
    session: AgentSessionRecord


class _Place(NamedTuple):
    """Where an agent grows: its parent, and the delegation that the parent got."""

    parent_id: UUID
    delegation_id: UUID | None
    depth: int


def analyze(lab: Installation) -> None:
    """Let PostgreSQL count its rows, as its autovacuum does a minute after them; SQLite's plans need no count."""
    if lab.storage.engine.dialect.name != "sqlite":
        with lab.storage.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))


class Planter:
    """Grows trees of one tenant's agents."""

    def __init__(self, lab: Installation, caller: Caller) -> None:
        self._lab, self._caller = lab, caller

    def grow(self, count: int) -> UUID:
        """Grow a tree of `count` agents below a new root; returns the root."""
        root = self._lab.agents.registry.register(_name("Root"), caller=self._caller).row.id
        model = self._make_child(root)
        level, left = [_Place(model.agent.id, model.delegation.id, 2), _Place(root, None, 1)], count - 1
        while left:
            level = list(self._grow_level(model, level, left))
            left -= len(level)
        return root

    def _make_child(self, root: UUID) -> _Model:
        lab, caller = self._lab, self._caller
        made = lab.agents.delegations.delegate(
            root,
            body := DelegationIn(child=_name("Worker"), scopes=SCOPES),
            caller=caller,
            prepared=lab.agents.delegations.prepare(body),
        )
        child = made.row.child_agent_id
        opened = lab.agents.sessions.open(AgentSessionIn(agent_id=child, ttl_minutes=1440), caller=caller)
        with lab.storage.read() as connection:
            agent = agent_store.get(connection.execute, child, tenant_id=caller.tenant_id)
            key = agent_store.get_key(connection.execute, child, agent.key_id)
        return _Model(agent, key, made.row, opened.session.row)

    def _grow_level(self, model: _Model, parents: Sequence[_Place], at_most: int) -> Iterator[_Place]:
        places = islice((place for place in parents for _ in range(BELOW)), at_most)
        while batch := list(islice(places, A_COMMIT)):
            ids = iter(new_ids(self._lab.clock.now(), 3 * len(batch)))
            with self._lab.storage.write() as tx:
                for place in batch:
                    yield _add_copy(tx, model, place, next(ids), next(ids), next(ids))


def _add_copy(
    tx: Transaction, model: _Model, place: _Place, agent_id: UUID, delegation_id: UUID, session_id: UUID
) -> _Place:
    """Add an agent like the model at another place."""
    kid, depth = f"agk_{agent_id.hex[:24]}{secrets.token_hex(4)}", place.depth
    agent = model.agent._replace(id=agent_id, key_id=kid, parent_agent_id=place.parent_id, delegation_depth=depth)
    delegation = model.delegation._replace(
        id=delegation_id,
        parent_agent_id=place.parent_id,
        child_agent_id=agent_id,
        previous_id=place.delegation_id,
        depth=depth,
        digest=secrets.token_urlsafe(32),
    )
    tx.add(agent_store.agents, agent)
    tx.add(agent_store.keys, model.key._replace(kid=kid, agent_id=agent_id, spki=secrets.token_bytes(44)))
    tx.add(delegation_store.delegations, delegation)
    session = model.session._replace(id=session_id, agent_id=agent_id, token_sha256=secrets.token_bytes(32))
    tx.add(session_store.sessions, session)
    return _Place(agent_id, delegation_id, depth + 1)


def _name(name: str) -> AgentIn:
    return AgentIn(display_name=name, scopes=SCOPES)
