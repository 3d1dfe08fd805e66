"""Service for issuer governance: request, approve, reject and execute changes, and measure their blast radius."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import format_time
from attestlab.core.errors import NotFound
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.governance import rules, store
from attestlab.governance.rules import GovernedValues, RequestStatus, RequestType
from attestlab.governance.shapes import IssuerRequestIn, RequestsQuery
from attestlab.governance.store import IssuerRequestRecord, MonthCount, RecipientCount, SchemaCount
from attestlab.issuers import store as issuer_store
from attestlab.issuers.rules import IssuerStatus, RiskRating, TrustTier
from attestlab.issuers.service import Issuers
from attestlab.orgs.rules import Caller

MAX_RECIPIENTS = 100


@dataclass(frozen=True)
class BlastRadius:
    """Attestations that depend on an issuer or a key, counted by group; `truncated` if there are more recipients."""

    attestations: int
    valid: int
    by_schema: Sequence[SchemaCount]
    by_month: Sequence[MonthCount]
    by_recipient: Sequence[RecipientCount]
    truncated: bool


class Governance:
    """Governance requests; `Issuers.set_governance` makes the changes themselves.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock, issuers: Issuers) -> None:
        self.storage = storage
        self.clock = clock
        self.issuers = issuers

    def request(
        self, change: IssuerRequestIn, *, impact: str | None = None, caller: Caller, tx: Transaction | None = None
    ) -> IssuerRequestRecord:
        """Create a request; `impact` is the result of `count_impact`, which otherwise runs under the writer's lock.

        Raises:
            ValidationFailed: the new value is missing, or not allowed for this type of request.
            NotFound: the caller's tenant has no such issuer.
            Conflict: the issuer's status does not allow the change.
        """
        rules.require_target(change.type, change.new_trust_tier, change.new_risk_rating)
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            new_values = rules.requested_values(change.type, change.new_trust_tier, change.new_risk_rating)
            _require_possible(tx, change.type, new_values, change.target_issuer_id, caller.tenant_id)
            row = IssuerRequestRecord(
                id=new_id(now),
                tenant_id=caller.tenant_id,
                issuer_id=change.target_issuer_id,
                type=change.type.value,
                reason=change.reason,
                new_trust_tier=change.new_trust_tier,
                new_risk_rating=change.new_risk_rating,
                status=RequestStatus.PENDING.value,
                requested_by=caller.actor_id,
                created_at=now,
                approvals="[]",
                impact=impact or self._count_impact(tx.exec, change.target_issuer_id, now),
            )
            return audited_write.insert(tx, store.requests, row, _audit_context(row, caller, "create", now))

    def get(self, request_id: UUID, *, caller: Caller) -> IssuerRequestRecord:
        """Get a request of the caller's tenant, or of any tenant if the caller approves for the platform.

        Raises:
            NotFound: there is no such request that the caller may see.
        """
        with self.storage.read() as connection:
            return store.get(connection.execute, request_id, tenant_id=_visible_tenant(caller))

    def page(
        self,
        query: RequestsQuery = RequestsQuery(),  # noqa: B008 frozen
        *,
        caller: Caller,
        before: UUID | None = None,
        limit: int = 50,
    ) -> Sequence[IssuerRequestRecord]:
        """List the requests that the caller may see, newest first."""
        with self.storage.read() as connection:
            return store.page(connection, query, tenant_id=_visible_tenant(caller), before=before, limit=limit)

    def approve(
        self, request_id: UUID, *, impact: str | None = None, caller: Caller, tx: Transaction | None = None
    ) -> IssuerRequestRecord:
        """Approve a request, which becomes APPROVED with the last required approval; `impact` is as for `request`.

        Raises:
            NotFound: there is no such request that the caller may see.
            PermissionDenied: it is the caller's own request, or the caller may not approve it.
            Conflict: the request is final, or the caller has already approved it.
        """
        with self.storage.write(tx) as tx:
            row = store.get(tx.exec, request_id, tenant_id=_visible_tenant(caller))
            kind = RequestType(row.type)
            rules.require_may_approve(kind, requested_by=row.requested_by, tenant_id=row.tenant_id, caller=caller)
            rules.require_open(RequestStatus(row.status))
            given = json.loads(row.approvals)
            rules.require_not_approved_by([approval["user_id"] for approval in given], caller)
            now = self.clock.now()
            given.append({"user_id": caller.actor_id, "approved_at": format_time(now)})
            enough = len(given) >= count_needed_approvals(row)
            changes = {
                "approvals": json.dumps(given),
                "status": (RequestStatus.APPROVED if enough else RequestStatus.PENDING).value,
                "impact": impact or self._count_impact(tx.exec, row.issuer_id, now),
            }
            return audited_write.change(tx, store.requests, row, changes, _audit_context(row, caller, "approve", now))

    def reject(
        self, request_id: UUID, *, reason: str, caller: Caller, tx: Transaction | None = None
    ) -> IssuerRequestRecord:
        """Reject a request permanently; the requester may withdraw it in the same way.

        Raises:
            NotFound: there is no such request that the caller may see.
            PermissionDenied: the caller is neither the requester nor allowed to approve the request.
            Conflict: the request is final.
        """
        with self.storage.write(tx) as tx:
            row = store.get(tx.exec, request_id, tenant_id=_visible_tenant(caller))
            if caller.actor_id != row.requested_by:
                kind = RequestType(row.type)
                rules.require_may_approve(kind, requested_by="", tenant_id=row.tenant_id, caller=caller)
            rules.require_open(RequestStatus(row.status))
            now = self.clock.now()
            changes = {
                "status": RequestStatus.REJECTED.value,
                "rejected_by": caller.actor_id,
                "rejected_at": now,
                "rejection_reason": reason,
            }
            return audited_write.change(tx, store.requests, row, changes, _audit_context(row, caller, "reject", now))

    def execute(
        self, request_id: UUID, *, impact: str | None = None, caller: Caller, tx: Transaction | None = None
    ) -> IssuerRequestRecord:
        """Execute an approved request: change the issuer and append the change to the log in one transaction.

        Raises:
            NotFound: the caller's tenant has no such request.
            Conflict: approvals are missing, the request is final, or the issuer's status no longer allows the change.
        """
        with self.storage.write(tx) as tx:
            row = store.get(tx.exec, request_id, tenant_id=caller.tenant_id)
            given = len(json.loads(row.approvals))
            rules.require_approved(RequestStatus(row.status), given=given, needed=count_needed_approvals(row))
            now = self.clock.now()
            impact = impact or self._count_impact(tx.exec, row.issuer_id, now)
            changes = {
                "status": RequestStatus.EXECUTED.value,
                "executed_by": caller.actor_id,
                "executed_at": now,
                "impact": impact,
                "log_index": self._apply(tx, row, caller),
            }
            return audited_write.change(tx, store.requests, row, changes, _audit_context(row, caller, "execute", now))

    def _apply(self, tx: Transaction, row: IssuerRequestRecord, caller: Caller) -> int | None:
        """Apply the requested changes to the issuer, and return the index of the log entry."""
        kind = RequestType(row.type)
        new_values = rules.requested_values(kind, row.new_trust_tier, row.new_risk_rating)
        _require_possible(tx, kind, new_values, row.issuer_id, caller.tenant_id)
        return self.issuers.set_governance(
            row.issuer_id,
            caller=caller,
            status=new_values.status,
            trust_tier=new_values.trust_tier,
            risk_rating=new_values.risk_rating,
            tx=tx,
        ).log_index

    def count_impact(self, issuer_id: UUID, *, caller: Caller) -> str:
        """Count the attestations and keys of an issuer, as JSON for a request; reads all its attestations.

        Raises:
            NotFound: the caller's tenant has no such issuer.
        """
        with self.storage.read() as connection:
            issuer_store.get(connection.execute, issuer_id, tenant_id=caller.tenant_id)
            return self._count_impact(connection.execute, issuer_id, self.clock.now())

    def count_impact_of(self, request_id: UUID, *, caller: Caller) -> str:
        """Count the attestations and keys of a request's issuer, as JSON for the request.

        Raises:
            NotFound: there is no such request that the caller may see.
        """
        with self.storage.read() as connection:
            row = store.get(connection.execute, request_id, tenant_id=_visible_tenant(caller))
            return self._count_impact(connection.execute, row.issuer_id, self.clock.now())

    def _count_impact(self, execute: Execute, issuer_id: UUID, now: datetime) -> str:
        found = store.count_minted(execute, issuer_id, now=now)
        keys = issuer_store.count_usable_keys(execute, issuer_id)
        counted = {**found._asdict(), "active_keys": keys}
        return json.dumps({**counted, "counted_at": format_time(now)})

    def blast_radius(self, issuer_id: UUID, *, caller: Caller, kid: str | None = None) -> BlastRadius:
        """Count the attestations of an issuer or of one of its keys; lists the hundred recipients with the most.

        Raises:
            NotFound: the caller's tenant has no such issuer, or the issuer no such key.
        """
        with self.storage.read() as connection:
            issuer_store.get(connection.execute, issuer_id, tenant_id=caller.tenant_id)
            keys = issuer_store.list_keys(connection.execute, [issuer_id])[issuer_id]
            if kid is not None and kid not in {key.kid for key in keys}:
                raise NotFound("key", kid)
            place, now = (connection, caller.tenant_id, issuer_id, kid), self.clock.now()
            schemas = store.count_by_schema(*place, now=now)
            recipients = store.count_by_recipient(*place, now=now, limit=MAX_RECIPIENTS + 1)
            return BlastRadius(
                sum(row.attestations for row in schemas),
                sum(row.valid for row in schemas),
                schemas,
                store.count_by_month(*place, now=now),
                recipients[:MAX_RECIPIENTS],
                truncated=len(recipients) > MAX_RECIPIENTS,
            )


