"""The services of machine agents, as an installation connects them."""

from __future__ import annotations

from attestlab.agents import store
from attestlab.agents.cards.service import AgentCards
from attestlab.agents.compliance.service import Compliance
from attestlab.agents.delegation.ending import DelegationsOfAgents
from attestlab.agents.delegation.service import Delegations
from attestlab.agents.keys import AgentKeys
from attestlab.agents.lifecycle import AgentLifecycle
from attestlab.agents.observability.bulk import AgentEventRecording
from attestlab.agents.observability.results import MeasureEvents
from attestlab.agents.observability.service import AgentEvents
from attestlab.agents.oversight.owners import OwnersOfAgents
from attestlab.agents.oversight.preferences import AgentPreferences
from attestlab.agents.oversight.service import AgentOversight
from attestlab.agents.runs.service import Runs
from attestlab.agents.service import Agents
from attestlab.agents.sessions import store as session_store
from attestlab.agents.sessions.authentication import AgentAuthentication
from attestlab.agents.sessions.ending import SessionsOfAgents
from attestlab.agents.sessions.service import ROUTE, AgentSessions
from attestlab.agents.statements import AgentStatements
from attestlab.agents.trust.keeping import TrustKeeper
from attestlab.agents.trust.service import AgentTrust
from attestlab.agents.witnessing.ending import ExpiryOfRequests
from attestlab.agents.witnessing.service import Witnessing
from attestlab.core.clock import Clock
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.log.service import Log


class AgentServices:
    """Machine agents: their registry, states, keys, statements, cards, delegations, sessions, votes and runs."""

    def __init__(
        self,
        log: Log,
        keyring: Keyring,
        key_prefix: str,
        portal_url: str,
        *,
        storage: Storage,
        clock: Clock,
        measure_events: MeasureEvents,
    ) -> None:
        sessions, delegations = SessionsOfAgents(), DelegationsOfAgents(log=log)
        self.lifecycle = AgentLifecycle(
            storage=storage, clock=clock, log=log, sessions=sessions, delegations=delegations
        )
        self.keys = AgentKeys(storage=storage, keyring=keyring, clock=clock, log=log, lifecycle=self.lifecycle)
        self.registry = Agents(storage=storage, clock=clock, keys=self.keys)
        self.statements = AgentStatements(storage=storage, clock=clock, keys=self.keys)
        self.cards = AgentCards(storage=storage, clock=clock, keys=self.keys)
        self.oversight = AgentOversight(storage=storage, clock=clock)
        self.preferences = AgentPreferences(storage=storage, clock=clock)
        self.owners = OwnersOfAgents(clock=clock, log=log, lifecycle=self.lifecycle)
        self.delegations = Delegations(
            storage=storage, keyring=keyring, clock=clock, log=log, keys=self.keys, agents=self.registry
        )
        self.witnessing = Witnessing(storage=storage, clock=clock, keys=self.keys)
        self.events = AgentEvents(storage=storage, clock=clock, measure=measure_events)
        self.bulk_events = AgentEventRecording(self.events)
        self.compliance = Compliance(storage=storage, clock=clock)
        self.trust = AgentTrust(storage=storage, clock=clock)
        self.trust_keeper = TrustKeeper(storage=storage, clock=clock)
        self.expiry_of_requests = ExpiryOfRequests(clock=clock, log=log)
        self.runs = Runs(storage=storage, clock=clock, log=log, keys=self.keys)
        self.authentication = AgentAuthentication(storage=storage, clock=clock, token_prefix=f"{key_prefix}s")
        self.sessions = AgentSessions(
            storage=storage,
            clock=clock,
            authentication=self.authentication,
            key_prefix=key_prefix,
            url=f"{portal_url}{ROUTE}",
        )

    def expire(self, tx: Transaction, *, at_most: int) -> bool:
        """Make at most `at_most` expiries permanent, and suspend agents without owner; whether there may be more."""
        expired = self.lifecycle.expire_due(tx, limit=at_most)
        done = expired.stored
        done += self.expiry_of_requests.expire_due(tx, limit=at_most - done)
        done += self.owners.notice_earlier(tx, limit=at_most - done)
        done += self.owners.suspend_due(tx, limit=at_most - done)
        return done == at_most or expired.has_more

    def drop_overdue(self, tx: Transaction) -> None:
        """Delete the challenges and assertions that are over, and write when sessions were last used."""
        now = self.lifecycle.clock.now()
        store.delete_overdue_challenges(tx, now=now)
        session_store.delete_overdue_assertions(tx, now=now)
        if last_uses := self.authentication.take_last_uses():
            tx.flush()
            session_store.KEEP_USES.run(tx.connection, last_uses)
