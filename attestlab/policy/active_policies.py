"""The active policies for a query: loaded again after every commit, compiled once.

A decision made under the writer's lock sees every policy that an earlier transaction activated. A decision that only
reads sees the committed policies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any
from uuid import UUID

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import AnyRow, Transaction
from attestlab.core.errors import ValidationFailed
from attestlab.core.execution.long_work import require_long_work_allowed
from attestlab.policy import store
from attestlab.policy.attribute_registry import NO_ATTRIBUTES, build_registry, load_own_attributes
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.evaluation.policy_set import PolicySet, PolicySetMember
from attestlab.policy.language.attributes import Registry
from attestlab.policy.language.context import ContextNormalizer, NormalizedContext
from attestlab.policy.language.document import Category, Document, TargetType

MAX_CACHED_DECISIONS = 4_096  # of one set; the service evaluates few distinct contexts
LARGE_SET_CHARS = 16 * 1024  # of all documents of a set; compiling more takes over 20 ms


@dataclass(frozen=True)
class PolicyQuery:
    """The action and target of a policy evaluation; TENANT_DEFAULT has no target id."""

    action: Category
    target_type: TargetType
    target_id: UUID | None = None

    def canonical_input(self, normalized: NormalizedContext) -> bytes:
        """Return the canonical JSON that `input_sha256` covers: typed values by dotted path, whatever their
        spelling.
        """
        target = None if self.target_id is None else str(self.target_id)
        return canonical(
            {
                "action": self.action.value,
                "target_type": self.target_type.value,
                "target_id": target,
                "context": normalized.values,
            }
        )

    def require_valid_target(self) -> None:
        """Reject a target id for TENANT_DEFAULT, and a missing target id for any other target type.

        Raises:
            ValidationFailed: TENANT_DEFAULT has a target id, or ISSUER or VERIFICATION_PROFILE has none.
        """
        if self.target_type is TargetType.TENANT_DEFAULT and self.target_id is not None:
            raise ValidationFailed.of("/target_id", "target", "TENANT_DEFAULT has no target; omit target_id.")
        if self.target_type is not TargetType.TENANT_DEFAULT and self.target_id is None:
            message = f"target_id is missing for {self.target_type.value}; send it, or use TENANT_DEFAULT."
            raise ValidationFailed.of("/target_id", "target", message)


@dataclass(frozen=True)
class ActivePolicies:
    """The policies that apply to a query, loaded and compiled; `members` as a decision stores them.

    `cached_decisions` holds earlier decisions: the same context is evaluated once.
    """

    normalizer: ContextNormalizer
    policies: PolicySet
    members: str
    cached_decisions: dict[Any, Any] = field(default_factory=dict, compare=False)

    def cache_decision(self, key: object, decision: object) -> None:
        """Cache a decision; clear the cache when it reaches `MAX_CACHED_DECISIONS`."""
        if len(self.cached_decisions) >= MAX_CACHED_DECISIONS:
            self.cached_decisions.clear()
        self.cached_decisions[key] = decision


def find_policies(execute: Execute, query: PolicyQuery, tenant_id: UUID) -> ActivePolicies | None:
    """Return the active policies for the tenant's query, or None if no policy applies."""
    found = _query_versions(execute, query, tenant_id)
    return _compile_set(found, found[0].own or NO_ATTRIBUTES) if found else None


def load_policies(execute: Execute, query: PolicyQuery, tenant_id: UUID) -> ActivePolicies:
    """Return the active policies for a query; an empty set if no policy applies."""
    return _compile_set(_query_versions(execute, query, tenant_id), load_own_attributes(execute, tenant_id))


def find_policies_in(tx: Transaction, query: PolicyQuery, tenant_id: UUID) -> ActivePolicies | None:
    """Return `find_policies` under the writer's lock: once per transaction, again after a policy changes in it."""
    if store.POLICIES_CHANGED in tx.cache:
        return find_policies(tx.exec, query, tenant_id)
    key = ("policies in force", tenant_id, query)
    if key not in tx.cache:
        tx.cache[key] = find_policies(tx.read_unflushed, query, tenant_id)
    found: ActivePolicies | None = tx.cache[key]
    return found


def compile_member(row: AnyRow, in_shadow: bool, own: str) -> PolicySetMember:
    """Compile a stored version as a member of a policy set."""
    return _compile_version(str(row.policy_id), row.document, NO_ATTRIBUTES if row.is_platform else own, in_shadow)


@lru_cache(maxsize=256)
def get_normalizer(own: str) -> ContextNormalizer:
    """Return the normalizer for contexts of a tenant with these own attributes."""
    return ContextNormalizer(build_registry(own))


def _query_versions(execute: Execute, query: PolicyQuery, tenant_id: UUID) -> tuple[AnyRow, ...]:
    return tuple(
        store.list_active_versions(
            execute,
            tenant_id=tenant_id,
            action=query.action.value,
            target_type=query.target_type.value,
            target_id=query.target_id,
        )
    )


@lru_cache(maxsize=256)
def _compile_set(found: tuple[AnyRow, ...], own: str) -> ActivePolicies:
    """Compile the policies of these versions once.

    Raises:
        TakesLong: they are large and not compiled yet, and other requests wait for this thread.
    """
    if len(own) + sum(len(row.document) for row in found) > LARGE_SET_CHARS:
        require_long_work_allowed(partial(_compile_set, found, own))
    policies = PolicySet(compile_member(row, bool(row.in_shadow), own) for row in found)
    for member in policies.members:
        member.compile()
    members = json.dumps([[str(row.policy_id), row.version, bool(row.in_shadow)] for row in found])
    return ActivePolicies(get_normalizer(own), policies, members)


@lru_cache(maxsize=1_024)
def _compile_version(policy_id: str, text: str, own: str, in_shadow: bool) -> PolicySetMember:
    """Compile a stored version once: neither the version nor its meaning under the same attributes ever changes."""
    document = Document.read(json.loads(text))
    registry: Registry = build_registry(own)
    return PolicySetMember(policy_id, document.digest, bind(document, registry), in_shadow)


PolicyContext = Mapping[str, str | int | None]
"""A context that the service composes from its own records, by dotted path; None means missing."""
