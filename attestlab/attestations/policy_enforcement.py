"""Policy enforcement point (XACML): before a mint, at the end of a verification, and before a bundle export.

The policies of one tenant and of the platform make a decision, which is recorded in that tenant's audit trail
whatever its effect. Where two tenants decide, each records its own decision, and neither sees the other's rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from uuid import UUID

from sqlalchemy import Connection

from attestlab.attestations import policy_context
from attestlab.attestations.evidence_queries import RecordEvidence
from attestlab.attestations.risk_context import RiskSubjects
from attestlab.attestations.signing import PreparedMint
from attestlab.core.db.transaction import Foreseen, Transaction
from attestlab.core.errors import PermissionDenied
from attestlab.core.records.actors import Actor, AnonymousActor
from attestlab.orgs.rules import Caller
from attestlab.policy import decisions, rules
from attestlab.policy.active_policies import ACTIVE_VERSIONS, LookUpRisk, PendingDecision, PolicyQuery
from attestlab.policy.decisions import Decisions
from attestlab.policy.language.document import Category, TargetType
from attestlab.risk.recent import read_recent_risk, read_recent_risk_in


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A decision of one tenant's policies that must be recorded; `actor` requested it."""

    pending: PendingDecision
    actor: Actor


PolicyDecisions = tuple[RecordedDecision, ...]
ANONYMOUS = AnonymousActor("verifier")  # also stands for another tenant, whose identity must not be disclosed


@dataclass(frozen=True)
class Profile:
    """A verification profile of the caller's own tenant."""

    id: UUID
    caller: Caller


class PolicyEnforcement:
    """Policy enforcement point: evaluates policies for mints, verifications and bundle exports."""

    def __init__(self, decisions: Decisions) -> None:
        self.decisions = decisions

    def enforce_mint(self, tx: Transaction, prepared: PreparedMint, *, now: datetime) -> str | PermissionDenied | None:
        """Evaluate the issuer's policies for a mint and record their decision.

        Runs under the writer's lock, so that a mint cannot bypass a policy activated before it.

        Returns:
            The id of the decision that allows the mint, a denial, or None if no policy applies.
        """
        key, caller = prepared.key, prepared.caller
        context = policy_context.build_mint_context(key, now=now)
        query = _build_issuer_query(Category.MINT, key.issuer_id)
        look_up = partial(prepared.risk_subjects.look_up, partial(read_recent_risk_in, tx, now=now))
        pending = self.decisions.evaluate_in(tx, query, context, tenant_id=caller.tenant_id, look_up_risk=look_up)
        if pending is None:
            return None
        decision_id = decisions.record_decision(tx, pending, actor=caller, at=now).id
        if pending.allowed:
            return decision_id
        return _build_denial("this mint", RecordedDecision(pending, caller), decision_id)

    def evaluate_verification(
        self,
        connection: Connection,
        evidence: RecordEvidence,
        *,
        profile: Profile | None,
        client_address: str | None,
        now: datetime,
    ) -> PolicyDecisions:
        """Evaluate the issuer's policies for a verification, and those of the requested profile.

        Each tenant's policies see the risk that this tenant knows, in the snapshot of `connection`.
        """
        context = policy_context.build_record_context(evidence, now=now)
        query = _build_issuer_query(Category.VERIFY, evidence.row.issuer_id)
        look_up = _look_up_for(connection, evidence, client_address, now)
        tenant_id = evidence.row.tenant_id
        issuers = self.decisions.evaluate(query, context, tenant_id=tenant_id, look_up_risk=look_up)
        if profile is None:
            return _collect_decisions((issuers, ANONYMOUS))
        query = PolicyQuery(Category.VERIFY, TargetType.VERIFICATION_PROFILE, profile.id)
        own = self.decisions.evaluate(query, context, tenant_id=profile.caller.tenant_id, look_up_risk=look_up)
        return _collect_decisions((issuers, ANONYMOUS), (own, profile.caller))

    def evaluate_export(
        self,
        connection: Connection,
        evidence: RecordEvidence,
        *,
        caller: Caller | None,
        client_address: str | None,
        now: datetime,
    ) -> PolicyDecisions:
        """Evaluate the issuer's policies for a bundle export; `caller` is None for an export by link."""
        context = policy_context.build_record_context(evidence, now=now)
        query = _build_issuer_query(Category.BUNDLE_EXPORT, evidence.row.issuer_id)
        look_up = _look_up_for(connection, evidence, client_address, now)
        tenant_id = evidence.row.tenant_id
        pending = self.decisions.evaluate(query, context, tenant_id=tenant_id, look_up_risk=look_up)
        return _collect_decisions((pending, caller or ANONYMOUS))


def record_decisions(
    tx: Transaction, policy_decisions: PolicyDecisions, *, what: str, at: datetime
) -> PermissionDenied | None:
    """Record all policy decisions, and return the error for the caller when one of them denies `what`."""
    denial = None
    for item in policy_decisions:
        row = decisions.record_decision(tx, item.pending, actor=item.actor, at=at)
        if not item.pending.allowed:
            denial = denial or _build_denial(what, item, row.id)
    return denial


def foresee_policies(foreseen: Foreseen, prepared: PreparedMint) -> None:
    """Name the policies that `enforce_mint` will read."""
    query = _build_issuer_query(Category.MINT, prepared.key.issuer_id)
    ACTIVE_VERSIONS.foresee(foreseen, query.place(prepared.caller.tenant_id))


class PolicyStep:
    """Step 8 of one verification; `policy_decisions` is filled when the step has run."""

    def __init__(self, evaluate: Callable[[], PolicyDecisions]) -> None:
        self.policy_decisions: PolicyDecisions = ()
        self._evaluate = evaluate

    def __call__(self) -> bool:
        """Return whether no policy denies; with no applicable policy the result is allow."""
        self.policy_decisions = self._evaluate()
        return all(item.pending.allowed for item in self.policy_decisions)


def _look_up_for(
    connection: Connection, evidence: RecordEvidence, client_address: str | None, now: datetime
) -> LookUpRisk:
    row = evidence.row
    subjects = RiskSubjects(row.issuer_id, row.document_hash, client_address)
    return partial(subjects.look_up, partial(read_recent_risk, connection.execute, now=now))


@lru_cache(maxsize=1_024)
def _build_issuer_query(action: Category, issuer_id: UUID) -> PolicyQuery:
    """Build the policy query for an issuer; returns one object per query, for fast caching."""
    return PolicyQuery(action, TargetType.ISSUER, issuer_id)


def _collect_decisions(*candidates: tuple[PendingDecision | None, Actor]) -> PolicyDecisions:
    return tuple(RecordedDecision(pending, actor) for pending, actor in candidates if pending is not None)


def _build_denial(what: str, item: RecordedDecision, decision_id: str) -> PermissionDenied:
    if isinstance(item.actor, AnonymousActor):
        return rules.make_external_denial(what, decision_id=decision_id)
    decision = item.pending.decision
    return rules.make_denial(
        what,
        reasons=decision.reasons,
        matched_policy=decision.matched_policy,
        matched_rule=decision.matched_rule,
        matched_rules=decision.matched_rules,
        decision_id=decision_id,
    )
