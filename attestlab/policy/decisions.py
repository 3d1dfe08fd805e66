"""Policy decisions: made with the active versions, recorded with their inputs, explained on demand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.ids import new_ulid
from attestlab.core.records import audit
from attestlab.core.records.actors import Actor
from attestlab.core.records.audit import AuditEntry
from attestlab.core.records.row_digest import METADATA_KEY, row_sha256
from attestlab.orgs.rules import Caller
from attestlab.policy import active_policies, store
from attestlab.policy.active_policies import ActivePolicies, LookUpRisk, PendingDecision, PolicyContext, PolicyQuery
from attestlab.policy.attribute_registry import load_own_attributes
from attestlab.policy.evaluation.counterfactual import Counterfactual, find_counterfactual
from attestlab.policy.evaluation.explanation import ExplainedRule, explain, find_missing
from attestlab.policy.evaluation.policy_set import PolicySet, PolicySetMember, SetDecision
from attestlab.policy.language.ast import Effect
from attestlab.policy.language.context import Diagnostic
from attestlab.policy.tables import PolicyDecisionRecord
from attestlab.policy.targets import require_target

EVALUATED = "policy_decision.evaluate"


@dataclass(frozen=True)
class EvaluatedDecision:
    """A recorded decision with its reasons."""

    row: PolicyDecisionRecord
    decision: SetDecision
    diagnostics: Sequence[Diagnostic]


@dataclass(frozen=True)
class ExplainedPolicy:
    """The result of one policy of the set, rule by rule; `missing` are attributes that its rules use and the context
    lacks.
    """

    member: PolicySetMember
    version: int
    effect: Effect
    rules: Sequence[ExplainedRule]
    missing: Sequence[str]


@dataclass(frozen=True)
class Explanation:
    """A decision evaluated again; `reproduced` is true if the result equals the recorded one."""

    row: PolicyDecisionRecord
    decision: SetDecision
    policies: Sequence[ExplainedPolicy]
    counterfactual: Counterfactual
    reproduced: bool


class Decisions:
    """Service for policy decisions: evaluate, record, explain.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def evaluate_and_record(
        self, query: PolicyQuery, context: Mapping[str, object], *, caller: Caller, tx: Transaction | None = None
    ) -> EvaluatedDecision:
        """Evaluate a context and record the decision, audited with the hash of its input.

        Raises:
            NotFound, ValidationFailed: see `evaluate_context`.
        """
        return self.record(self.evaluate_context(query, context, caller=caller, tx=tx), caller=caller, tx=tx)

    def evaluate_context(
        self, query: PolicyQuery, context: Mapping[str, object], *, caller: Caller, tx: Transaction | None = None
    ) -> PendingDecision:
        """Evaluate the active policies without recording the decision.

        Raises:
            NotFound: the tenant has no such issuer or verification profile.
            ValidationFailed: TENANT_DEFAULT has a target id, or another target type has none.
        """
        query.require_valid_target()
        name = ("policies that would apply", caller.tenant_id, query)
        active = self.storage.cached_read(name, lambda connection: _load_for(connection, query, caller), tx)
        return _decide(active, query, context, caller.tenant_id)

    def evaluate(
        self, query: PolicyQuery, context: PolicyContext, *, tenant_id: UUID, look_up_risk: LookUpRisk
    ) -> PendingDecision | None:
        """Evaluate the active policies for an operation that is about to happen; None if no policy applies.

        `look_up_risk` is called only if one of them tests risk.
        """
        name = ("policies that apply", tenant_id, query)
        active = self.storage.cached_read(
            name, lambda connection: active_policies.find_policies(connection.execute, query, tenant_id)
        )
        return None if active is None else _decide_cached(active, query, context, tenant_id, look_up_risk)

    def evaluate_in(
        self, tx: Transaction, query: PolicyQuery, context: PolicyContext, *, tenant_id: UUID, look_up_risk: LookUpRisk
    ) -> PendingDecision | None:
        """Evaluate like `evaluate`, under the writer's lock, so that no policy activated before is missed."""
        active = active_policies.find_policies_in(tx, query, tenant_id)
        return None if active is None else _decide_cached(active, query, context, tenant_id, look_up_risk)

    def record(self, pending: PendingDecision, *, caller: Actor, tx: Transaction | None = None) -> EvaluatedDecision:
        """Record a decision with everything needed to reproduce it; `caller` is the actor who requested it."""
        with self.storage.write(tx) as tx:
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
            recorded = [(UUID(policy_id), version, shadow) for policy_id, version, shadow in json.loads(row.members)]
            found = [
                (store.get_member(connection.execute, policy_id, version), shadow)
                for policy_id, version, shadow in recorded
            ]
        policies = PolicySet(active_policies.compile_member(each, shadow, own) for each, shadow in found)
        values = active_policies.get_normalizer(own)(json.loads(row.input)["context"]).values
        decision = policies(values)
        explained = [
            ExplainedPolicy(
                result.member,
                version,
                result.decision.effect,
                explain(result.member.policy, values),
                find_missing(result.member.policy, values),
            )
            for result, (_, version, _) in zip(decision.results, recorded, strict=True)
        ]
        reproduced = (decision.allowed, list(decision.matched_rules), policies.digest) == (
            row.allowed,
            json.loads(row.matched_rules),
            row.policy_set_digest,
        )
        return Explanation(row, decision, explained, find_counterfactual(policies, values), reproduced)


def record_decision(tx: Transaction, pending: PendingDecision, *, actor: Actor, at: datetime) -> PolicyDecisionRecord:
    """Add a decision and its audit entry, like `audited_write.insert`, but faster: each verification waits for it."""
    row = pending.row_template._replace(id=f"dec_{new_ulid(at)}", created_at=at)
    columns = row._asdict()
    tx.add(store.decisions, columns)
    audit_metadata = {**pending.audit_metadata, METADATA_KEY: row_sha256(store.decisions, columns)}
    entry = AuditEntry(pending.tenant_id, actor, EVALUATED, "policy_decision", row.id, at, metadata=audit_metadata)
    audit.record(tx, entry)
    return row


def _load_for(connection: Connection, query: PolicyQuery, caller: Caller) -> ActivePolicies:
    """Load the policies for a question whose target a client names; that of an operation was found before."""
    require_target(connection.execute, query.target_type, query.target_id, tenant_id=caller.tenant_id)
    return active_policies.load_policies(connection.execute, query, caller.tenant_id)


def _decide_cached(
    active: ActivePolicies, query: PolicyQuery, context: PolicyContext, tenant_id: UUID, look_up_risk: LookUpRisk
) -> PendingDecision:
    """Return the cached decision: the same context has the same result while the same versions are active."""
    if active.risk_entities:
        context = {**context, **look_up_risk(tenant_id, active.risk_entities)}
    key = (tenant_id, query, *context.items())
    pending = active.cached_decisions.get(key)
    if pending is None:
        pending = _decide(active, query, context, tenant_id)
        active.cache_decision(key, pending)
    return pending


def _decide(
    active: ActivePolicies, query: PolicyQuery, context: Mapping[str, object], tenant_id: UUID
) -> PendingDecision:
    normalized = active.normalizer(context)
    return PendingDecision(tenant_id, query, normalized, active, active.policies(normalized.values))
