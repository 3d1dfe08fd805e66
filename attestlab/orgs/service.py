"""Service for tenants and organizations: create, get, list, update, and authenticate an API key."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection

from attestlab.core.clock import Clock
from attestlab.core.crypto import passwords
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AuthInvalid, Conflict
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.actors import COMMAND_LINE, Actor
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs import plans, role_rules, rules, scope_rules, store
from attestlab.orgs.api_keys import ApiKeys, NewApiKey
from attestlab.orgs.members import OnAccountOpened
from attestlab.orgs.origins import normalize_origins
from attestlab.orgs.rules import ApiKeyStatus, Caller, Environment, OrgStatus, Plan, Realm, Role, Scope
from attestlab.orgs.shapes import OrgIn, OrgPatch
from attestlab.orgs.tables import OrgRecord, TenantRecord, UserRecord
from attestlab.settings import Settings, Stage

PASSWORD_BYTES = 18


@dataclass(frozen=True)
class TenantCreated:
    """A new tenant with its owner's password and its first key, both shown only once."""

    tenant_id: UUID
    org_id: UUID
    owner_email: str
    owner_password: str = field(repr=False)
    api_key: str = field(repr=False)

    def public(self) -> dict[str, str]:
        """Return the values that the command line prints."""
        return {
            "tenant_id": str(self.tenant_id),
            "org_id": str(self.org_id),
            "owner_email": self.owner_email,
            "owner_password": self.owner_password,
            "api_key": self.api_key,
        }


@dataclass(frozen=True, slots=True)
class NewConsumer:
    """A consumer to create; the caller has checked the address and the name."""

    id: UUID
    email: str
    name: str
    password_hash: str = field(repr=False)


@dataclass(frozen=True)
class ConsumerCreated:
    """A new consumer, and the tenant that belongs to them alone; `claimed` attestations waited for the address."""

    consumer_id: UUID
    tenant_id: UUID
    email: str
    claimed: int

    def public(self) -> dict[str, str]:
        """Return the values that the command line prints."""
        return {"consumer_id": str(self.consumer_id), "tenant_id": str(self.tenant_id), "email": self.email}


@dataclass(frozen=True)
class InitResult:
    """The credentials of a new installation, which its owner gets only once."""

    tenant: TenantCreated
    log_vkey: str

    def public(self) -> dict[str, str]:
        """Return the object that `attestlab init --json` prints."""
        return {**self.tenant.public(), "log_vkey": self.log_vkey}


