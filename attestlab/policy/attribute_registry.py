"""Service for a tenant's own attributes: get, check, replace; parsed from JSON and combined with the platform's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, FieldError, ValidationFailed
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs import quotas
from attestlab.orgs.rules import Caller
from attestlab.policy import store
from attestlab.policy.checked_input import CheckedAttributes
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.events import AttributesChanged
from attestlab.policy.language.attribute_documents import dump_attribute, parse_attribute
from attestlab.policy.language.attributes import PLATFORM, Attribute, Registry
from attestlab.policy.language.document import Document, TargetType
from attestlab.policy.store import VersionDocument
from attestlab.policy.tables import PolicyAttributesRecord, PolicyVersionRecord

NO_ATTRIBUTES = "[]"


class AttributeRegistryService:
    """The attribute registries of tenants; each contains the platform's attributes.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def get(self, *, caller: Caller) -> Registry:
        """Return the attributes that the tenant's policies may use."""
        with self.storage.read() as connection:
            return build_registry(load_own_attributes(connection.execute, caller.tenant_id))

    def check(
        self, own: Sequence[Mapping[str, object]], *, caller: Caller, tx: Transaction | None = None
    ) -> CheckedAttributes:
        """Check new attributes against every version of the tenant's policies, without the writer's lock.

        Takes seconds if many large versions use an attribute that would change.

        Raises:
            ValidationFailed: an attribute is invalid, or its path conflicts with another's.
            Conflict: a stored version would no longer be readable.
        """
        text = serialize_attributes(own)
        registry = build_registry(text)
        with self.storage.read(tx) as connection:
            execute = connection.execute
            before = load_own_attributes(execute, caller.tenant_id)
            versions = store.count_versions(execute, caller.tenant_id)
            _require_readable(execute, caller.tenant_id, registry, changed=_changed_paths(before, registry))
        return CheckedAttributes(text, len(own), before, versions)

    def replace(
        self, own: Sequence[Mapping[str, object]] | CheckedAttributes, *, caller: Caller, tx: Transaction | None = None
    ) -> None:
        """Replace the tenant's own attributes; the platform's attributes always remain.

        Raises:
            ValidationFailed: see `check`.
            QuotaExceeded: the plan allows fewer.
            Conflict: see `check`; or attributes or policies of the tenant changed since the check.
        """
        checked = own if isinstance(own, CheckedAttributes) else self.check(own, caller=caller, tx=tx)
        with self.storage.write(tx) as tx:
            _require_unchanged(tx, checked, caller.tenant_id)
            tx.cache[store.POLICIES_CHANGED] = True
            now = self.clock.now()
            row = store.find_own_attributes(tx.exec, caller.tenant_id)
            used = 0 if row is None else len(json.loads(row.attributes))
            quotas.require_within_limit(
                "policy_attributes", quotas.allowance_of(caller).policy_attributes, checked.count, used
            )
            deed = AuditContext(caller.tenant_id, caller, "policy_attributes.replace", now)
            if row is None:
                own_attributes = PolicyAttributesRecord(caller.tenant_id, checked.stored, now)
                audited_write.insert(tx, store.attributes, own_attributes, deed)
            else:
                changes = {"attributes": checked.stored, "updated_at": now}
                audited_write.change(tx, store.attributes, row, changes, deed)
            event = AttributesChanged(attributes=checked.count, changed_at=now)
            outbox.publish(tx, caller.tenant_id, event, at=now)


def load_registry(execute: Execute, tenant_id: UUID, target_type: str) -> Registry:
    """Return the attributes that a policy may use.

    The operator's default policies apply to every tenant, so they may use only the platform's attributes.
    """
    if target_type == TargetType.TENANT_DEFAULT and store.is_operator(execute, tenant_id):
        return PLATFORM
    return build_registry(load_own_attributes(execute, tenant_id))


def load_own_attributes(execute: Execute, tenant_id: UUID) -> str:
    """Return a tenant's own attributes as stored."""
    row = store.find_own_attributes(execute, tenant_id)
    return NO_ATTRIBUTES if row is None else row.attributes


def parse_document(version: PolicyVersionRecord | VersionDocument) -> Document:
    """Parse the document of a stored version."""
    return Document.read(json.loads(version.document))


def _changed_paths(before: str, registry: Registry) -> set[str]:
    """Return the paths of own attributes that `registry` lacks or defines differently."""
    own = map(parse_attribute, json.loads(before))
    return {each.path for each in own if registry.get(each.path) != each}


def _require_readable(execute: Execute, tenant_id: UUID, registry: Registry, *, changed: Set[str]) -> None:
    """Reject attributes under which a stored version would become unreadable: every decision must stay explainable."""
    if not changed:
        return
    is_operator = store.is_operator(execute, tenant_id)
    for row in store.iterate_documents(execute, tenant_id):
        is_default = is_operator and row.target_type == TargetType.TENANT_DEFAULT
        if is_default or not any(f'"{path}"' in row.document for path in changed):
            continue
        try:
            bind(parse_document(row), registry)
        except ValidationFailed as error:
            raise Conflict(
                f"Version {row.version} of policy {row.policy_id} uses an attribute that would change: {error.message}",
                details={"policy_id": str(row.policy_id), "version": row.version, "fields": error.details["fields"]},
            ) from None


def _require_unchanged(tx: Transaction, checked: CheckedAttributes, tenant_id: UUID) -> None:
    """Reject an outdated check. Versions are never deleted, so their number reveals a new one."""
    seen = (load_own_attributes(tx.exec, tenant_id), store.count_versions(tx.exec, tenant_id))
    if seen != (checked.before, checked.versions):
        raise Conflict("Attributes or policies of the tenant changed during the check; send the attributes again.")


@lru_cache(maxsize=256)
def build_registry(own: str) -> Registry:
    """Build the registry of a tenant from its stored own attributes; cached, because every decision needs it."""
    return PLATFORM.with_own(map(parse_attribute, json.loads(own))) if own != NO_ATTRIBUTES else PLATFORM


def serialize_attributes(own: Iterable[Mapping[str, object]]) -> str:
    """Validate own attributes and return them as stored.

    Raises:
        ValidationFailed: an attribute is invalid, or its path conflicts with another's.
    """
    text = canonical([dump_attribute(attribute) for attribute in _parse_attributes(own)]).decode()
    build_registry(text)
    return text


def _parse_attributes(own: Iterable[Mapping[str, object]]) -> list[Attribute]:
    read = []
    for index, each in enumerate(own):
        try:
            read.append(parse_attribute(each))
        except ValidationFailed as error:
            fields = [FieldError(f"/attributes/{index}{f.field}", f.code, f.message) for f in error.fields]
            raise ValidationFailed(error.message, fields) from None
    return read
