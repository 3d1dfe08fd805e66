"""Service for API keys of tenants and consumers: create, get, list, revoke, flag (CONTRACT section 3).

A secret is shown once and stored as SHA-256 only. A revocation is permanent, and takes effect with its commit in
every process, because each request reads the database.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypedDict
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, ValidationFailed
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.actors import Actor
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs import rules, scope_rules, store
from attestlab.orgs.events import ApiKeyCompromised
from attestlab.orgs.rules import CONSUMER_SCOPES, ApiKeyStatus, Caller, ConsumerScope, Environment, Scope
from attestlab.orgs.tables import ApiKeyRecord
from attestlab.settings import Settings, Stage


@dataclass(frozen=True)
class NewApiKey:
    """An API key to create; `created_by` is a person."""

    name: str
    scopes: AbstractSet[Scope | ConsumerScope]
    environment: Environment = Environment.LIVE
    created_by: UUID | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True)
class CreatedApiKey:
    """A new key: its row, and its secret, which is shown only once."""

    row: ApiKeyRecord = field(repr=False)
    secret: str = field(repr=False)


class _StoredSecret(TypedDict):
    """What is stored of a key's secret."""

    prefix: str
    secret_sha256: bytes


class ApiKeys:
    """A tenant's keys, each with its current status.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock, settings: Settings) -> None:
        self.storage = storage
        self.clock = clock
        self.settings = settings

    def create(
        self,
        name: str,
        *,
        scopes: AbstractSet[Scope],
        caller: Caller,
        environment: Environment = Environment.LIVE,
        tx: Transaction | None = None,
    ) -> CreatedApiKey:
        """Create a key of the caller's tenant, with no more scopes than the caller has.

        All eight scopes of the specification imply the others.

        Raises:
            ValidationFailed: the name is not one line, there is no scope, or a dev key is requested in production.
            PermissionDenied: the caller lacks one of the scopes.
        """
        name = rules.validate_display_name("name", name)
        if not scopes:
            raise ValidationFailed.of(
                "/scopes", "too_short", f"A key needs at least one scope. Valid scopes: {', '.join(Scope)}."
            )
        if environment is Environment.DEV and self.settings.env is Stage.PRODUCTION:
            raise ValidationFailed.of("/environment", "dev", "Production accepts live keys only.")
        granted = scope_rules.expand(scopes)
        rules.require_scopes_within(granted, caller.scopes)
        key = NewApiKey(name, granted, environment, _person_id(caller))
        with self.storage.write(tx) as tx:
            return self.add(tx, key, tenant_id=caller.tenant_id, actor=caller, at=self.clock.now())

    def create_for_consumer(self, name: str, *, caller: Caller, tx: Transaction | None = None) -> CreatedApiKey:
        """Create a consumer's own key, with the five fixed scopes, for 90 days.

        Raises:
            ValidationFailed: the name is not one line.
            Conflict: five of their keys are active.
        """
        key = NewApiKey(rules.validate_display_name("name", name), CONSUMER_SCOPES, created_by=_person_id(caller))
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            if store.count_active_keys(tx, caller.tenant_id, now) >= rules.MAX_CONSUMER_KEYS:
                message = f"{rules.MAX_CONSUMER_KEYS} keys are active already; revoke one first."
                raise Conflict(message, details={"reason": "too_many_keys", "limit": rules.MAX_CONSUMER_KEYS})
            expiring = replace(key, expires_at=now + rules.CONSUMER_KEY_TTL)
            return self.add(tx, expiring, tenant_id=caller.tenant_id, actor=caller, at=now, is_consumers=True)

    def add(
        self,
        tx: Transaction,
        key: NewApiKey,
        *,
        tenant_id: UUID,
        actor: Actor,
        at: datetime,
        is_consumers: bool = False,
    ) -> CreatedApiKey:
        """Insert an active key with a new secret; the caller of this method has checked the permissions."""
        secret = self._secret(key.environment, is_consumers)
        row = ApiKeyRecord(
            id=new_id(at),
            tenant_id=tenant_id,
            name=key.name,
            environment=key.environment.value,
            scopes=scope_rules.format_scopes(key.scopes),
            status=ApiKeyStatus.ACTIVE.value,
            created_at=at,
            created_by=key.created_by,
            expires_at=key.expires_at,
            has_group_scopes=True,
            **_columns_of(secret),
        )
        audited_write.insert(tx, store.api_keys, row, AuditContext(tenant_id, actor, "api_key.create", at))
        return CreatedApiKey(row, secret)

    def replace_secret(self, key_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> CreatedApiKey:
        """Give a key another secret, without a time in which both work; its id, name and scopes stay.

        Raises:
            NotFound: the caller's tenant has no key with this id.
        """
        with self.storage.write(tx) as tx:
            row = store.get_owned(tx.exec, ApiKeyRecord, key_id, tenant_id=caller.tenant_id)
            secret = self._secret(Environment(row.environment), is_consumers=False)
            changed = self._change(tx, row, _columns_of(secret), "api_key.replace_secret", caller)
        return CreatedApiKey(changed, secret)

    def get(self, key_id: UUID, *, caller: Caller) -> ApiKeyRecord:
        """Return one of the keys of the caller's tenant.

        Raises:
            NotFound: the caller's tenant has no key with this id.
        """
        with self.storage.read() as connection:
            row = store.get_owned(connection.execute, ApiKeyRecord, key_id, tenant_id=caller.tenant_id)
        return self._current(row)

    def list_page(self, *, caller: Caller, before: UUID | None = None, limit: int = 50) -> Sequence[ApiKeyRecord]:
        """List the tenant's keys, newest first, including revoked ones."""
        with self.storage.read() as connection:
            rows = store.list_page(connection, ApiKeyRecord, tenant_id=caller.tenant_id, before=before, limit=limit)
        return [self._current(row) for row in rows]

    def revoke(
        self, key_id: UUID, *, reason: str | None, caller: Caller, tx: Transaction | None = None
    ) -> ApiKeyRecord:
        """Revoke a key permanently; repeating it changes nothing, not even the reason.

        Raises:
            NotFound: the caller's tenant has no key with this id.
        """
        with self.storage.write(tx) as tx:
            row = store.get_owned(tx.exec, ApiKeyRecord, key_id, tenant_id=caller.tenant_id)
            if row.status == ApiKeyStatus.REVOKED:
                return row
            return self._change(tx, row, _revocation_changes(reason, self.clock.now()), "api_key.revoke", caller)

    def compromise(self, key_id: UUID, *, reason: str, caller: Caller, tx: Transaction | None = None) -> ApiKeyRecord:
        """Flag a key as compromised and revoke it; the event is published once, however often the key is flagged.

        Raises:
            NotFound: the caller's tenant has no key with this id.
        """
        with self.storage.write(tx) as tx:
            row = store.get_owned(tx.exec, ApiKeyRecord, key_id, tenant_id=caller.tenant_id)
            if row.compromised_at is not None:
                return row
            now = self.clock.now()
            changes = {} if row.status == ApiKeyStatus.REVOKED else _revocation_changes(reason, now)
            flagged = self._change(tx, row, {**changes, "compromised_at": now}, "api_key.compromise", caller)
            event = ApiKeyCompromised(api_key_id=key_id, compromised_at=now)
            outbox.publish(tx, caller.tenant_id, event, at=now)
        return flagged

    def erase_all(self, tx: Transaction, *, caller: Caller) -> None:
        """Revoke the keys of the caller's tenant and erase their names, with the account of a consumer."""
        for row in store.list_keys(tx.exec, caller.tenant_id):
            changes = {} if row.status == ApiKeyStatus.REVOKED else _revocation_changes(None, self.clock.now())
            self._change(tx, row, {**changes, "name": "Deleted key"}, "api_key.erase", caller)

    def _change(
        self, tx: Transaction, row: ApiKeyRecord, changes: Mapping[str, object], action: str, caller: Caller
    ) -> ApiKeyRecord:
        deed = AuditContext(caller.tenant_id, caller, action, self.clock.now())
        return audited_write.change(tx, store.api_keys, row, changes, deed)

    def _current(self, row: ApiKeyRecord) -> ApiKeyRecord:
        return row._replace(status=rules.key_status(row.status, row.expires_at, self.clock.now()).value)

    def _secret(self, environment: Environment, is_consumers: bool) -> str:
        random_part = "".join(secrets.choice(rules.ALPHABET) for _ in range(rules.RANDOM_LENGTH))
        if is_consumers:
            return rules.compose_consumer_key(self.settings.consumer_key_prefix, random_part)
        return rules.compose_api_key(self.settings.key_prefix, environment, random_part)


def _columns_of(secret: str) -> _StoredSecret:
    return {"prefix": rules.key_prefix(secret), "secret_sha256": hashlib.sha256(secret.encode()).digest()}


def _person_id(caller: Caller) -> UUID | None:
    return UUID(caller.actor_id) if caller.actor_type == "USER" else None


def _revocation_changes(reason: str | None, now: datetime) -> dict[str, object]:
    return {"status": ApiKeyStatus.REVOKED.value, "revoked_at": now, "revocation_reason": reason}
