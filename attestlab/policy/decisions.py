"""Policy decisions: made with the active versions, recorded with their inputs, explained on demand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.crypto.canonical_json import sha256_hex
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.ids import new_ulid
from attestlab.core.records import audit
from attestlab.core.records.actors import Actor
from attestlab.core.records.audit import AuditEntry
from attestlab.core.records.row_digest import METADATA_KEY, RowDigestTemplate
from attestlab.orgs.rules import Caller
from attestlab.policy import active_policies, store
from attestlab.policy.active_policies import ActivePolicies, PolicyContext, PolicyQuery
from attestlab.policy.attribute_registry import load_own_attributes
from attestlab.policy.evaluation.counterfactual import Counterfactual, find_counterfactual
from attestlab.policy.evaluation.explanation import ExplainedRule, explain, find_missing
from attestlab.policy.evaluation.policy_set import PolicySet, PolicySetMember, SetDecision
from attestlab.policy.language.context import Diagnostic, NormalizedContext

Row = dict[str, Any]
EVALUATED = "policy_decision.evaluate"


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
    def row(self) -> Row:
        """The row to store, without id and time; built once, even if the decision is recorded often."""
        query, canonical_input = self.query, self.query.canonical_input(self.normalized)
        diagnostics = [[each.path, each.code, each.message] for each in self.normalized.diagnostics]
        return {
            "tenant_id": self.tenant_id,
            "action": query.action.value,
            "target_type": query.target_type.value,
            "target_id": query.target_id,
            "input": canonical_input.decode(),
            "input_sha256": sha256_hex(canonical_input),
            "diagnostics": json.dumps(diagnostics),
            "policy_set_digest": self.active.policies.digest,
            "members": self.active.members,
            "allowed": self.decision.allowed,
            "matched_rules": json.dumps(self.decision.matched_rules),
        }

    @cached_property
    def digest_template(self) -> RowDigestTemplate:
        """The template for the digests of its rows."""
        return RowDigestTemplate(store.decisions, self.row, but=("created_at", "id"))

    @cached_property
    def audit_metadata(self) -> Row:
        """The metadata for the audit trail."""
        return {name: self.row[name] for name in ("input_sha256", "policy_set_digest", "allowed")}


@dataclass(frozen=True)
class EvaluatedDecision:
    """A recorded decision with its reasons."""

    row: Row
    decision: SetDecision
    diagnostics: Sequence[Diagnostic]


@dataclass(frozen=True)
class ExplainedPolicy:
    """The result of one policy of the set, rule by rule; `missing` are attributes that its rules use and the context
    lacks.
    """

    member: PolicySetMember
    version: int
    effect: str
    rules: Sequence[ExplainedRule]
    missing: Sequence[str]


@dataclass(frozen=True)
class Explanation:
    """A decision evaluated again; `reproduced` is true if the result equals the recorded one."""

    row: Row
    decision: SetDecision
    policies: Sequence[ExplainedPolicy]
    counterfactual: Counterfactual
    reproduced: bool


class Decisions:
    """Service for policy decisions: evaluate, record, explain."""

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def evaluate_and_record(
        self, query: PolicyQuery, context: Mapping[str, Any], *, caller: Caller
    ) -> EvaluatedDecision:
        """Evaluate a context and record the decision, audited with the hash of its input.

        Raises:
            ValidationFailed: TENANT_DEFAULT has a target id, or another target type has none.
        """
        return self.record(self.evaluate_context(query, context, caller=caller), caller=caller)

    def evaluate_context(self, query: PolicyQuery, context: Mapping[str, Any], *, caller: Caller) -> PendingDecision:
        """Evaluate the active policies without recording the decision.

        Raises:
            ValidationFailed: TENANT_DEFAULT has a target id, or another target type has none.
        """
        query.require_valid_target()
        name = ("policies that would apply", caller.tenant_id, query)
        active = self.storage.cached_read(
            name, lambda connection: active_policies.load_policies(connection.execute, query, caller.tenant_id)
        )
        return _decide(active, query, context, caller.tenant_id)

    def evaluate(self, query: PolicyQuery, context: PolicyContext, *, tenant_id: UUID) -> PendingDecision | None:
        """Evaluate the active policies for an operation that is about to happen; None if no policy applies."""
        name = ("policies that apply", tenant_id, query)
        active = self.storage.cached_read(
            name, lambda connection: active_policies.find_policies(connection.execute, query, tenant_id)
        )
        return None if active is None else _decide_cached(active, query, context, tenant_id)

    def evaluate_in(
        self, tx: Transaction, query: PolicyQuery, context: PolicyContext, *, tenant_id: UUID
    ) -> PendingDecision | None:
        """Evaluate like `evaluate`, under the writer's lock, so that no policy activated before is missed."""
        active = active_policies.find_policies_in(tx, query, tenant_id)
        return None if active is None else _decide_cached(active, query, context, tenant_id)

    def record(self, pending: PendingDecision, *, caller: Actor) -> EvaluatedDecision:
        """Record a decision with everything needed to reproduce it; `caller` is the actor who requested it."""
        with self.storage.write() as tx:
            row = record_decision(tx, pending, actor=caller, at=self.clock.now())
        return EvaluatedDecision(row, pending.decision, pending.normalized.diagnostics)

    def explain(self, decision_id: str, *, caller: Caller) -> Explanation:
        """Evaluate a recorded decision again and explain its result; may take milliseconds.

        Raises:
            NotFound: the tenant has no such decision.
        """
        with self.storage.read() as connection:
            row = store.get_decision(connection, decision_id, tenant_id=caller.tenant_id)
            own = load_own_attributes(connection.execute, caller.tenant_id)
            kept = [(UUID(policy_id), version, shadow) for policy_id, version, shadow in json.loads(row["members"])]
            found = [
                (store.get_member(connection.execute, policy_id, version), shadow)
                for policy_id, version, shadow in kept
            ]
        policies = PolicySet(active_policies.compile_member(each, shadow, own) for each, shadow in found)
        values = active_policies.get_normalizer(own)(json.loads(row["input"])["context"]).values
        decision = policies(values)
        explained = [
            ExplainedPolicy(
                result.member,
                version,
                result.decision.effect.value,
                explain(result.member.policy, values),
                find_missing(result.member.policy, values),
            )
            for result, (_, version, _) in zip(decision.results, kept, strict=True)
        ]
        reproduced = (decision.allowed, list(decision.matched_rules), policies.digest) == (
            row["allowed"],
            json.loads(row["matched_rules"]),
            row["policy_set_digest"],
        )
        return Explanation(row, decision, explained, find_counterfactual(policies, values), reproduced)


