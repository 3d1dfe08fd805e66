"""The work on many cases: outcomes that can be undone for some seconds, assignees, and groups of open cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AttestLabError, Conflict, NotFound, ValidationFailed
from attestlab.core.records import audited_write
from attestlab.core.records.actors import SystemActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs import store as org_store
from attestlab.orgs.rules import Caller
from attestlab.orgs.tables import UserRecord
from attestlab.risk.enforcement import case_groups, store
from attestlab.risk.enforcement.case_groups import CaseGroups
from attestlab.risk.enforcement.cases import RESOLVE, close_case, refuse_resolved
from attestlab.risk.enforcement.impartiality import EntityJudge
from attestlab.risk.enforcement.store import RiskCaseRecord
from attestlab.risk.rules import CaseOutcome, CaseStatus, EntityType

CASES_PER_TRANSACTION: Final = 100
LABELLING: Final = SystemActor("risk-labels")
_OPEN: Final[dict[str, object]] = {
    "status": CaseStatus.OPEN.value,
    **dict.fromkeys(("outcome", "note", "resolved_at", "resolved_by", "label_at")),
}


class Resolution(NamedTuple):
    """A case, what it turned out to be, and a note for colleagues."""

    case_id: UUID
    outcome: CaseOutcome
    note: str | None = None


CaseResult = RiskCaseRecord | AttestLabError
"""The case as it is now, or why it stayed as it was."""


class Triage(EntityJudge):
    """The work on many cases of a tenant; each case succeeds or fails separately.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def resolve(
        self, resolutions: Sequence[Resolution], undo_s: int, caller: Caller, tx: Transaction | None = None
    ) -> list[CaseResult]:
        """Resolve open cases; after `undo_s` seconds the outcomes are labels, and end flags on logins.

        Who resolved a case with this outcome and note already gets it again, so that a request can be repeated.
        """
        with self.storage.write(tx) as tx:
            found = store.get_cases(tx.exec, [each.case_id for each in resolutions], tenant_id=caller.tenant_id)
            results: list[CaseResult] = []
            for resolution in resolutions:
                result = self._resolve_one(tx, found, resolution, undo_s, caller)
                results.append(_keep(found, resolution.case_id, result))
            return results

    def reopen(self, ids: Sequence[UUID], *, caller: Caller, tx: Transaction | None = None) -> list[CaseResult]:
        """Open cases again that the caller resolved, as long as their outcome is no label yet."""
        with self.storage.write(tx) as tx:
            found = store.get_cases(tx.exec, ids, tenant_id=caller.tenant_id)
            entities = {row.entity for row in found.values()}
            later = store.find_open_cases(tx.exec, caller.tenant_id, entities)
            taken = {(entity.type.value, entity.id) for entity in later}
            return [_keep(found, each, self._reopen_one(tx, found.get(each), each, taken, caller)) for each in ids]

    def assign(
        self, case_id: UUID, assignee_id: UUID | None, *, caller: Caller, tx: Transaction | None = None
    ) -> RiskCaseRecord:
        """Assign a case to a person of the tenant, or to no one.

        Raises:
            NotFound: the tenant has no such case, or no such person.
            PermissionDenied: the caller is an agent, and the case is about its own tree.
            ValidationFailed: the person left, or has not joined yet.
        """
        with self.storage.write(tx) as tx:
            row = store.get_case(tx.exec, case_id, tenant_id=caller.tenant_id)
            self._impartiality.require(tx.exec, row.entity, caller=caller, verb="assign the case of")
            if assignee_id == row.assignee_id:
                return row
            if assignee_id is not None:
                _require_person(tx, assignee_id, caller.tenant_id)
            metadata = {"assignee_id": None if assignee_id is None else str(assignee_id)}
            context = AuditContext(caller.tenant_id, caller, "risk_case.assign", self.clock.now(), metadata)
            return audited_write.change(tx, store.cases, row, {"assignee_id": assignee_id}, context)

    def group(self, by: str, *, limit: int, caller: Caller) -> CaseGroups:
        """Group the tenant's open cases by what links them, the largest groups first."""
        with self.storage.read() as connection:
            return case_groups.find(connection.execute, caller.tenant_id, by, limit=limit)

    def has_due(self) -> bool:
        """Return whether an outcome can no longer be undone and is to become a label, without the writer's lock."""
        with self.storage.read() as connection:
            return bool(store.list_unlabelled(connection.execute, until=self.clock.now(), limit=1))

    def settle(self, tx: Transaction, *, at_most: int) -> int:
        """Make labels of the outcomes that can no longer be undone; returns how many."""
        due = store.list_unlabelled(tx.exec, until=(now := self.clock.now()), limit=at_most)
        for row in due:
            self._end_flags(tx, row, now)
            context = AuditContext(row.tenant_id, LABELLING, "risk_case.label", now, {"outcome": row.outcome})
            audited_write.change(tx, store.cases, row, {"label_at": None}, context)
        return len(due)

    def _resolve_one(
        self,
        tx: Transaction,
        found: dict[UUID, RiskCaseRecord],
        resolution: Resolution,
        undo_s: int,
        caller: Caller,
    ) -> CaseResult:
        row = found.get(resolution.case_id)
        if row is None:
            return NotFound("case", resolution.case_id)
        refused = self._impartiality.find_refusal(tx.exec, row.entity, caller=caller, verb=RESOLVE)
        if refused is not None:
            return refused
        if row.status != CaseStatus.OPEN:
            mine = (row.resolved_by, row.outcome, row.note)
            is_repeat = mine == (caller.actor_id, resolution.outcome.value, resolution.note)
            return row if is_repeat else refuse_resolved(row)
        now = self.clock.now()
        label_at = now + timedelta(seconds=undo_s) if undo_s else None
        closed = close_case(tx, row, resolution.outcome, note=resolution.note, caller=caller, at=now, label_at=label_at)
        if label_at is None:
            self._end_flags(tx, closed, now)
        return closed

    def _reopen_one(
        self, tx: Transaction, row: RiskCaseRecord | None, case_id: UUID, taken: set[tuple[str, str]], caller: Caller
    ) -> CaseResult:
        if row is None:
            return NotFound("case", case_id)
        if row.status == CaseStatus.OPEN:
            return row
        now = self.clock.now()
        partial = self._impartiality.find_refusal(tx.exec, row.entity, caller=caller, verb="reopen the case of")
        if (refused := partial or _find_obstacle(row, caller, now)) is not None:
            return refused
        entity = (row.entity_type, row.entity_id)
        if entity in taken:
            return Conflict("The entity has a new open case; resolve that one.")
        taken.add(entity)
        context = AuditContext(caller.tenant_id, caller, "risk_case.reopen", now, {"outcome": row.outcome})
        return audited_write.change(tx, store.cases, row, _OPEN, context)

    def _end_flags(self, tx: Transaction, row: RiskCaseRecord, now: datetime) -> None:
        if row.outcome == CaseOutcome.LEGITIMATE and row.entity_type == EntityType.USER:
            self._confirm_user(tx, row.tenant_id, row.entity_id, row.resolved_at or now)