class Orgs:
    """Tenants and their organizations; `api_keys` are their keys.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(
        self, *, storage: Storage, clock: Clock, settings: Settings, on_account_opened: OnAccountOpened
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.settings = settings
        self.on_account_opened = on_account_opened
        self.api_keys = ApiKeys(storage=storage, clock=clock, settings=settings)

    def create_tenant(
        self, name: str, *, plan: Plan, operator: bool = False, tx: Transaction | None = None
    ) -> TenantCreated:
        """Create a tenant with its organization, an owner, and a live key with every tenant scope.

        Raises:
            ValidationFailed: the name is empty, too long or not one line.
            Conflict: an operator exists already.
        """
        name = rules.validate_display_name("name", name)
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        password_hash = passwords.hash_password(password)
        with self.storage.write(tx) as tx:
            if operator and store.has_operator(tx):
                raise Conflict("An operator's tenant exists already. Create this tenant without `operator`.")
            now = self.clock.now()
            tenant_id = _add_tenant(tx, TenantRecord(new_id(now), name, plan.value, operator, now), COMMAND_LINE)
            desired = rules.slug(name)
            slug = rules.free_slug(desired, store.list_slugs_like(tx, desired))
            org_id = _add_org(tx, tenant_id, name, slug, COMMAND_LINE, now).id
            roles = {Role.OWNER, Role.SUPER_ADMIN} if operator else {Role.OWNER}
            owner = UserRecord(
                id=new_id(now),
                tenant_id=tenant_id,
                org_id=org_id,
                email=f"owner@{slug}.example",
                name="Owner",
                password_hash=password_hash,
                roles=role_rules.format_roles(roles),
                created_at=now,
            )
            self._add_user(tx, owner, COMMAND_LINE)
            key = NewApiKey("First key", frozenset(Scope), created_by=owner.id)  # the owner receives both
            secret = self.api_keys.add(tx, key, tenant_id=tenant_id, actor=COMMAND_LINE, at=now).secret
        return TenantCreated(tenant_id, org_id, owner.email, password, secret)

    def add_consumer(self, email: str, password: str, *, name: str, tx: Transaction | None = None) -> ConsumerCreated:
        """Create a consumer: a person with an account in a tenant of their own; slow.

        Raises:
            ValidationFailed: address, name or password are not acceptable.
            Conflict: the address belongs to an existing account.
        """
        address, name = role_rules.normalize_address(email), rules.validate_display_name("name", name)
        passwords.require_acceptable(password, email=address, field="/password")
        password_hash = passwords.hash_password(password)
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            consumer = NewConsumer(new_id(now), address, name, password_hash)
            return self.open_consumer(tx, consumer, actor=COMMAND_LINE, at=now)

    def open_consumer(self, tx: Transaction, consumer: NewConsumer, *, actor: Actor, at: datetime) -> ConsumerCreated:
        """Open the account of a consumer, with a tenant of their own.

        Raises:
            Conflict: the address belongs to an existing account.
        """
        tenant = TenantRecord(new_id(at), consumer.name, Plan.FREE.value, False, at, realm=Realm.CONSUMER.value)
        _add_tenant(tx, tenant, actor)
        # The slug contains nothing about the person, since no other user looks this organization up.
        org = _add_org(tx, tenant.id, consumer.name, f"consumer-{tenant.id.hex}", actor, at)
        person = UserRecord(
            id=consumer.id,
            tenant_id=tenant.id,
            org_id=org.id,
            email=consumer.email,
            name=consumer.name,
            password_hash=consumer.password_hash,
            roles=Role.MEMBER.value,
            created_at=at,
            joined_at=at,
        )
        return ConsumerCreated(person.id, tenant.id, person.email, self._add_user(tx, person, actor))

    def rename_consumer(self, tx: Transaction, user_id: UUID, name: str, *, caller: Caller) -> UserRecord:
        """Rename a consumer, and the tenant and organization that are theirs alone; return the person's row.

        Raises:
            NotFound: the caller's tenant has no person with this id.
        """
        tenant_id, now = caller.tenant_id, self.clock.now()
        person = store.get_owned(tx.exec, UserRecord, user_id, tenant_id=tenant_id)
        org = store.get_owned(tx.exec, OrgRecord, person.org_id, tenant_id=tenant_id)
        changes = {"name": name}
        for table, row, action in (
            (store.tenants, store.get_tenant(tx.exec, tenant_id), "tenant.rename"),
            (store.orgs, org, "org.rename"),
        ):
            audited_write.change(tx, table, row, changes, AuditContext(tenant_id, caller, action, now))
        return audited_write.change(
            tx, store.users, person, changes, AuditContext(tenant_id, caller, "user.rename", now)
        )

    def set_plan(
        self, tenant_id: UUID, plan: Plan, limits: Mapping[str, int | None], *, tx: Transaction | None = None
    ) -> TenantRecord:
        """Set a tenant's plan and its individual limits; earlier individual limits are dropped.

        Raises:
            NotFound: there is no such tenant.
            ValidationFailed: a limit is unknown or not a count.
        """
        changes = {"plan": plan.value, "adjusted": plans.encode_adjustments(limits)}
        with self.storage.write(tx) as tx:
            row = store.get_tenant(tx.exec, tenant_id)
            deed = AuditContext(
                tenant_id, COMMAND_LINE, "tenant.plan", self.clock.now(), {"plan": plan.value, "limits": dict(limits)}
            )
            return audited_write.change(tx, store.tenants, row, changes, deed)

    def list_tenants(self, *, with_consumers: bool = False) -> list[TenantRecord]:
        """List all tenants of the installation, oldest first; those of consumers only if asked for."""
        with self.storage.read() as connection:
            return store.list_tenants(connection.execute, with_consumers=with_consumers)

    def authenticate(self, connection: Connection, secret: str) -> Caller:
        """Return the caller of an API key; the lookup is by SHA-256, so no secret is compared.

        Does not check `expires_at`: the code that authenticates each request does.

        Raises:
            AuthInvalid: the key is malformed, unknown, revoked, or a dev key in production.
        """
        environment = self._environment(secret)
        if environment is Environment.DEV and self.settings.env is Stage.PRODUCTION:
            raise AuthInvalid
        key = store.find_key_by_secret(connection, hashlib.sha256(secret.encode()).digest())
        if key is None or key.environment != environment:
            raise AuthInvalid
        caller = Caller(
            key.tenant_id,
            "API_KEY",
            str(key.id),
            scope_rules.parse_scopes(key.scopes, has_group_scopes=key.has_group_scopes is True),
            key.plan,
            adjusted=key.adjusted,
            realm=Realm(key.realm or Realm.TENANT),
            credential_id=str(key.id),
            expires_at=key.expires_at,
            addons=key.addons,
        )
        if key.status != ApiKeyStatus.ACTIVE:
            raise AuthInvalid(known=caller)
        return caller

    def service_caller(self, tenant_id: UUID) -> Caller:
        """Return the service itself as a caller for a tenant, with every scope; for demos and notebooks in process.

        Raises:
            NotFound: there is no such tenant.
        """
        with self.storage.read() as connection:
            tenant = store.get_tenant(connection.execute, tenant_id)
        return Caller(
            tenant_id,
            "SERVICE",
            "attestlab",
            frozenset(Scope),
            tenant.plan,
            adjusted=tenant.adjusted,
            addons=tenant.addons,
        )

    def list_page(self, *, caller: Caller, before: UUID | None = None, limit: int = 50) -> Sequence[OrgRecord]:
        """List the tenant's organizations, newest first."""
        with self.storage.read() as connection:
            return store.list_page(connection, OrgRecord, tenant_id=caller.tenant_id, before=before, limit=limit)

    def get(self, org_id: UUID, *, caller: Caller) -> OrgRecord:
        """Return one of the tenant's organizations.

        Raises:
            NotFound: the caller's tenant has no organization with this id.
        """
        with self.storage.read() as connection:
            return store.get_owned(connection.execute, OrgRecord, org_id, tenant_id=caller.tenant_id)

    def create(self, org: OrgIn, *, caller: Caller, tx: Transaction | None = None) -> OrgRecord:
        """Create another organization of the tenant; without a `slug`, one is derived from the name.

        Raises:
            ValidationFailed: name or slug are not acceptable.
            Conflict: the slug is taken.
        """
        name, slug = rules.validate_display_name("name", org.name), org.slug
        desired = rules.slug(name) if slug is None else rules.validate_slug(slug)
        with self.storage.write(tx) as tx:
            taken = store.list_slugs_like(tx, desired)
            if slug is not None and slug in taken:
                raise Conflict(f"The slug {slug} is taken. Choose another.", details={"reason": "slug_taken"})
            return _add_org(tx, caller.tenant_id, name, rules.free_slug(desired, taken), caller, self.clock.now())

    def update(self, org_id: UUID, patch: OrgPatch, *, caller: Caller, tx: Transaction | None = None) -> OrgRecord:
        """Update the fields that a patch has; omitted ones are unchanged.

        Raises:
            NotFound: the caller's tenant has no organization with this id.
            ValidationFailed: the name, or one of the origins, is not acceptable.
        """
        values: dict[str, object] = {}
        if "name" in patch.model_fields_set:
            values["name"] = rules.validate_display_name("name", patch.name)
        if "return_origins" in patch.model_fields_set:
            is_sandbox = self.settings.env is Stage.SANDBOX
            values["return_origins"] = json.dumps(normalize_origins(patch.return_origins, allow_loopback=is_sandbox))
        with self.storage.write(tx) as tx:
            row = store.get_owned(tx.exec, OrgRecord, org_id, tenant_id=caller.tenant_id)
            changes = {column: value for column, value in values.items() if getattr(row, column) != value}
            if not changes:
                return row
            now = self.clock.now()
            deed = AuditContext(caller.tenant_id, caller, "org.update", now)
            return audited_write.change(tx, store.orgs, row, {**changes, "updated_at": now}, deed)

    def _add_user(self, tx: Transaction, user: UserRecord, actor: Actor) -> int:
        """Add a person; return how many attestations waited for their address."""
        if store.find_user_by_address(tx.exec, user.email) is not None:
            raise Conflict("This address belongs to an account already.", details={"reason": "address_taken"})
        context = AuditContext(user.tenant_id, actor, "user.create", user.created_at)
        audited_write.insert(tx, store.users, user, context)
        return self.on_account_opened(tx, user_id=user.id, address=user.email, at=user.created_at)

    def _environment(self, secret: str) -> Environment:
        """Derive the environment from a key's format; a consumer's key is always live."""
        if rules.is_consumer_key(secret, prefix=self.settings.consumer_key_prefix):
            return Environment.LIVE
        return rules.api_key_environment(secret, prefix=self.settings.key_prefix)


def _add_tenant(tx: Transaction, tenant: TenantRecord, actor: Actor) -> UUID:
    context = AuditContext(tenant.id, actor, "tenant.create", tenant.created_at)
    audited_write.insert(tx, store.tenants, tenant, context)
    return tenant.id


def _add_org(tx: Transaction, tenant_id: UUID, name: str, slug: str, actor: Actor, now: datetime) -> OrgRecord:
    row = OrgRecord(new_id(now), tenant_id, name, slug, OrgStatus.ACTIVE.value, now)
    return audited_write.insert(tx, store.orgs, row, AuditContext(tenant_id, actor, "org.create", now))
