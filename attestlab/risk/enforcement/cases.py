"""Services for cases, and for the score from which signals are escalated to them.

Cases collect the escalated signals of an entity until a person decides what they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, ValidationFailed
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.actors import SystemActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs.rules import Caller
from attestlab.risk.enforcement import store
from attestlab.risk.enforcement.impartiality import EntityJudge, require_no_higher
from attestlab.risk.enforcement.shapes import CasesQuery
from attestlab.risk.enforcement.store import ListPage, RiskCaseRecord, RiskSettingsRecord
from attestlab.risk.rules import DEFAULT_ESCALATION_THRESHOLD, MAX_SCORE, CaseOutcome, CaseStatus, Entity, EntityType


class RiskPreferences:
    """A tenant's settings of risk: the score from which a signal is escalated.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def get_threshold(self, *, caller: Caller) -> float:
        """Return the score from which a signal of the tenant is escalated."""
        with self.storage.read() as connection:
            return find_threshold(connection, caller.tenant_id)

    def set_threshold(self, threshold: float, *, caller: Caller, tx: Transaction | None = None) -> float:
        """Set the score from which later signals are escalated.

        Raises:
            ValidationFailed: it is not within 0 to 100.
            PermissionDenied: the caller is an agent, and the score is above the present one.
        """
        if not 0 <= threshold <= MAX_SCORE:
            message = f"{threshold!r} is no threshold: use 0 to {MAX_SCORE:g}."
            raise ValidationFailed.of("/escalation_threshold", "out_of_range", message)
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            row = store.find_settings(tx.exec, caller.tenant_id)
            before = DEFAULT_ESCALATION_THRESHOLD if row is None else row.escalation_threshold
            require_no_higher(threshold, before, caller=caller)
            context = AuditContext(caller.tenant_id, caller, "risk_settings.update", now)
            if row is None:
                audited_write.insert(tx, store.settings, RiskSettingsRecord(caller.tenant_id, threshold, now), context)
            else:
                changes = {"escalation_threshold": threshold, "updated_at": now}
                audited_write.change(tx, store.settings, row, changes, context)
        return threshold


def find_threshold(connection: Connection, tenant_id: UUID) -> float:
    """Return a tenant's escalation threshold."""
    row = store.find_settings(connection.execute, tenant_id)
    return DEFAULT_ESCALATION_THRESHOLD if row is None else row.escalation_threshold


ESCALATION = SystemActor("risk-escalation")


class Cases(EntityJudge):
    """The cases of tenants; their outcomes are the labels for backtests.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def page(
        self, filters: CasesQuery, *, caller: Caller, before: UUID | None = None, limit: int = 50
    ) -> list[RiskCaseRecord]:
        """Return a page of the tenant's cases that filters select, newest first."""
        with self.storage.read() as connection:
            return store.list_cases(connection.execute, ListPage(caller.tenant_id, before, limit), filters)

    def get(self, case_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> RiskCaseRecord:
        """Return one of the tenant's cases.

        Raises:
            NotFound: the tenant has no such case.
        """
        with self.storage.read(tx) as connection:
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
            PermissionDenied: the caller is an agent, and the case is about its own tree.
            Conflict: it is resolved already.
        """
        with self.storage.write(tx) as tx:
            row = store.get_case(tx.exec, case_id, tenant_id=caller.tenant_id)
            self._impartiality.require(tx.exec, row.entity, caller=caller, verb=RESOLVE)
            if row.status != CaseStatus.OPEN:
                raise refuse_resolved(row)
            now = self.clock.now()
            if outcome is CaseOutcome.LEGITIMATE and row.entity_type == EntityType.USER:
                self._confirm_user(tx, caller.tenant_id, row.entity_id, now)
            return close_case(tx, row, outcome, note=note, caller=caller, at=now)


RESOLVE = "resolve the case of"  # the verb of a refusal


def close_case(
    tx: Transaction,
    row: RiskCaseRecord,
    outcome: CaseOutcome,
    *,
    note: str | None,
    caller: Caller,
    at: datetime,
    label_at: datetime | None = None,
) -> RiskCaseRecord:
    """Write the outcome of an open case; returns it as it is now."""
    changes = {
        "status": CaseStatus.RESOLVED.value,
        "outcome": outcome.value,
        "note": note,
        "resolved_at": at,
        "resolved_by": caller.actor_id,
        "label_at": label_at,
    }
    context = AuditContext(caller.tenant_id, caller, "risk_case.resolve", at, {"outcome": outcome.value})
    return audited_write.change(tx, store.cases, row, changes, context)


def refuse_resolved(row: RiskCaseRecord) -> Conflict:
    """Return the error of resolving a case that is resolved already."""
    return Conflict(f"The case was resolved as {row.outcome} at {row.resolved_at:%Y-%m-%d %H:%M} UTC.")


class Escalated(NamedTuple):
    """The score of a signal at the threshold, and its kind: `source/type`."""

    score: float
    kind: str


def escalate(
    tx: Transaction, tenant_id: UUID, signals: Mapping[Entity, Sequence[Escalated]], *, at: datetime
) -> dict[Entity, UUID]:
    """Let escalated signals, given by entity, open cases or join open ones; returns each entity's case."""
    known = store.find_open_cases(tx.exec, tenant_id, list(signals)) if signals else {}
    return {
        entity: _join(tx, known[entity], of_entity, at)
        if entity in known
        else _open(tx, tenant_id, entity, of_entity, at)
        for entity, of_entity in signals.items()
    }


def _open(tx: Transaction, tenant_id: UUID, entity: Entity, signals: Sequence[Escalated], at: datetime) -> UUID:
    top = max(signals)
    opened = RiskCaseRecord(
        id=new_id(at),
        tenant_id=tenant_id,
        entity_type=entity.type.value,
        entity_id=entity.id,
        status=CaseStatus.OPEN.value,
        signal_count=len(signals),
        max_score=top.score,
        opened_at=at,
        top_kind=top.kind,
    )
    audited_write.insert(tx, store.cases, opened, AuditContext(tenant_id, ESCALATION, "risk_case.open", at))
    return opened.id


def _join(tx: Transaction, case: RiskCaseRecord, signals: Sequence[Escalated], at: datetime) -> UUID:
    changes: dict[str, object] = {"signal_count": case.signal_count + len(signals)}
    if (top := max(signals)).score > case.max_score:
        changes |= {"max_score": top.score, "top_kind": top.kind}
    audited_write.change(tx, store.cases, case, changes, AuditContext(case.tenant_id, ESCALATION, "risk_case.join", at))
    return case.id
