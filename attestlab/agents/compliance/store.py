"""Queries of compliance checks; every query names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from uuid import UUID

from sqlalchemy import ColumnElement, func, or_, select, update

from attestlab.agents.compliance.rules import CheckStatus, EntityKind
from attestlab.agents.compliance.shapes import ComplianceChecksQuery
from attestlab.agents.compliance.tables import ComplianceCheck, ComplianceCheckRecord
from attestlab.agents.store import agents
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, iterate, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.core.filters import build_conditions

checks = table_of(ComplianceCheck)
BY_OTHERS: Final[ColumnElement[bool]] = or_(
    checks.c.asked_by_agent_id.is_(None), checks.c.asked_by_agent_id != checks.c.entity_id
)
"""The checks that another than the agent itself asked for: only these are evidence."""


def get(execute: Execute, check_id: UUID, *, tenant_id: UUID) -> ComplianceCheckRecord:
    """Get a check of the tenant; those of other tenants are not found.

    Raises:
        NotFound: the tenant has no such check.
    """
    mine = (checks.c.id == check_id, checks.c.tenant_id == tenant_id)
    row = fetch_one(execute(select(*checks.c).where(*mine)), ComplianceCheckRecord)
    if row is None:
        raise NotFound("compliance check", check_id)
    return row


def page(
    execute: Execute, query: ComplianceChecksQuery, *, tenant_id: UUID, before: UUID | None, limit: int
) -> list[ComplianceCheckRecord]:
    """List the tenant's checks, newest first, starting after `before`."""
    conditions = [checks.c.tenant_id == tenant_id, *build_conditions(query, checks.c)]
    if before is not None:
        conditions.append(checks.c.id < before)
    newest_first = select(*checks.c).where(*conditions).order_by(checks.c.id.desc()).limit(limit)
    return fetch_all(execute(newest_first), ComplianceCheckRecord)


def find_last_checks(execute: Execute, agent_ids: Collection[UUID]) -> dict[UUID, ComplianceCheckRecord]:
    """Find the last check of each agent that another asked for; agents without one are left out."""
    of_agents = (checks.c.entity_id.in_(agent_ids), checks.c.entity_type == EntityKind.AGENT.value, BY_OTHERS)
    place = func.row_number().over(partition_by=checks.c.entity_id, order_by=checks.c.id.desc())
    ordered = select(checks.c.id, place.label("place")).where(*of_agents).subquery()
    last = select(*checks.c).join(ordered, ordered.c.id == checks.c.id).where(ordered.c.place == 1)
    return {row.entity_id: row for row in iterate(execute(last), ComplianceCheckRecord)}


def count_checks(execute: Execute, agent_ids: Collection[UUID]) -> dict[UUID, int]:
    """Count the checks of agents that another asked for; agents without one are left out."""
    of_agents = (checks.c.entity_id.in_(agent_ids), checks.c.entity_type == EntityKind.AGENT.value, BY_OTHERS)
    query = select(checks.c.entity_id, func.count()).where(*of_agents).group_by(checks.c.entity_id)
    return {row[0]: row[1] for row in execute(query)}


def keep_passed(tx: Transaction, row: ComplianceCheckRecord) -> None:
    """Store with an agent that this check passed, if it did."""
    if row.status == CheckStatus.PASSED:
        is_newer = or_(agents.c.passed_check_at.is_(None), agents.c.passed_check_at < row.created_at)
        tx.exec(update(agents).where(agents.c.id == row.entity_id, is_newer).values(passed_check_at=row.created_at))
