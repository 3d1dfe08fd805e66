"""The work on many cases: outcomes that can be undone for some seconds, assignees, and groups of open cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import CompoundSelect, Select, and_, func, literal, select, union

from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AttestLabError, Conflict, NotFound, ValidationFailed
from attestlab.core.records import audited_write
from attestlab.core.records.actors import SystemActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs import store as org_store
from attestlab.orgs.rules import Caller
from attestlab.orgs.tables import UserRecord
from attestlab.risk.enforcement import store
from attestlab.risk.enforcement.cases import RESOLVE, close_case, refuse_resolved
from attestlab.risk.enforcement.comments import Discussion, find_newest
from attestlab.risk.enforcement.impartiality import EntityJudge
from attestlab.risk.enforcement.store import RiskCaseRecord, cases
from attestlab.risk.links import ENDS, links
from attestlab.risk.rules import CaseOutcome, CaseStatus, EntityType, names_nothing

MAX_GROUPED_CASES: Final = 5_000  # the newest ones
MAX_MEMBERSHIPS: Final = 50_000  # a case about an address may be linked to thousands of devices
SAMPLED: Final = 3


class CaseGroup(NamedTuple):
    """Open cases with an entity in common; `key` is its id, or its type and id if they are grouped by entity."""

    by: str
    key: str
    count: int  # type: ignore[assignment]  # overrides tuple.count
    max_score: float
    oldest_at: datetime
    sample: Sequence[RiskCaseRecord]

    @property
    def why(self) -> str:
        """What links the cases, in a sentence."""
        what = {"device": "the device", "issuer": "the issuer", "ip": "the address"}.get(self.by, "the entity")
        if self.count == 1:
            return f"One case is linked to {what} {self.key}; its highest score is {self.max_score:.4g}."
        return f"{self.count:,} cases share {what} {self.key}; their highest score is {self.max_score:.4g}."


class CaseGroups(NamedTuple):
    """The largest groups, and the newest comments of their samples by case.

    `truncated` if there are more groups, or more open cases than were grouped.
    """

    items: Sequence[CaseGroup]
    discussions: Mapping[UUID, Discussion]
    truncated: bool


def _find_groups(execute: Execute, tenant_id: UUID, by: str, *, limit: int) -> CaseGroups:
    """Find the largest groups of a tenant's open cases, with the cases of the highest scores of each."""
    members = _select_members(tenant_id, by).limit(MAX_MEMBERSHIPS).subquery()
    number, top = func.count(), func.max(members.c.max_score)
    grouped = select(members.c.key, number, top, func.min(members.c.opened_at)).group_by(members.c.key)
    rows = execute(grouped.order_by(number.desc(), top.desc(), members.c.key).limit(limit + 1)).all()
    keys = [key for key, *_ in rows[:limit] if by == "entity" or not names_nothing(by, key)]
    rank = func.row_number().over(partition_by=members.c.key, order_by=(members.c.max_score.desc(), members.c.id))
    ranked = select(members.c.key, members.c.id, rank.label("rank")).where(members.c.key.in_(keys)).subquery()
    sampled = execute(select(ranked.c.key, ranked.c.id).where(ranked.c.rank <= SAMPLED).order_by(ranked.c.rank)).all()
    known = store.get_cases(execute, [case_id for _, case_id in sampled], tenant_id=tenant_id)
    groups = [
        CaseGroup(by, key, size, score, oldest, [known[case_id] for of, case_id in sampled if of == key])
        for key, size, score, oldest in rows
        if key in keys
    ]
    discussions = find_newest(execute, tenant_id, list(known))
    return CaseGroups(groups, discussions, len(rows) > limit or _has_more(execute, tenant_id))


def _select_open(tenant_id: UUID) -> Select[tuple[object, ...]]:
    mine = select(*cases.c).where(cases.c.tenant_id == tenant_id, cases.c.status == CaseStatus.OPEN.value)
    return mine.order_by(cases.c.id.desc())


def _has_more(execute: Execute, tenant_id: UUID) -> bool:
    return execute(_select_open(tenant_id).offset(MAX_GROUPED_CASES).limit(1)).first() is not None


def _select_members(tenant_id: UUID, by: str) -> Select[tuple[object, ...]] | CompoundSelect[tuple[object, ...]]:
    """Select each open case with the key of each group that it belongs to, once."""
    each = _select_open(tenant_id).limit(MAX_GROUPED_CASES).subquery()
    shown = (each.c.id, each.c.max_score, each.c.opened_at)
    if by == "entity":
        return select((each.c.entity_type + literal(":") + each.c.entity_id).label("key"), *shown)
    its_own = select(each.c.entity_id.label("key"), *shown).where(each.c.entity_type == by)
    linked = [
        select(id_.label("key"), *shown)
        .join_from(
            each,
            links,
            and_(links.c.tenant_id == tenant_id, own_type == each.c.entity_type, own_id == each.c.entity_id),
        )
        .where(type_ == by)
        for (own_type, own_id), (type_, id_) in (ENDS, ENDS[::-1])
    ]
    return union(its_own, *linked)


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
            return _find_groups(connection.execute, caller.tenant_id, by, limit=limit)

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
