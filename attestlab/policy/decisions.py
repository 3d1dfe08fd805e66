"""Decisions: made with the versions in force, kept with what is needed to make them again, explained on demand."""

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
from attestlab.core.records.audit import Actor, AuditEntry
from attestlab.core.records.row_digest import METADATA_KEY, RowDigestTemplate
from attestlab.orgs.rules import Caller
from attestlab.policy import active_policies, store
from attestlab.policy.active_policies import ActivePolicies, Circumstances, PolicyQuery
from attestlab.policy.attribute_registry import own_attributes
from attestlab.policy.evaluation.counterfactual import Counterfactual, counterfactual
from attestlab.policy.evaluation.explanation import ExplainedRule, explain, missing
from attestlab.policy.evaluation.policy_set import PolicySet, PolicySetMember, SetDecision
from attestlab.policy.language.context import Diagnostic, NormalizedContext

Row = dict[str, Any]
EVALUATED = "policy_decision.evaluate"


@dataclass(frozen=True)
class PendingDecision:
    """A decision that nobody has written down yet; `tenant_id` is whose policies were asked, beside the platform's."""

    tenant_id: UUID
    question: PolicyQuery
    typed: NormalizedContext
    force: ActivePolicies
    decision: SetDecision

    @property
    def allowed(self) -> bool:
        """Whether every policy that counts allows."""
        return self.decision.allowed

    @cached_property
    def row(self) -> Row:
        """What is kept of it, but for its id and its time; made once where it is kept often."""
        question, spelt = self.question, self.question.input(self.typed)
        diagnostics = [[each.path, each.code, each.message] for each in self.typed.diagnostics]
        return {
            "tenant_id": self.tenant_id,
            "action": question.action.value,
            "target_type": question.target_type.value,
            "target_id": question.target_id,
            "input": spelt.decode(),
            "input_sha256": sha256_hex(spelt),
            "diagnostics": json.dumps(diagnostics),
            "policy_set_digest": self.force.policies.digest,
            "members": self.force.members,
            "allowed": self.decision.allowed,
            "matched_rules": json.dumps(self.decision.matched_rules),
        }

    @cached_property
    def fingerprints(self) -> RowDigestTemplate:
        """What makes the fingerprints of its rows."""
        return RowDigestTemplate(store.decisions, self.row, but=("created_at", "id"))

    @cached_property
    def told(self) -> Row:
        """What the trail says of it."""
        return {name: self.row[name] for name in ("input_sha256", "policy_set_digest", "allowed")}


@dataclass(frozen=True)
class EvaluatedDecision:
    """A decision that was kept, and why."""

    row: Row
    decision: SetDecision
    diagnostics: Sequence[Diagnostic]


@dataclass(frozen=True)
class ExplainedPolicy:
    """What one policy of the set said, rule by rule; `missing` are attributes it asked about in vain."""

    member: PolicySetMember
    version: int
    effect: str
    rules: Sequence[ExplainedRule]
    missing: Sequence[str]


@dataclass(frozen=True)
class Explanation:
    """A decision made again; `reproduced` says that it came out as it was kept."""

    row: Row
    decision: SetDecision
    policies: Sequence[ExplainedPolicy]
    counterfactual: Counterfactual
    reproduced: bool


