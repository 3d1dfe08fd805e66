"""The policies that apply to a question, as they are at this moment: found again after every commit, compiled once.

Who decides under the writer's lock sees what every transaction before it switched on; nothing is in
between. Who only reads sees what is committed.
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
from attestlab.policy import attribute_documents, store
from attestlab.policy.attribute_registry import load_own_attributes
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.evaluation.policy_set import PolicySet, PolicySetMember
from attestlab.policy.language.attributes import Registry
from attestlab.policy.language.context import ContextNormalizer, NormalizedContext
from attestlab.policy.language.document import Category, Document, TargetType

MAX_CACHED_DECISIONS = 4_096  # of one set; circumstances are few
LARGE_SET_CHARS = 16 * 1024  # of all texts of a set; beyond it compiling takes over 20 ms


@dataclass(frozen=True)
class PolicyQuery:
    """What is to be done, to whom; TENANT_DEFAULT names no target."""

    action: Category
    target_type: TargetType
    target_id: UUID | None = None

    def canonical_input(self, normalized: NormalizedContext) -> bytes:
        """The canonical JSON that `input_sha256` covers: typed values by dotted path, so spelling does not show."""
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
        """Refuse a target where there can be none, and none where there must be one.

        Raises:
            ValidationFailed: TENANT_DEFAULT names one, or ISSUER or VERIFICATION_PROFILE does not.
        """
        if self.target_type is TargetType.TENANT_DEFAULT and self.target_id is not None:
            raise ValidationFailed.of("/target_id", "target", "TENANT_DEFAULT names no target; leave target_id out.")
        if self.target_type is not TargetType.TENANT_DEFAULT and self.target_id is None:
            message = (
                f"Say which {self.target_type.value} is meant; or ask about TENANT_DEFAULT, which names no target."
            )
            raise ValidationFailed.of("/target_id", "target", message)


@dataclass(frozen=True)
class ActivePolicies:
    """What applies to a question, read and compiled; `members` as a decision keeps them.

    `answers` are those that were given before: the same circumstances are decided once.
    """

    normalizer: ContextNormalizer
    policies: PolicySet
    members: str
    cached_decisions: dict[Any, Any] = field(default_factory=dict, compare=False)

    def cache_decision(self, key: object, decision: object) -> None:
        """Keep an answer, and forget all of them where they become many."""
        if len(self.cached_decisions) >= MAX_CACHED_DECISIONS:
            self.cached_decisions.clear()
        self.cached_decisions[key] = decision


def find_policies(execute: Execute, query: PolicyQuery, tenant_id: UUID) -> ActivePolicies | None:
    """What applies, to the tenant's own question; None where no policy does."""
    found = _query_versions(execute, query, tenant_id)
    return _compile_set(found, found[0].own or attribute_documents.NO_ATTRIBUTES) if found else None


def load_policies(execute: Execute, query: PolicyQuery, tenant_id: UUID) -> ActivePolicies:
    """The same for somebody who wants to know: where no policy applies, a set of none."""
    return _compile_set(_query_versions(execute, query, tenant_id), load_own_attributes(execute, tenant_id))


def find_policies_in(tx: Transaction, query: PolicyQuery, tenant_id: UUID) -> ActivePolicies | None:
    """`find_policies` under the writer's lock: read once a transaction, anew each time once a policy changes in it."""
    if store.POLICIES_CHANGED in tx.cache:
        return find_policies(tx.exec, query, tenant_id)
    key = ("policies in force", tenant_id, query)
    if key not in tx.cache:
        tx.cache[key] = find_policies(tx.read_unflushed, query, tenant_id)
    found: ActivePolicies | None = tx.cache[key]
    return found


def compile_member(row: AnyRow, in_shadow: bool, own: str) -> PolicySetMember:
    """A stored version as one of a set."""
    return _compile_version(
        str(row.policy_id), row.document, attribute_documents.NO_ATTRIBUTES if row.is_platform else own, in_shadow
    )


@lru_cache(maxsize=256)
def get_normalizer(own: str) -> ContextNormalizer:
    """What reads the contexts of a tenant with these attributes of its own."""
    return ContextNormalizer(attribute_documents.build_registry(own))


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
    """The policies of `found`, compiled once.

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
    """A stored version, compiled once: it never changes, and neither does what the same attributes make of it."""
    document = Document.read(json.loads(text))
    registry: Registry = attribute_documents.build_registry(own)
    return PolicySetMember(policy_id, document.digest, bind(document, registry), in_shadow)


PolicyContext = Mapping[str, str | int | None]
"""A context that the service itself puts together: what it knows, by dotted path; None is missing."""
