"""Service for cases: they collect the escalated signals of an entity until a person decides what they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.actors import SystemActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs.rules import Caller
from attestlab.risk.confirmation import ConfirmUser
from attestlab.risk.enforcement import store
from attestlab.risk.enforcement.shapes import CasesQuery
from attestlab.risk.enforcement.store import Position
from attestlab.risk.enforcement.tables import RiskCaseRecord
from attestlab.risk.rules import CaseOutcome, CaseStatus, Entity, EntityType

ESCALATION = SystemActor("risk-escalation")


class Cases:
    """The cases of tenants; their outcomes are the labels for backtests.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock, confirm_user: ConfirmUser) -> None:
        self.storage = storage
        self.clock = clock
        self._confirm_user = confirm_user

    def page(
        self, filters: CasesQuery, *, caller: Caller, before: UUID | None = None, limit: int = 50
    ) -> list[RiskCaseRecord]:
        """Return a page of the tenant's cases that filters select, newest first."""
        with self.storage.read() as connection:
            return store.list_cases(connection.execute, Position(caller.tenant_id, before, limit), filters)

    def get(self, case_id: UUID, *, caller: Caller) -> RiskCaseRecord:
        """Return one of the tenant's cases.

        Raises:
            NotFound: the tenant has no such case.
        """
        with self.storage.read() as connection:
            return store.get_case(connection.execute, case_id, tenant_id=caller.tenant_id)

    def resolve(
        self,
        case_id: UUID,
        outcome: CaseOutcome,
        *,
        note: str | None = None,
        caller: Caller,
        tx: Transaction | None = None,
    ) -> RiskCaseRecord:
        """Resolve an open case; the entity's next escalation opens a new one.

        A user's case that was legitimate ends the flags on this user's logins.

        Raises:
            NotFound: the tenant has no such case.
            Conflict: it is resolved already.
        """
        with self.storage.write(tx) as tx:
            row = store.get_case(tx.exec, case_id, tenant_id=caller.tenant_id)
            if row.status != CaseStatus.OPEN:
                raise Conflict(f"The case was resolved as {row.outcome} at {row.resolved_at:%Y-%m-%d %H:%M} UTC.")
            now = self.clock.now()
            if outcome is CaseOutcome.LEGITIMATE and row.entity_type == EntityType.USER:
                self._confirm_user(tx, caller.tenant_id, row.entity_id, now)
            deed = AuditContext(caller.tenant_id, caller, "risk_case.resolve", now, {"outcome": outcome.value})
            changes = {
                "status": CaseStatus.RESOLVED.value,
                "outcome": outcome.value,
                "note": note,
                "resolved_at": now,
                "resolved_by": caller.actor_id,
            }
            return audited_write.change(tx, store.cases, row, changes, deed)


def escalate(
    tx: Transaction, tenant_id: UUID, scores: Mapping[Entity, Sequence[float]], *, at: datetime
) -> dict[Entity, UUID]:
    """Let escalated signals, given by the entity's scores, open cases or join open ones; returns each entity's case."""
    known = store.find_open_cases(tx.exec, tenant_id, list(scores)) if scores else {}
    return {
        entity: _join(tx, known[entity], of_entity, at)
        if entity in known
        else _open(tx, tenant_id, entity, of_entity, at)
        for entity, of_entity in scores.items()
    }


def _open(tx: Transaction, tenant_id: UUID, entity: Entity, scores: Sequence[float], at: datetime) -> UUID:
    opened = RiskCaseRecord(
        id=new_id(at),
        tenant_id=tenant_id,
        entity_type=entity.type.value,
        entity_id=entity.id,
        status=CaseStatus.OPEN.value,
        signal_count=len(scores),
        max_score=max(scores),
        opened_at=at,
    )
    audited_write.insert(tx, store.cases, opened, AuditContext(tenant_id, ESCALATION, "risk_case.open", at))
    return opened.id


def _join(tx: Transaction, case: RiskCaseRecord, scores: Sequence[float], at: datetime) -> UUID:
    changes = {"signal_count": case.signal_count + len(scores), "max_score": max(case.max_score, *scores)}
    audited_write.change(tx, store.cases, case, changes, AuditContext(case.tenant_id, ESCALATION, "risk_case.join", at))
    return case.id