def split(resolutions: Sequence[Resolution]) -> Iterable[Sequence[Resolution]]:
    """Split cases into those of one transaction each, so that no write holds the writer's lock for long."""
    starts = range(0, len(resolutions), CASES_PER_TRANSACTION)
    return (resolutions[start : start + CASES_PER_TRANSACTION] for start in starts)


def _keep(found: dict[UUID, RiskCaseRecord], case_id: UUID, result: CaseResult) -> CaseResult:
    """Keep the case as it is now, for a later item of the same id; returns the result."""
    if not isinstance(result, AttestLabError):
        found[case_id] = result
    return result


def _find_obstacle(row: RiskCaseRecord, caller: Caller, now: datetime) -> Conflict | None:
    if row.resolved_by != caller.actor_id:
        return Conflict("Another person resolved the case; only they can open it again.")
    if row.label_at is None or row.label_at <= now:
        return Conflict(f"The outcome {row.outcome} is a label already; the entity's next escalation opens a new case.")
    return None


def _require_person(tx: Transaction, user_id: UUID, tenant_id: UUID) -> None:
    person = org_store.get_owned(tx.exec, UserRecord, user_id, tenant_id=tenant_id)
    if person.status is not None:
        message = f"The person {user_id} is {person.status}; choose an active one. `GET /v1/users` lists them."
        raise ValidationFailed.of("/assignee_id", "inactive", message)
