"""The verbs of tenants and keys: create a tenant, find the caller behind a key."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Table

from attestlab.core import audited
from attestlab.core.audited import Deed
from attestlab.core.clock import Clock
from attestlab.core.errors import AuthInvalid, Conflict, NotFound
from attestlab.core.ids import new_id
from attestlab.core.storage import Storage
from attestlab.core.transaction import Transaction
from attestlab.orgs import rules, store
from attestlab.orgs.rules import ApiKeyStatus, Caller, Environment, OrgStatus, Plan, Role, Scope
from attestlab.settings import Environment as Stage
from attestlab.settings import Settings

PASSWORD_BYTES = 18


@dataclass(frozen=True)
class TenantCreated:
    """A fresh tenant with its owner's password and its first key, both shown this once."""

    tenant_id: UUID
    org_id: UUID
    owner_email: str
    owner_password: str
    api_key: str

    def public(self) -> dict[str, str]:
        """As the command line prints it."""
        return {
            "tenant_id": str(self.tenant_id),
            "org_id": str(self.org_id),
            "owner_email": self.owner_email,
            "owner_password": self.owner_password,
            "api_key": self.api_key,
        }


@dataclass(frozen=True)
class Installer:
    """The actor of what is done on the command line, before anyone can sign in."""

    actor_type: str = "SERVICE"
    actor_id: str = "attestlab-cli"


class Orgs:
    """Tenants, their people and their keys."""

    def __init__(self, *, storage: Storage, clock: Clock, settings: Settings) -> None:
        self.storage = storage
        self.clock = clock
        self.settings = settings

    def create_tenant(self, name: str, *, plan: Plan, operator: bool = False) -> TenantCreated:
        """A tenant with its organization, an owner, and a live key with every tenant scope.

        Raises:
            ValidationFailed: the name is empty, too long or not one line.
            Conflict: there is an operator already.
        """
        name = rules.one_line("name", name)
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        password_hash = _argon2id(password)  # takes long on purpose, so nobody waits for it under the writer's lock
        with self.storage.write() as tx:
            if operator and store.has_operator(tx):
                raise Conflict("There is an operator's tenant already; create this one without `operator`.")
            now = self.clock.now()
            tenant_id = self._add_tenant(tx, name, plan, operator, now)
            org_id, slug = self._add_org(tx, tenant_id, name, now)
            email = self._add_owner(tx, tenant_id, org_id, slug, operator, password_hash, now)
            secret = self._add_key(tx, tenant_id, "First key", now)
        return TenantCreated(tenant_id, org_id, email, password, secret)

    def authenticate(self, connection: Connection, secret: str) -> Caller:
        """The caller behind an API key; the lookup is by SHA-256, so no secret is ever compared.

        Raises:
            AuthInvalid: malformed, unknown, revoked, or a dev key in production.
        """
        environment = rules.api_key_environment(secret, prefix=self.settings.key_prefix)
        if environment is Environment.DEV and self.settings.env is Stage.PRODUCTION:
            raise AuthInvalid
        found = store.key_by_secret(connection, hashlib.sha256(secret.encode()).digest())
        if found is None or found.status != ApiKeyStatus.ACTIVE or found.environment != environment:
            raise AuthInvalid
        return Caller(found.tenant_id, "API_KEY", str(found.id), _scopes(found.scopes), found.plan)

    def service_caller(self, tenant_id: UUID) -> Caller:
        """The service itself acting for a tenant, with every scope; for demos and notebooks in process.

        Raises:
            NotFound: there is no such tenant.
        """
        with self.storage.read() as connection:
            found = store.tenant(connection, tenant_id)
        if found is None:
            raise NotFound("tenant", tenant_id)
        return Caller(tenant_id, "SERVICE", "attestlab", frozenset(Scope), found.plan)

    def _add_tenant(self, tx: Transaction, name: str, plan: Plan, operator: bool, now: datetime) -> UUID:
        tenant_id = new_id(now)
        row = {"id": tenant_id, "name": name, "plan": plan.value, "is_operator": operator, "created_at": now}
        _add(tx, store.tenants, row, tenant_id, "tenant", now)
        return tenant_id

    def _add_org(self, tx: Transaction, tenant_id: UUID, name: str, now: datetime) -> tuple[UUID, str]:
        wanted = rules.slug(name)
        slug = rules.free_slug(wanted, store.slugs_like(tx, wanted))
        row: dict[str, Any] = {
            "id": new_id(now),
            "tenant_id": tenant_id,
            "name": name,
            "slug": slug,
            "status": OrgStatus.ACTIVE.value,
            "created_at": now,
        }
        _add(tx, store.orgs, row, tenant_id, "org", now)
        return row["id"], slug

    def _add_owner(
        self,
        tx: Transaction,
        tenant_id: UUID,
        org_id: UUID,
        slug: str,
        operator: bool,
        password_hash: str,
        now: datetime,
    ) -> str:
        email = f"owner@{slug}.example"
        row = {
            "id": new_id(now),
            "tenant_id": tenant_id,
            "org_id": org_id,
            "email": email,
            "name": "Owner",
            "password_hash": password_hash,
            "roles": " ".join([Role.OWNER, Role.SUPER_ADMIN] if operator else [Role.OWNER]),
            "created_at": now,
        }
        _add(tx, store.users, row, tenant_id, "user", now)
        return email

    def _add_key(self, tx: Transaction, tenant_id: UUID, name: str, now: datetime) -> str:
        random_part = "".join(secrets.choice(rules.ALPHABET) for _ in range(rules.RANDOM_LENGTH))
        secret = rules.compose_api_key(self.settings.key_prefix, Environment.LIVE, random_part)
        row: dict[str, Any] = {
            "id": new_id(now),
            "tenant_id": tenant_id,
            "name": name,
            "prefix": rules.shown_prefix(secret),
            "secret_sha256": hashlib.sha256(secret.encode()).digest(),
            "environment": Environment.LIVE.value,
            "scopes": " ".join(Scope),
            "status": ApiKeyStatus.ACTIVE.value,
            "created_at": now,
        }
        _add(tx, store.api_keys, row, tenant_id, "api_key", now)
        return secret


def _add(tx: Transaction, table: Table, row: dict[str, Any], tenant_id: UUID, kind: str, now: datetime) -> None:
    audited.insert(tx, table, row, Deed(tenant_id, Installer(), f"{kind}.create", now))


def _argon2id(password: str) -> str:
    from argon2 import PasswordHasher  # slow to import, and needed only here

    return PasswordHasher().hash(password)


@lru_cache(maxsize=256)
def _scopes(stored: str) -> frozenset[Scope]:
    """The scopes of a stored list; few different ones exist."""
    return frozenset(map(Scope, stored.split()))