class Decisions:
    """The policies that apply, asked."""

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def evaluate(self, question: PolicyQuery, context: Mapping[str, Any], *, caller: Caller) -> EvaluatedDecision:
        """Decide and keep the decision, audited with the hash of its input.

        Raises:
            ValidationFailed: TENANT_DEFAULT names a target, or another target type none.
        """
        return self.keep(self.decide(question, context, caller=caller), caller=caller)

    def decide(self, question: PolicyQuery, context: Mapping[str, Any], *, caller: Caller) -> PendingDecision:
        """Ask the policies that are in force, and leave nothing behind.

        Raises:
            ValidationFailed: TENANT_DEFAULT names a target, or another target type none.
        """
        question.require_sound()
        name = ("policies that would apply", caller.tenant_id, question)
        force = self.storage.cached_read(
            name, lambda connection: active_policies.asked_by(connection.execute, question, caller.tenant_id)
        )
        return _decided(force, question, context, caller.tenant_id)

    def ask(self, question: PolicyQuery, circumstances: Circumstances, *, tenant_id: UUID) -> PendingDecision | None:
        """What the policies that apply say of something that is about to happen; None where there are none."""
        name = ("policies that apply", tenant_id, question)
        force = self.storage.cached_read(
            name, lambda connection: active_policies.applying(connection.execute, question, tenant_id)
        )
        return None if force is None else _answered(force, question, circumstances, tenant_id)

    def ask_now(
        self, tx: Transaction, question: PolicyQuery, circumstances: Circumstances, *, tenant_id: UUID
    ) -> PendingDecision | None:
        """`ask` under the writer's lock, so that nothing that was switched on before is passed by."""
        force = active_policies.applying_now(tx, question, tenant_id)
        return None if force is None else _answered(force, question, circumstances, tenant_id)

    def keep(self, asked: PendingDecision, *, caller: Actor) -> EvaluatedDecision:
        """Write a decision down, with what is needed to make it again; `caller` is who had it made."""
        with self.storage.write() as tx:
            row = write(tx, asked, actor=caller, at=self.clock.now())
        return EvaluatedDecision(row, asked.decision, asked.typed.diagnostics)

    def explain(self, decision_id: str, *, caller: Caller) -> Explanation:
        """Make a decision again from what was kept, and say why it came out so; may take milliseconds.

        Raises:
            NotFound: no such decision of the tenant's.
        """
        with self.storage.read() as connection:
            row = store.decision(connection, decision_id, tenant_id=caller.tenant_id)
            own = own_attributes(connection.execute, caller.tenant_id)
            kept = [(UUID(policy_id), version, shadow) for policy_id, version, shadow in json.loads(row["members"])]
            found = [
                (store.member(connection.execute, policy_id, version), shadow) for policy_id, version, shadow in kept
            ]
        policies = PolicySet(active_policies.member_of(each, shadow, own) for each, shadow in found)
        values = active_policies.normaliser(own)(json.loads(row["input"])["context"]).values
        decision = policies(values)
        told = [
            ExplainedPolicy(
                said.member,
                version,
                said.decision.effect.value,
                explain(said.member.policy, values),
                missing(said.member.policy, values),
            )
            for said, (_, version, _) in zip(decision.said, kept, strict=True)
        ]
        reproduced = (decision.allowed, list(decision.matched_rules), policies.digest) == (
            row["allowed"],
            json.loads(row["matched_rules"]),
            row["policy_set_digest"],
        )
        return Explanation(row, decision, told, counterfactual(policies, values), reproduced)


def write(tx: Transaction, asked: PendingDecision, *, actor: Actor, at: datetime) -> Row:
    """Add a decision and its line in the trail, as `audited.insert` does: each verification waits for this."""
    row = {**asked.row, "id": f"dec_{new_ulid(at)}", "created_at": at}
    tx.add(store.decisions, row)
    told = {**asked.told, METADATA_KEY: asked.fingerprints.sha256(row)}
    entry = AuditEntry(asked.tenant_id, actor, EVALUATED, "policy_decision", row["id"], at, metadata=told)
    audit.record(tx, entry)
    return row


def _answered(
    force: ActivePolicies, question: PolicyQuery, circumstances: Circumstances, tenant_id: UUID
) -> PendingDecision:
    """The same circumstances have the same answer as long as the same versions are in force."""
    place = (tenant_id, question, *circumstances.items())
    found: PendingDecision | None = force.answers.get(place)
    if found is None:
        found = _decided(force, question, circumstances, tenant_id)
        force.remember(place, found)
    return found


def _decided(
    force: ActivePolicies, question: PolicyQuery, context: Mapping[str, Any], tenant_id: UUID
) -> PendingDecision:
    typed = force.normalised(context)
    return PendingDecision(tenant_id, question, typed, force, force.policies(typed.values))