def record_decision(tx: Transaction, pending: PendingDecision, *, actor: Actor, at: datetime) -> Row:
    """Add a decision and its audit entry, like `audited_write.insert`, but faster: each verification waits for it."""
    row = {**pending.row, "id": f"dec_{new_ulid(at)}", "created_at": at}
    tx.add(store.decisions, row)
    audit_metadata = {**pending.audit_metadata, METADATA_KEY: pending.digest_template.sha256(row)}
    entry = AuditEntry(pending.tenant_id, actor, EVALUATED, "policy_decision", row["id"], at, metadata=audit_metadata)
    audit.record(tx, entry)
    return row


def _decide_cached(
    active: ActivePolicies, query: PolicyQuery, context: PolicyContext, tenant_id: UUID
) -> PendingDecision:
    """Return the cached decision: the same context has the same result while the same versions are active."""
    key = (tenant_id, query, *context.items())
    pending: PendingDecision | None = active.cached_decisions.get(key)
    if pending is None:
        pending = _decide(active, query, context, tenant_id)
        active.cache_decision(key, pending)
    return pending


def _decide(active: ActivePolicies, query: PolicyQuery, context: Mapping[str, Any], tenant_id: UUID) -> PendingDecision:
    normalized = active.normalizer(context)
    return PendingDecision(tenant_id, query, normalized, active, active.policies(normalized.values))
