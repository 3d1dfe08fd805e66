"""The active policies for a query: loaded again after every commit, compiled once.

A decision made under the writer's lock sees every policy that an earlier transaction activated. A decision that only
reads sees the committed policies.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache, partial
from uuid import UUID

from attestlab.core.crypto.canonical_json import canonical, sha256_hex
from attestlab.core.db.foreseen_reads import ForeseenRead
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import ValidationFailed
from attestlab.core.execution.long_work import require_long_work_allowed
from attestlab.policy import store
from attestlab.policy.attribute_registry import NO_ATTRIBUTES, build_registry, load_own_attributes
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.evaluation.policy_set import PolicySet, PolicySetMember, SetDecision
from attestlab.policy.language.attributes import RISK_ATTRIBUTES, RISK_ENTITIES, AttributeValue, Registry
from attestlab.policy.language.context import ContextNormalizer, NormalizedContext
from attestlab.policy.language.document import Category, Document, TargetType
from attestlab.policy.store import ActiveVersion, PolicyPlace, RecordedVersion
from attestlab.policy.tables import PolicyDecisionRecord
from attestlab.risk.rules import EntityType

MAX_CACHED_DECISIONS = 4_096  # of one set; the service evaluates few distinct contexts
LARGE_SET_CHARS = 16 * 1024  # of all documents of a set; compiling more takes over 20 ms
ACTIVE_VERSIONS = ForeseenRead(
    "active policies", find=store.list_active_versions, find_all=store.list_all_active_versions
)
_BLANK_TIME = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True)
class PolicyQuery:
    """The action and target of a policy evaluation; TENANT_DEFAULT has no target id."""

    action: Category
    target_type: TargetType
    target_id: UUID | None = None

    def place(self, tenant_id: UUID) -> PolicyPlace:
        """Return where the policies of a tenant apply to this query."""
        return PolicyPlace(tenant_id, self.action.value, self.target_type.value, self.target_id)

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

    `cached_decisions` holds earlier decisions by tenant, query and context: the same context is evaluated once.
    """

    normalizer: ContextNormalizer
    policies: PolicySet
    members: str
    cached_decisions: dict[object, PendingDecision] = field(default_factory=dict, compare=False)

    @cached_property
    def risk_entities(self) -> tuple[EntityType, ...]:
        """The entities whose risk a rule tests, also a rule that is not enforced; only these are looked up."""
        used = {path for member in self.policies.members for path in member.policy.attributes()}
        tested = {RISK_ATTRIBUTES[path] for path in used & RISK_ATTRIBUTES.keys()}
        return tuple(entity for entity in RISK_ENTITIES if entity in tested)

    def cache_decision(self, key: object, decision: PendingDecision) -> None:
        """Cache a decision; clear the cache when it reaches `MAX_CACHED_DECISIONS`."""
        if len(self.cached_decisions) >= MAX_CACHED_DECISIONS:
            self.cached_decisions.clear()
        self.cached_decisions[key] = decision


@dataclass(frozen=True)
class PendingDecision:
    """A decision that is not recorded yet; `tenant_id` is the tenant whose policies, with the platform's, were
    evaluated.
    """

    tenant_id: UUID
    query: PolicyQuery
    normalized: NormalizedContext
    active: ActivePolicies
    decision: SetDecision

    @property
    def allowed(self) -> bool:
        """Whether every enforced policy allows."""
        return self.decision.allowed

    @cached_property
    def row_template(self) -> PolicyDecisionRecord:
        """The row to store, with a blank id and time; built once, even if the decision is recorded often."""
        query, canonical_input = self.query, self.query.canonical_input(self.normalized)
        diagnostics = [[each.path, each.code, each.message] for each in self.normalized.diagnostics]
        return PolicyDecisionRecord(
            id="",
            tenant_id=self.tenant_id,
            created_at=_BLANK_TIME,
            action=query.action.value,
            target_type=query.target_type.value,
            target_id=query.target_id,
            input=canonical_input.decode(),
            input_sha256=sha256_hex(canonical_input),
            diagnostics=json.dumps(diagnostics),
            policy_set_digest=self.active.policies.digest,
            members=self.active.members,
            allowed=self.decision.allowed,
            matched_rules=json.dumps(self.decision.matched_rules),
        )

    @cached_property
    def audit_metadata(self) -> dict[str, object]:
        """The metadata for the audit trail."""
        row = self.row_template
        return {
            "input_sha256": row.input_sha256,
            "policy_set_digest": row.policy_set_digest,
            "allowed": row.allowed,
        }


def find_policies(execute: Execute, query: PolicyQuery, tenant_id: UUID) -> ActivePolicies | None:
    """Return the active policies for the tenant's query, or None if no policy applies."""
    return _compile_found(store.list_active_versions(execute, query.place(tenant_id)))


def load_policies(execute: Execute, query: PolicyQuery, tenant_id: UUID) -> ActivePolicies:
    """Return the active policies for a query; an empty set if no policy applies."""
    found = store.list_active_versions(execute, query.place(tenant_id))
    return _compile_set(found, load_own_attributes(execute, tenant_id))


def find_policies_in(tx: Transaction, query: PolicyQuery, tenant_id: UUID) -> ActivePolicies | None:
    """Return `find_policies` under the writer's lock: read once per transaction, again after a policy changes in it."""
    if store.POLICIES_CHANGED in tx.cache:
        return find_policies(tx.exec, query, tenant_id)
    key = ("policies in force", tenant_id, query)
    if key not in tx.cache:
        tx.cache[key] = _compile_found(ACTIVE_VERSIONS.get(tx, query.place(tenant_id)) or ())
    found: ActivePolicies | None = tx.cache[key]
    return found


def compile_member(row: ActiveVersion | RecordedVersion, in_shadow: bool, own: str) -> PolicySetMember:
    """Compile a stored version as a member of a policy set."""
    return _compile_version(str(row.policy_id), row.document, NO_ATTRIBUTES if row.is_platform else own, in_shadow)


@lru_cache(maxsize=256)
def get_normalizer(own: str) -> ContextNormalizer:
    """Return the normalizer for contexts of a tenant with these own attributes."""
    return ContextNormalizer(build_registry(own))


def _compile_found(found: tuple[ActiveVersion, ...]) -> ActivePolicies | None:
    return _compile_set(found, found[0].own or NO_ATTRIBUTES) if found else None


@lru_cache(maxsize=256)
def _compile_set(found: tuple[ActiveVersion, ...], own: str) -> ActivePolicies:
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


PolicyContext = Mapping[str, AttributeValue | None]
"""A context that the service composes from its own records, by dotted path; None means missing."""

LookUpRisk = Callable[[UUID, Sequence[EntityType]], PolicyContext]
"""Returns the attributes of these entities' risk, as the tenant's own signals and lists have it."""
