"""Service for agents' sessions: open, refresh, terminate, list, introspect (CONTRACT 11.9; RFC 6749, 7523, 7662).

A refresh token is used once and replaced. If one is used a second time, two parties hold it, so the session ends.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import Connection

from attestlab.agents import rules as agent_rules
from attestlab.agents import store as agent_store
from attestlab.agents.delegation.store import find_received
from attestlab.agents.effective_scopes import compute_effective_scopes, list_house_scopes
from attestlab.agents.keys import ALG
from attestlab.agents.lifecycle import AgentEnd
from attestlab.agents.scopes import ScopeSet, parse_scopes
from attestlab.agents.sessions import rules, store
from attestlab.agents.sessions.authentication import AgentAuthentication, AgentCredential, load_credential
from attestlab.agents.sessions.ending import end_sessions
from attestlab.agents.sessions.rules import AgentSessionStatus, Assertion
from attestlab.agents.sessions.shapes import AgentSessionIn, AgentSessionsQuery
from attestlab.agents.sessions.tables import AgentAssertionRecord, AgentRefreshTokenRecord, AgentSessionRecord
from attestlab.agents.signals import record_agent_signal
from attestlab.agents.tables import AgentRecord
from attestlab.core.clock import Clock
from attestlab.core.crypto import signing
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AuthInvalid, Conflict, PermissionDenied, SignatureInvalid, ValidationFailed
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.issuers.rules import KeyStatus
from attestlab.orgs.rules import ALPHABET, RANDOM_LENGTH, Caller, Realm, compose_consumer_key
from attestlab.risk.rules import Factor

ROUTE: Final = "/v1/agent-sessions"
REUSE: Final = "refresh_reuse"
REUSE_SCORE: Final = 80.0


@dataclass(frozen=True)
class SessionDetails:
    """A session with its state, and when it was last used."""

    row: AgentSessionRecord
    status: AgentSessionStatus
    last_used_at: datetime | None = None


@dataclass(frozen=True)
class AgentTokens:
    """A session with its tokens, which exist nowhere else."""

    session: SessionDetails
    token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_in: int


@dataclass(frozen=True)
class Introspection:
    """What a valid token may do now, and the delegation that limits its agent."""

    credential: AgentCredential
    delegation_id: UUID | None


class AgentSessions:
    """The sessions of agents. `url` is the address of the route that opens them, which assertions name.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(
        self, *, storage: Storage, clock: Clock, authentication: AgentAuthentication, key_prefix: str, url: str
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.authentication = authentication
        self.key_prefix = key_prefix
        self.url = url

    def open(self, body: AgentSessionIn, *, caller: Caller, tx: Transaction | None = None) -> AgentTokens:
        """Open a session of an agent with a credential of its tenant.

        Raises:
            ValidationFailed: a field is not acceptable, or `on_behalf_of` comes without a signed-in person.
            NotFound: the caller's tenant has no such agent.
            PermissionDenied: the agent, or the caller, lacks a scope that was asked for.
            Conflict: the agent is not active, or twenty of its sessions are.
        """
        if body.agent_id is None:
            raise ValidationFailed.of("/agent_id", "missing", "Name the agent, or send its assertion instead.")
        if body.on_behalf_of and caller.actor_type != "USER":
            message = "An agent acts on behalf of a signed-in person alone. Leave on_behalf_of out."
            raise ValidationFailed.of("/on_behalf_of", "needs_person", message)
        with self.storage.write(tx) as tx:
            agent = agent_store.get(tx.exec, body.agent_id, tenant_id=caller.tenant_id)
            return self._open(tx, agent, body, caller, self.clock.now())

    def open_by_assertion(self, body: AgentSessionIn, *, tx: Transaction | None = None) -> AgentTokens:
        """Open a session with an assertion that an agent signed with its own key; each opens one session.

        Raises:
            AuthInvalid: the assertion is not valid, not for this service, over, or was used before.
            ValidationFailed: a field is not acceptable.
            PermissionDenied: the agent lacks a scope that was asked for.
            Conflict: the agent is not active, or twenty of its sessions are.
        """
        assertion = rules.read_assertion(body.assertion or "")
        if body.on_behalf_of:
            message = "An agent acts on behalf of a signed-in person alone. Leave on_behalf_of out."
            raise ValidationFailed.of("/on_behalf_of", "needs_person", message)
        if body.agent_id not in (None, assertion.agent_id):
            raise AuthInvalid
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            rules.require_current(assertion, audience=self.url, now=now)
            agent = _require_signer(tx, assertion)
            ends_at = now + rules.ASSERTION_TTL + 2 * rules.MAX_CLOCK_SKEW
            if not store.keep_assertion(tx, AgentAssertionRecord(assertion.digest, agent.id, ends_at)):
                raise AuthInvalid
            return self._open(tx, agent, body, None, now)

    def refresh(
        self, session_id: UUID, refresh_token: str, *, tx: Transaction | None = None
    ) -> AgentTokens | AuthInvalid:
        """Use up a refresh token and return the next tokens, which end at most a day after the session began.

        If the token was used before, its session ends and a risk signal is recorded. That must be committed, so the
        error is returned, not raised.

        Raises:
            AuthInvalid: the token is not one of the session, or the session, its agent or its person has ended.
            Conflict: the session had expired, and twenty others of the agent are active.
        """
        secret_sha256 = rules.hash_token(refresh_token, prefix=f"{self.key_prefix}r")
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            token = store.find_refresh_token(tx.exec, secret_sha256, session_id)
            found = store.find_with_agent(tx.exec, session_id)
            if token is None or found is None:
                raise AuthInvalid
            credential = load_credential(tx.connection, found, now)
            if token.used_at is not None:
                return self._end_reused(tx, credential, now)
            if credential.is_refused or now >= found.session.refresh_until:
                raise AuthInvalid(known=credential.caller)
            if now >= found.session.expires_at:
                self._require_room(tx, found.agent.id, now)
            context = AuditContext(found.agent.tenant_id, credential.caller, "agent_session.refresh", now)
            used = AuditContext(found.agent.tenant_id, credential.caller, "agent_refresh_token.use", now)
            audited_write.change(tx, store.refresh_tokens, token, {"used_at": now}, used)
            secret, expires_at = self._make_secret("s"), _end_of_token(found.session, now)
            changes = {"token_sha256": rules.hash_token(secret, prefix=f"{self.key_prefix}s"), "expires_at": expires_at}
            row = audited_write.change(tx, store.sessions, found.session, changes, context)
            return self._issue(tx, row, secret, context)

    def terminate(
        self, session_id: UUID, *, reason: str | None = None, caller: Caller, tx: Transaction | None = None
    ) -> SessionDetails:
        """End a session; one that has ended stays as it is.

        Raises:
            NotFound: the caller's tenant has no such session.
            PermissionDenied: the caller is an agent, and the session is another one's.
        """
        with self.storage.write(tx) as tx:
            now, row = self.clock.now(), store.get(tx.exec, session_id, tenant_id=caller.tenant_id)
            agent_rules.require_own(caller, row.agent_id, verb="end sessions of")
            if row.ended_at is None:
                (row,) = end_sessions(tx, [row], AgentEnd("terminated", caller, now), reason=reason)
            last_used_at = store.find_uses(tx.exec, [row.id]).get(row.id)
        return SessionDetails(row, AgentSessionStatus.TERMINATED, last_used_at)

    def get(self, session_id: UUID, *, caller: Caller) -> SessionDetails:
        """Get a session of the caller's tenant.

        Raises:
            NotFound: the caller's tenant has no such session.
            PermissionDenied: the caller is an agent, and the session is another one's.
        """
        with self.storage.read() as connection:
            row = store.get(connection.execute, session_id, tenant_id=caller.tenant_id)
            agent_rules.require_own(caller, row.agent_id, verb="read sessions of")
            last_used_at = store.find_uses(connection.execute, [row.id]).get(row.id)
        return SessionDetails(row, self._status_of(row), last_used_at)

    def page(
        self,
        query: AgentSessionsQuery = AgentSessionsQuery(),  # noqa: B008 frozen
        *,
        caller: Caller,
        before: UUID | None = None,
        limit: int = 50,
    ) -> list[SessionDetails]:
        """List the sessions of the caller's tenant, newest first; an agent sees its own."""
        if caller.actor_type == "AGENT":
            query = query.model_copy(update={"agent_id": UUID(caller.actor_id)})
        with self.storage.read() as connection:
            execute, now = connection.execute, self.clock.now()
            rows = store.page(execute, query, tenant_id=caller.tenant_id, now=now, before=before, limit=limit)
            last_uses = store.find_uses(execute, [row.id for row in rows])
        return [SessionDetails(row, self._status_of(row), last_uses.get(row.id)) for row in rows]

    def introspect(self, token: str, *, caller: Caller) -> Introspection | None:
        """Return what a token may do now; None if it is not a valid one of the caller's tenant."""
        now = self.clock.now()
        try:
            found = self.authentication.find(token, now=now)
        except AuthInvalid:
            return None
        if found is None or found.caller.tenant_id != caller.tenant_id:
            return None
        if found.is_refused or now >= found.found.session.expires_at:
            return None
        return Introspection(found, self._find_delegation(found.found.agent))

    def _find_delegation(self, agent: AgentRecord) -> UUID | None:
        if agent.parent_agent_id is None:
            return None

        def load(connection: Connection) -> UUID | None:
            received = find_received(connection.execute, agent.id)
            return None if received is None else received.id

        return self.storage.cached_read(("agent_delegation", agent.id), load)

    def _open(
        self, tx: Transaction, agent: AgentRecord, body: AgentSessionIn, opener: Caller | None, now: datetime
    ) -> AgentTokens:
        agent_rules.require_active(agent_rules.status_at(agent.status, agent.expires_at, now), "open a session")
        self._require_room(tx, agent.id, now)
        granted = _grant(tx, agent, body, opener, now)
        secret, session_id = self._make_secret("s"), new_id(now)
        is_on_behalf = opener is not None and body.on_behalf_of
        row = AgentSessionRecord(
            id=session_id,
            tenant_id=agent.tenant_id,
            agent_id=agent.id,
            scopes=" ".join(granted.as_list()),
            audience=json.dumps(body.audience),
            extra=agent_rules.encode_object("metadata", body.metadata, agent_rules.METADATA_LIMIT_BYTES),
            on_behalf_of=UUID(opener.actor_id) if opener is not None and is_on_behalf else None,
            user_session_id=UUID(opener.credential_id) if opener is not None and is_on_behalf else None,
            opened_by="ASSERTION" if opener is None else opener.actor_type,
            ttl_minutes=body.ttl_minutes,
            token_sha256=rules.hash_token(secret, prefix=f"{self.key_prefix}s"),
            expires_at=now + timedelta(minutes=body.ttl_minutes),
            refresh_until=now + rules.REFRESH_TTL,
            created_at=now,
        )
        actor = opener or _make_agent_caller(agent, session_id)
        context = AuditContext(agent.tenant_id, actor, "agent_session.open", now, {"agent_id": str(agent.id)})
        audited_write.insert(tx, store.sessions, row, context)
        return self._issue(tx, row, secret, context)

    def _issue(self, tx: Transaction, row: AgentSessionRecord, secret: str, context: AuditContext) -> AgentTokens:
        refresh_token = self._make_secret("r")
        token = AgentRefreshTokenRecord(
            id=new_id(context.at),
            session_id=row.id,
            secret_sha256=rules.hash_token(refresh_token, prefix=f"{self.key_prefix}r"),
            created_at=context.at,
        )
        made = AuditContext(context.tenant_id, context.actor, "agent_refresh_token.create", context.at)
        audited_write.insert(tx, store.refresh_tokens, token, made)
        left_s = int((row.expires_at - context.at).total_seconds())
        return AgentTokens(SessionDetails(row, AgentSessionStatus.ACTIVE), secret, refresh_token, left_s)

    def _end_reused(self, tx: Transaction, credential: AgentCredential, now: datetime) -> AuthInvalid:
        session = credential.found.session
        if session.ended_at is None:
            end_sessions(tx, [session], AgentEnd("refresh_reuse", credential.caller, now))
            factor = Factor(REUSE, True, 100.0, REUSE_SCORE, "A refresh token was used twice: two parties hold it.")
            record_agent_signal(tx, session.tenant_id, session.agent_id, session.id, factor, at=now)
        return AuthInvalid(known=credential.caller)

    def _require_room(self, tx: Transaction, agent_id: UUID, now: datetime) -> None:
        rules.require_room(store.count_open_by_agent(tx.exec, [agent_id], now=now).get(agent_id, 0))

    def _make_secret(self, kind: str) -> str:
        random_part = "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_LENGTH))
        return compose_consumer_key(f"{self.key_prefix}{kind}", random_part)

    def _status_of(self, row: AgentSessionRecord) -> AgentSessionStatus:
        return rules.status_at(row.ended_at, row.expires_at, self.clock.now())


def _grant(tx: Transaction, agent: AgentRecord, body: AgentSessionIn, opener: Caller | None, now: datetime) -> ScopeSet:
    """Compute what a session may do: what was asked for, within what the agent and the opener may.

    Of a person for whom the agent acts, the current rights count at each request. Another opener's are written into
    the session, as denies of this service's scopes that they lack.
    """
    above = agent_store.list_ancestors(tx.exec, [agent.id]).get(agent.id, [])
    effective = compute_effective_scopes(agent, above, now=now)
    wanted = effective if body.scopes is None else parse_scopes(body.scopes)
    uncovered = sorted(scope for scope in wanted.allows if not effective.can_grant(scope))
    granted = wanted.intersect(effective)
    if opener is not None and not body.on_behalf_of:
        lacking = {scope.value for scope in list_house_scopes(granted) - opener.scopes}
        if body.scopes is not None:
            uncovered += sorted(lacking)
        granted = ScopeSet(granted.allows, granted.denies | lacking)
    if uncovered:
        message = f"The session cannot have the scope {uncovered[0]}, because the agent or its opener lacks it."
        raise PermissionDenied(message, details={"required_scope": uncovered[0]})
    return granted


def _require_signer(tx: Transaction, assertion: Assertion) -> AgentRecord:
    """Return the agent whose current key signed an assertion."""
    agent = agent_store.find(tx.exec, assertion.agent_id)
    if agent is None or assertion.kid not in (None, agent.key_id):
        raise AuthInvalid
    key = agent_store.get_key(tx.exec, agent.id, agent.key_id)
    try:
        signing.verify(ALG, signing.load_public(ALG, key.spki), assertion.signature, assertion.signed)
    except SignatureInvalid:
        raise AuthInvalid from None
    if key.status != KeyStatus.ACTIVE:
        message = f"The agent's key is {key.status}; only an active one opens sessions."
        raise Conflict(message, details={"status": agent.status, "reason": "key_compromised"})
    return agent


def _make_agent_caller(agent: AgentRecord, session_id: UUID) -> Caller:
    """Return an agent as the actor that opens its own session."""
    return Caller(
        agent.tenant_id, "AGENT", str(agent.id), frozenset(), "", realm=Realm.TENANT, credential_id=str(session_id)
    )


def _end_of_token(session: AgentSessionRecord, now: datetime) -> datetime:
    return min(now + timedelta(minutes=session.ttl_minutes), session.refresh_until)


def list_audience(row: AgentSessionRecord) -> Sequence[str]:
    """Return the servers that a session's tokens are for."""
    audience: list[str] = json.loads(row.audience)
    return audience
