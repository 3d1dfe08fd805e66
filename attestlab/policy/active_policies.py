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
from attestlab.policy.attribute_registry import own_attributes
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.evaluation.policy_set import PolicySet, PolicySetMember
from attestlab.policy.language.attributes import Registry
from attestlab.policy.language.context import ContextNormalizer, NormalizedContext
from attestlab.policy.language.document import Category, Document, TargetType

ANSWERS_KEPT = 4_096  # of one set; circumstances are few
LARGE_CHARS = 16 * 1024  # of all texts of a set; beyond it compiling takes over 20 ms


@dataclass(frozen=True)
class PolicyQuery:
    """What is to be done, to whom; TENANT_DEFAULT names no target."""

    action: Category
    target_type: TargetType
    target_id: UUID | None = None

    def input(self, typed: NormalizedContext) -> bytes:
        """The canonical JSON that `input_sha256` covers: typed values by dotted path, so spelling does not show."""
        target = None if self.target_id is None else str(self.target_id)
        return canonical(
            {
                "action": self.action.value,
                "target_type": self.target_type.value,
                "target_id": target,
                "context": typed.values,
            }
        )

    def require_sound(self) -> None:
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

    normalised: ContextNormalizer
    policies: PolicySet
    members: str
    answers: dict[Any, Any] = field(default_factory=dict, compare=False)

    def remember(self, place: object, answer: object) -> None:
        """Keep an answer, and forget all of them where they become many."""
        if len(self.answers) >= ANSWERS_KEPT:
            self.answers.clear()
        self.answers[place] = answer


def applying(execute: Execute, question: PolicyQuery, tenant_id: UUID) -> ActivePolicies | None:
    """What applies, to the tenant's own question; None where no policy does."""
    found = _found(execute, question, tenant_id)
    return _compiled_set(found, found[0].own or attribute_documents.NONE) if found else None


def asked_by(execute: Execute, question: PolicyQuery, tenant_id: UUID) -> ActivePolicies:
    """The same for somebody who wants to know: where no policy applies, a set of none."""
    return _compiled_set(_found(execute, question, tenant_id), own_attributes(execute, tenant_id))


def applying_now(tx: Transaction, question: PolicyQuery, tenant_id: UUID) -> ActivePolicies | None:
    """`applying` under the writer's lock: read once a transaction, anew each time once a policy changes in it."""
    if store.CHANGED in tx.cache:
        return applying(tx.exec, question, tenant_id)
    place = ("policies in force", tenant_id, question)
    if place not in tx.cache:
        tx.cache[place] = applying(tx.read_unflushed, question, tenant_id)
    found: ActivePolicies | None = tx.cache[place]
    return found


def member_of(row: AnyRow, in_shadow: bool, own: str) -> PolicySetMember:
    """A stored version as one of a set."""
    return _compiled(str(row.policy_id), row.document, attribute_documents.NONE if row.is_platform else own, in_shadow)


@lru_cache(maxsize=256)
def normaliser(own: str) -> ContextNormalizer:
    """What reads the contexts of a tenant with these attributes of its own."""
    return ContextNormalizer(attribute_documents.registry_of(own))


def _found(execute: Execute, question: PolicyQuery, tenant_id: UUID) -> tuple[AnyRow, ...]:
    return tuple(
        store.in_force(
            execute,
            tenant_id=tenant_id,
            action=question.action.value,
            target_type=question.target_type.value,
            target_id=question.target_id,
        )
    )


@lru_cache(maxsize=256)
def _compiled_set(found: tuple[AnyRow, ...], own: str) -> ActivePolicies:
    """The policies of `found`, compiled once.

    Raises:
        TakesLong: they are large and not compiled yet, and other requests wait for this thread.
    """
    if len(own) + sum(len(row.document) for row in found) > LARGE_CHARS:
        require_long_work_allowed(partial(_compiled_set, found, own))
    policies = PolicySet(member_of(row, bool(row.in_shadow), own) for row in found)
    for member in policies.members:
        member.compile()
    members = json.dumps([[str(row.policy_id), row.version, bool(row.in_shadow)] for row in found])
    return ActivePolicies(normaliser(own), policies, members)


@lru_cache(maxsize=1_024)
def _compiled(policy_id: str, text: str, own: str, in_shadow: bool) -> PolicySetMember:
    """A stored version, compiled once: it never changes, and neither does what the same attributes make of it."""
    document = Document.read(json.loads(text))
    registry: Registry = attribute_documents.registry_of(own)
    return PolicySetMember(policy_id, document.digest, bind(document, registry), in_shadow)


Circumstances = Mapping[str, str | int | None]
"""A context that the service itself puts together: what it knows, by dotted path; None is missing."""
