"""The caller behind an agent's token: what the agent may do now, for whom, and until when.

Each request reads the records, so a suspension, a kill, narrower scopes or the end of a person's session hold for the
next request in every process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection

from attestlab.agents import store as agent_store
from attestlab.agents.effective_scopes import compute_effective_scopes, list_house_scopes, parse_stored
from attestlab.agents.rules import AgentStatus
from attestlab.agents.rules import status_at as agent_status_at
from attestlab.agents.scopes import ScopeSet
from attestlab.agents.sessions import rules, store
from attestlab.agents.sessions.store import SessionWithAgent
from attestlab.agents.store import Ancestor
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.errors import AuthInvalid
from attestlab.identity import rules as identity_rules
from attestlab.identity import store as identity_store
from attestlab.orgs import role_rules
from attestlab.orgs.rules import Caller, ConsumerScope, Realm, Scope


@dataclass(frozen=True)
class AgentCredential:
    """A session with what its agent may do; it is as fresh as the records until `valid_until`.

    It is refused if it has ended, its agent is not active, or the session of its person has ended.
    """

    found: SessionWithAgent = field(repr=False)
    scopes: ScopeSet = field(repr=False)
    caller: Caller
    is_refused: bool
    valid_until: datetime


class AgentAuthentication:
    """Finds the callers of agents' tokens; `token_prefix` is the prefix of these tokens."""

    def __init__(self, *, storage: Storage, clock: Clock, token_prefix: str) -> None:
        self.storage = storage
        self.clock = clock
        self.token_prefix = token_prefix
        self._last_uses: dict[UUID, tuple[UUID, datetime]] = {}  # by session: its agent, and when it was used

    def is_token(self, secret: str) -> bool:
        """Whether a bearer token begins like an agent's."""
        return secret.startswith(f"{self.token_prefix}_")

    def authenticate(self, token: str, *, now: datetime) -> Caller:
        """Return the agent of a token as a caller, with what it may do now.

        Raises:
            AuthInvalid: the token is unknown or expired, or its session, agent or person has ended.
        """
        credential = self.find(token, now=now)
        if credential is None:
            raise AuthInvalid
        if credential.is_refused or now >= credential.found.session.expires_at:
            raise AuthInvalid(known=credential.caller)
        session = credential.found.session
        self._last_uses[session.id] = (session.agent_id, now)
        return credential.caller

    def find(self, token: str, *, now: datetime) -> AgentCredential | None:
        """Find the session of a token, whether it still opens anything or not; None if there is none.

        Raises:
            AuthInvalid: the text does not have the form of our tokens.
        """
        token_sha256 = rules.hash_token(token, prefix=self.token_prefix)

        def load(connection: Connection) -> AgentCredential | None:
            found = store.find_by_token(connection.execute, token_sha256)
            return None if found is None else load_credential(connection, found, now)

        credential = self.storage.cached_read(("agent_session", token_sha256), load)
        if credential is None or now < credential.valid_until:
            return credential
        with self.storage.read() as connection:  # a moment has passed at which something ends, without a commit
            return load(connection)

    def take_last_uses(self) -> Sequence[dict[str, object]]:
        """Return the last uses of sessions since the last call, as rows of their table."""
        taken, self._last_uses = self._last_uses, {}
        return [
            {"session_id": session_id, "agent_id": agent_id, "last_used_at": at}
            for session_id, (agent_id, at) in taken.items()
        ]


def load_credential(connection: Connection, found: SessionWithAgent, now: datetime) -> AgentCredential:
    """Load what an agent may do in a session, with the rights of the person for whom it acts."""
    session, agent = found.session, found.agent
    ancestors: Sequence[Ancestor] = ()
    if agent.parent_agent_id is not None:
        ancestors = agent_store.list_ancestors(connection.execute, [agent.id])[agent.id]
    granted = compute_effective_scopes(agent, ancestors, now=now).intersect(parse_stored(session.scopes))
    rights = None if session.user_session_id is None else _load_rights(connection, session.user_session_id)
    house: frozenset[Scope | ConsumerScope] = list_house_scopes(granted)
    if session.user_session_id is not None:
        house &= rights or frozenset()
    is_refused = (
        session.ended_at is not None
        or agent_status_at(agent.status, agent.expires_at, now) is not AgentStatus.ACTIVE
        or (session.user_session_id is not None and rights is None)
    )
    caller = Caller(
        tenant_id=session.tenant_id,
        actor_type="AGENT",
        actor_id=str(agent.id),
        scopes=house,
        plan=found.plan,
        adjusted=found.adjusted,
        realm=Realm.TENANT,
        credential_id=str(session.id),
        expires_at=session.expires_at,
        addons=found.addons,
        actor_name=agent.display_name,
        agent_scopes=tuple(granted.as_list()),
        on_behalf_of=session.on_behalf_of,
    )
    return AgentCredential(found, granted, caller, is_refused, _find_next_change(found, ancestors, now))


def _find_next_change(found: SessionWithAgent, ancestors: Iterable[Ancestor], now: datetime) -> datetime:
    """Return the first moment at which something of a session ends by the clock alone."""
    session, agent = found.session, found.agent
    moments = [session.expires_at, agent.expires_at, agent.delegated_until]
    for each in ancestors:
        moments += [each.expires_at, each.delegated_until]
    return min((at for at in moments if at is not None and at > now), default=session.refresh_until)


def _load_rights(connection: Connection, user_session_id: UUID) -> frozenset[Scope | ConsumerScope] | None:
    """Load what a person may do; None if their session or account has ended."""
    found = identity_store.find_person_by_session(connection, user_session_id)
    if found is None:
        return None
    person, ended_at = found
    if ended_at is not None or not role_rules.is_active(person.status):
        return None
    return identity_rules.permissions_for(person.roles, person.realm).scopes
