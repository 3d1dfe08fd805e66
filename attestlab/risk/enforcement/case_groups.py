"""Groups of open cases: those whose entities have a device, an issuer or an address in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import CompoundSelect, Select, and_, func, literal, select, union

from attestlab.core.db.tables import Execute
from attestlab.risk.enforcement import store
from attestlab.risk.enforcement.comments import Discussion, find_newest
from attestlab.risk.enforcement.store import RiskCaseRecord, cases
from attestlab.risk.links import ENDS, links
from attestlab.risk.rules import CaseStatus, names_nothing

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


def find(execute: Execute, tenant_id: UUID, by: str, *, limit: int) -> CaseGroups:
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
