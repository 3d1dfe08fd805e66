"""The services of machine agents, as an installation connects them."""

from __future__ import annotations

from attestlab.agents import store
from attestlab.agents.delegation.ending import DelegationsOfAgents
from attestlab.agents.delegation.service import Delegations
from attestlab.agents.keys import AgentKeys
from attestlab.agents.lifecycle import AgentLifecycle
from attestlab.agents.service import Agents
from attestlab.agents.sessions.ending import SessionsOfAgents
from attestlab.agents.statements import AgentStatements
from attestlab.core.clock import Clock
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.log.service import Log


class AgentServices:
    """Machine agents: their registry, states, keys, statements and delegations."""

    def __init__(self, *, storage: Storage, keyring: Keyring, clock: Clock, log: Log) -> None:
        sessions, delegations = SessionsOfAgents(), DelegationsOfAgents(log=log)
        self.lifecycle = AgentLifecycle(
            storage=storage, clock=clock, log=log, sessions=sessions, delegations=delegations
        )
        self.keys = AgentKeys(storage=storage, keyring=keyring, clock=clock, log=log, lifecycle=self.lifecycle)
        self.registry = Agents(storage=storage, clock=clock, keys=self.keys)
        self.statements = AgentStatements(storage=storage, clock=clock, keys=self.keys)
        self.delegations = Delegations(
            storage=storage, keyring=keyring, clock=clock, log=log, keys=self.keys, agents=self.registry
        )

    def expire(self, tx: Transaction, *, at_most: int) -> bool:
        """Make at most `at_most` expiries of agents permanent; returns whether there may be more."""
        return self.lifecycle.expire_due(tx, limit=at_most) == at_most

    def drop_overdue(self, tx: Transaction) -> None:
        """Delete what agents had to use in time: challenges."""
        store.delete_overdue_challenges(tx, now=self.lifecycle.clock.now())
