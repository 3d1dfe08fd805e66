"""Sessions: from login to logout, one access token at a time (RFC 6749 section 6, RFC 9700 section 4.14).

A refresh token is used once and replaced. If one is used a second time, two parties hold it, and the service cannot
know which is legitimate, so the whole session ends.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AuthInvalid, PermissionDenied
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.audited_write import AuditContext
from attestlab.identity import rules, store
from attestlab.identity.events import SuspiciousActivity
from attestlab.identity.rules import Claims, SessionEndReason
from attestlab.identity.shapes import SessionsQuery
from attestlab.identity.store import Person
from attestlab.identity.tables import RefreshTokenRecord, SessionRecord
from attestlab.identity.tokens import AccessTokens
from attestlab.orgs import role_rules
from attestlab.orgs import store as org_store
from attestlab.orgs.credential_uses import CredentialUses
from attestlab.orgs.rules import Caller
from attestlab.orgs.tables import UserRecord


@dataclass(frozen=True)
class Tokens:
    """The tokens of a session: one for access, one to refresh."""

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)


class OpenSession(NamedTuple):
    """A session with when it was last used, and whether it is the caller's current one."""

    row: SessionRecord
    last_used_at: datetime | None
    current: bool


class Sessions:
    """Sessions of signed-in people; `key_prefix` is the prefix of our refresh tokens.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(
        self,
        *,
        storage: Storage,
        clock: Clock,
        tokens: AccessTokens,
        key_prefix: str,
        credential_uses: CredentialUses,
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.tokens = tokens
        self.key_prefix = key_prefix
        self.credential_uses = credential_uses

    def authenticate(self, token: str, *, now: datetime, is_use: bool = True) -> Caller:
        """Return the person of an access token, with their current permissions from the database.

        Without `is_use`, the session does not count as used.

        Raises:
            AuthInvalid: the token is invalid or expired, or its session or account has ended.
        """
        claims = self.tokens.verify(token)
        caller = self.storage.cached_read(claims, lambda connection: _load_caller(connection, claims))
        if not claims.is_current(now):
            raise AuthInvalid(known=caller)
        if is_use:
            self.credential_uses.note(caller, at=now)
        return caller

    def authenticate_browser(self, refresh_token: str, *, now: datetime) -> Caller:
        """Return the person of a refresh token that a browser keeps in a cookie; the token stays unused.

        Raises:
            AuthInvalid: the token is unknown, used or expired, or its session or account has ended.
        """
        secret_sha256 = rules.hash_refresh_token(refresh_token, prefix=self.key_prefix)
        name = ("browser", secret_sha256)
        token, caller = self.storage.cached_read(name, lambda connection: _load_browser(connection, secret_sha256))
        if not _is_current(token, now):
            raise AuthInvalid(known=caller)
        self.credential_uses.note(caller, at=now)
        return caller

    def begin(self, tx: Transaction, person: Person, *, at: datetime) -> Tokens:
        """Start a session for this person."""
        session_id = new_id(at)
        row = SessionRecord(session_id, person.tenant_id, person.id, at)
        caller = caller_of(person, session_id)
        audited_write.insert(tx, store.sessions, row, AuditContext(person.tenant_id, caller, "session.create", at))
        return self._issue_tokens(tx, person, caller, at)

    def refresh(self, refresh_token: str, *, tx: Transaction | None = None) -> Tokens | AuthInvalid:
        """Use up a refresh token and return the session's next tokens.

        If the token was used before, its session ends. That change must be committed, so the error is returned, not
        raised.

        Raises:
            AuthInvalid: the token is unknown or expired, or its session or account has ended.
        """
        secret_sha256 = rules.hash_refresh_token(refresh_token, prefix=self.key_prefix)
        with self.storage.write(tx) as tx:
            now, token = self.clock.now(), store.find_refresh_token(tx, secret_sha256)
            if token is None:
                raise AuthInvalid
            person, caller = _load_session(tx.connection, token.session_id)
            if token.used_at is not None:
                return self._end_reused(tx, caller, now)
            if not _is_current(token, now):
                raise AuthInvalid(known=caller)
            self.credential_uses.note(caller, at=now)
            deed = AuditContext(caller.tenant_id, caller, "refresh_token.use", now)
            audited_write.change(tx, store.refresh_tokens, token, {"used_at": now}, deed)
            return self._issue_tokens(tx, person, caller, now)

    def renew_kept(self, refresh_token: str, *, is_reopened: bool, tx: Transaction | None = None) -> Tokens:
        """Return the next access token of a session whose refresh token stays unused, as the dashboards keep it.

        A session that `is_reopened`, because the process that had it open has ended, was used within
        `MAX_BROWSER_IDLE`.

        Raises:
            AuthInvalid: the token is unknown, used or expired, or its session was idle or has ended.
        """
        secret_sha256 = rules.hash_refresh_token(refresh_token, prefix=self.key_prefix)
        with self.storage.write(tx) as tx:
            now, token = self.clock.now(), store.find_refresh_token(tx, secret_sha256)
            if token is None or token.used_at is not None:
                raise AuthInvalid
            person, caller = _load_session(tx.connection, token.session_id)
            if not _is_current(token, now) or (is_reopened and self._is_idle(tx, token, now)):
                raise AuthInvalid(known=caller)
            claims = Claims.of(caller, email=person.email, issuer=self.tokens.issuer(), jti=str(token.id), at=now)
            return Tokens(self.tokens.sign(tx, claims, at=now), refresh_token)

    def _is_idle(self, tx: Transaction, token: RefreshTokenRecord, now: datetime) -> bool:
        last_uses = self.credential_uses.find_of_credentials([token.session_id], tx=tx)
        return now - last_uses.get(token.session_id, token.issued_at) > rules.MAX_BROWSER_IDLE

    def sign_out(self, *, caller: Caller, refresh_token: str | None = None, tx: Transaction | None = None) -> None:
        """End the caller's session, and the session of `refresh_token` if it is another one of theirs."""
        with self.storage.write(tx) as tx:
            ending = {UUID(caller.credential_id), self._find_session(tx, refresh_token)}
            self._end_own(tx, ending.__contains__, SessionEndReason.LOGOUT, caller, self.clock.now())

    def end_others(self, tx: Transaction, reason: SessionEndReason, *, caller: Caller, at: datetime) -> int:
        """End all sessions of the caller except the current one; return their number."""
        return self._end_own(tx, UUID(caller.credential_id).__ne__, reason, caller, at)

    def end_all(self, tx: Transaction, user_id: UUID, reason: SessionEndReason, *, context: AuditContext) -> int:
        """End all sessions of a person; return their number."""
        return _end(tx, store.list_open_sessions(tx, user_id), reason, context)

    def list_page(
        self, query: SessionsQuery, *, caller: Caller, before: UUID | None = None, limit: int = 50
    ) -> list[OpenSession]:
        """List the sessions that are open, newest first: the caller's own, another person's, or all of the tenant.

        A person of whom the tenant knows nothing has none.

        Raises:
            PermissionDenied: they are not the caller's own, and the caller is neither owner nor admin.
        """
        own_id = UUID(caller.actor_id)
        user_id = None if query.everyone else query.user_id or own_id
        if user_id != own_id:
            _require_manager(caller)
        with self.storage.read() as connection:
            found = store.list_usable_sessions(
                connection.execute, caller.tenant_id, user_id, now=self.clock.now(), before=before, limit=limit
            )
        last_uses = self.credential_uses.find_of_credentials([row.id for row in found])
        return [OpenSession(row, last_uses.get(row.id), str(row.id) == caller.credential_id) for row in found]

    def end(self, session_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> None:
        """End a session of the caller or, as an owner or admin, of another person; one that has ended stays ended.

        Raises:
            NotFound: the tenant has no such session.
            PermissionDenied: the caller may not end the sessions of this person.
        """
        with self.storage.write(tx) as tx:
            session = store.get_session(tx.exec, session_id, tenant_id=caller.tenant_id)
            if str(session.user_id) != caller.actor_id:
                _require_manager(caller)
                person = org_store.get_owned(tx.exec, UserRecord, session.user_id, tenant_id=caller.tenant_id)
                role_rules.require_may_change(role_rules.parse_roles(person.roles), caller=caller)
            if session.ended_at is None:
                deed = AuditContext(caller.tenant_id, caller, "session.end", self.clock.now())
                _end(tx, [session], SessionEndReason.ENDED, deed)

    def change_role(self, tx: Transaction, person: UserRecord, context: AuditContext) -> None:
        """End all sessions of a person whose role changes, and with them those that agents hold on their behalf."""
        self.end_all(tx, person.id, SessionEndReason.ROLE, context=context)

    def _issue_tokens(self, tx: Transaction, person: Person, caller: Caller, now: datetime) -> Tokens:
        secret = rules.compose_refresh_token(self.key_prefix, secrets.token_bytes(rules.REFRESH_TOKEN_BYTES))
        row = RefreshTokenRecord(
            id=new_id(now),
            session_id=UUID(caller.credential_id),
            secret_sha256=rules.hash_refresh_token(secret, prefix=self.key_prefix),
            issued_at=now,
            expires_at=now + rules.REFRESH_TOKEN_TTL,
        )
        audited_write.insert(
            tx, store.refresh_tokens, row, AuditContext(caller.tenant_id, caller, "refresh_token.create", now)
        )
        claims = Claims.of(caller, email=person.email, issuer=self.tokens.issuer(), jti=str(row.id), at=now)
        return Tokens(self.tokens.sign(tx, claims, at=now), secret)

    def _end_reused(self, tx: Transaction, caller: Caller, now: datetime) -> AuthInvalid:
        person_id, session_id = UUID(caller.actor_id), UUID(caller.credential_id)
        self._end_own(tx, session_id.__eq__, SessionEndReason.REUSE, caller, now)
        event = SuspiciousActivity(
            user_id=person_id, session_id=session_id, reason="refresh_token_reused", detected_at=now
        )
        outbox.publish(tx, caller.tenant_id, event, at=now)
        return AuthInvalid(known=caller)

    def _end_own(
        self,
        tx: Transaction,
        should_end: Callable[[UUID], bool],
        reason: SessionEndReason,
        caller: Caller,
        now: datetime,
    ) -> int:
        """End the caller's open sessions that `should_end` selects; return their number."""
        ending = [session for session in store.list_open_sessions(tx, UUID(caller.actor_id)) if should_end(session.id)]
        return _end(tx, ending, reason, AuditContext(caller.tenant_id, caller, "session.end", now))

    def _find_session(self, tx: Transaction, refresh_token: str | None) -> UUID | None:
        """Return the session of a refresh token; None if the token is not one of ours."""
        if refresh_token is None:
            return None
        try:
            secret_sha256 = rules.hash_refresh_token(refresh_token, prefix=self.key_prefix)
        except AuthInvalid:
            return None
        token = store.find_refresh_token(tx, secret_sha256)
        return None if token is None else token.session_id


def caller_of(person: Person, session_id: UUID, expires_at: datetime | None = None) -> Caller:
    """Build the caller for a person in one of their sessions."""
    rights = rules.permissions_for(person.roles, person.realm)
    return Caller(
        person.tenant_id,
        "USER",
        str(person.id),
        rights.scopes,
        person.plan,
        person.adjusted,
        rights.realm,
        rights.roles,
        str(session_id),
        expires_at,
        person.addons,
    )


def _require_manager(caller: Caller) -> None:
    if not role_rules.is_manager(caller.roles):
        message = "Only an owner or admin sees or ends the sessions of other people."
        raise PermissionDenied(message, details={"required_roles": sorted(role_rules.MANAGERS)})


def _end(tx: Transaction, ending: Sequence[SessionRecord], reason: SessionEndReason, context: AuditContext) -> int:
    deed = replace(context, action="session.end", metadata={"because": reason.value})
    for session in ending:
        changes = {"ended_at": deed.at, "ended_because": reason.value}
        audited_write.change(tx, store.sessions, session, changes, deed)
    return len(ending)


def _load_session(
    connection: Connection, session_id: UUID, expires_at: datetime | None = None
) -> tuple[Person, Caller]:
    """Load an open session's person and caller.

    Raises:
        AuthInvalid: the session or the account has ended.
    """
    found = store.find_person_by_session(connection, session_id)
    if found is None:
        raise AuthInvalid
    person, ended_at = found
    caller = caller_of(person, session_id, expires_at)
    if ended_at is not None or not role_rules.is_active(person.status):
        raise AuthInvalid(known=caller)
    return person, caller


def _load_caller(connection: Connection, claims: Claims) -> Caller:
    person, caller = _load_session(connection, claims.sid, claims.expires_at)
    if (person.id, person.tenant_id) != (claims.sub, claims.tenant_id):
        raise AuthInvalid
    return caller


def _is_current(token: RefreshTokenRecord, now: datetime) -> bool:
    """Whether a refresh token is valid now; one that outlives the service's own was issued while a clock was wrong."""
    latest = now + rules.REFRESH_TOKEN_TTL + timedelta(seconds=rules.MAX_CLOCK_SKEW_S)
    return now < token.expires_at <= latest


def _load_browser(connection: Connection, secret_sha256: bytes) -> tuple[RefreshTokenRecord, Caller]:
    """Load an unused refresh token, and the caller of its session.

    Raises:
        AuthInvalid: the token is unknown or used, or its session or account has ended.
    """
    token = store.read_refresh_token(connection, secret_sha256)
    if token is None or token.used_at is not None:
        raise AuthInvalid
    return token, _load_session(connection, token.session_id, token.expires_at)[1]