def count_needed_approvals(row: IssuerRequestRecord) -> int:
    """Return the number of approvals that a request needs."""
    tier = row.new_trust_tier
    return rules.approvals_needed(RequestType(row.type), None if tier is None else TrustTier(tier))


def _require_possible(
    tx: Transaction, kind: RequestType, new_values: GovernedValues, issuer_id: UUID, tenant_id: UUID
) -> None:
    """Reject a change that the issuer's current values do not allow.

    Raises:
        NotFound: the tenant has no such issuer.
        Conflict: see `rules.require_possible`.
    """
    issuer = issuer_store.get(tx.exec, issuer_id, tenant_id=tenant_id)
    status = IssuerStatus(issuer.status)
    current = GovernedValues(status, TrustTier(issuer.trust_tier), RiskRating(issuer.risk_rating))
    rules.require_possible(kind, status=status, current=current, new=new_values)


def _visible_tenant(caller: Caller) -> UUID | None:
    """Return the tenant whose requests the caller may see; None for all tenants."""
    return None if rules.is_platform(caller) else caller.tenant_id


def _audit_context(row: IssuerRequestRecord, caller: Caller, verb: str, at: datetime) -> AuditContext:
    """Build the audit context: all actions go to the trail of the issuer's tenant, also those of platform reviewers."""
    return AuditContext(row.tenant_id, caller, f"issuer_request.{verb}", at)
