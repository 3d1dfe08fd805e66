"""Decisions: made with the versions in force, kept with what is needed to make them again, explained on demand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from attestlab.core import audited
from attestlab.core.audited import Deed
from attestlab.core.canonical import canonical, sha256_hex
from attestlab.core.clock import Clock
from attestlab.core.errors import ValidationFailed
from attestlab.core.ids import new_ulid
from attestlab.core.storage import Storage
from attestlab.core.transaction import AnyRow
from attestlab.orgs.rules import Caller
from attestlab.policy import registering, store
from attestlab.policy.attributes import Registry
from attestlab.policy.contexts import Diagnostic, Normaliser, Typed
from attestlab.policy.counterfactual import Counterfactual, counterfactual
from attestlab.policy.deciding import Member, PolicySet, SetDecision
from attestlab.policy.documents import Category, Document, TargetType
from attestlab.policy.explanation import ExplainedRule, explain, missing
from attestlab.policy.meaning import policy_of
from attestlab.policy.vocabulary import own_attributes

Row = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """What is to be done, to whom; TENANT_DEFAULT names no target."""

    action: Category
    target_type: TargetType
    target_id: UUID | None = None

    def input(self, typed: Typed) -> bytes:
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


@dataclass(frozen=True)
class InForce:
    """What applies to a question, read and compiled; `members` as a decision keeps them."""

    normalised: Normaliser
    policies: PolicySet
    members: str


@dataclass(frozen=True)
class Asked:
    """A decision that nobody has written down yet."""

    question: Question
    typed: Typed
    force: InForce
    decision: SetDecision


@dataclass(frozen=True)
class Decided:
    """A decision that was kept, and why."""

    row: Row
    decision: SetDecision
    diagnostics: Sequence[Diagnostic]


@dataclass(frozen=True)
class ExplainedPolicy:
    """What one policy of the set said, rule by rule; `missing` are attributes it asked about in vain."""

    member: Member
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

    def evaluate(self, question: Question, context: Mapping[str, Any], *, caller: Caller) -> Decided:
        """Decide and keep the decision, audited with the hash of its input.

        Raises:
            ValidationFailed: TENANT_DEFAULT names a target.
        """
        return self.keep(self.decide(question, context, caller=caller), caller=caller)

    def decide(self, question: Question, context: Mapping[str, Any], *, caller: Caller) -> Asked:
        """Ask the policies that are in force, and leave nothing behind.

        Raises:
            ValidationFailed: TENANT_DEFAULT names a target.
        """
        _require_target(question)
        name = ("policies in force", caller.tenant_id, question)
        force = self.storage.recalled(name, lambda connection: _in_force(connection, question, caller.tenant_id))
        typed = force.normalised(context)
        return Asked(question, typed, force, force.policies(typed.values))

    def keep(self, asked: Asked, *, caller: Caller) -> Decided:
        """Write a decision down, with what is needed to make it again."""
        with self.storage.write() as tx:
            row = self._row(asked, caller)
            told = {name: row[name] for name in ("input_sha256", "policy_set_digest", "allowed")}
            deed = Deed(caller.tenant_id, caller, "policy_decision.evaluate", row["created_at"], told)
            return Decided(audited.insert(tx, store.decisions, row, deed), asked.decision, asked.typed.diagnostics)

    def _row(self, asked: Asked, caller: Caller) -> Row:
        now, question = self.clock.now(), asked.question
        spelt = question.input(asked.typed)
        diagnostics = [[each.path, each.code, each.message] for each in asked.typed.diagnostics]
        return {
            "id": f"dec_{new_ulid(now)}",
            "tenant_id": caller.tenant_id,
            "created_at": now,
            "action": question.action.value,
            "target_type": question.target_type.value,
            "target_id": question.target_id,
            "input": spelt.decode(),
            "input_sha256": sha256_hex(spelt),
            "diagnostics": json.dumps(diagnostics),
            "policy_set_digest": asked.force.policies.digest,
            "members": asked.force.members,
            "allowed": asked.decision.allowed,
            "matched_rules": json.dumps(asked.decision.matched_rules),
        }

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
        policies = PolicySet(_member(each, shadow, own) for each, shadow in found)
        values = _normaliser(own)(json.loads(row["input"])["context"]).values
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


def _require_target(question: Question) -> None:
    if question.target_type is TargetType.TENANT_DEFAULT and question.target_id is not None:
        raise ValidationFailed.of("/target_id", "target", "TENANT_DEFAULT names no target; leave target_id out.")


def _in_force(connection: Connection, question: Question, tenant_id: UUID) -> InForce:
    own = own_attributes(connection.execute, tenant_id)
    found = store.in_force(
        connection.execute,
        tenant_id=tenant_id,
        action=question.action.value,
        target_type=question.target_type.value,
        target_id=question.target_id,
    )
    policies = PolicySet(_member(row, bool(row.in_shadow), own) for row in found)
    members = json.dumps([[str(row.policy_id), row.version, bool(row.in_shadow)] for row in found])
    return InForce(_normaliser(own), policies, members)


@lru_cache(maxsize=256)
def _normaliser(own: str) -> Normaliser:
    return Normaliser(registering.registry_of(own))


def _member(row: AnyRow, in_shadow: bool, own: str) -> Member:
    return _compiled(str(row.policy_id), row.document, registering.NONE if row.is_platform else own, in_shadow)


@lru_cache(maxsize=1_024)
def _compiled(policy_id: str, text: str, own: str, in_shadow: bool) -> Member:
    """A stored version, compiled once: it never changes, and neither does what the same attributes make of it."""
    document = Document.read(json.loads(text))
    registry: Registry = registering.registry_of(own)
    return Member(policy_id, document.digest, policy_of(document, registry), in_shadow)
