"""Queries of trust; every query names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select, update

from attestlab.agents.store import agents, batch_ids
from attestlab.agents.trust.shapes import TrustHistoryQuery
from attestlab.agents.trust.tables import TrustChange, TrustChangeRecord, TrustDue, TrustDueRecord
from attestlab.core.db.tables import Execute, fetch_all, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.db.upserts import Upsert
from attestlab.core.filters import build_conditions
from attestlab.risk.numbering import NumberedRows

changes = table_of(TrustChange)
due = table_of(TrustDue)
NUMBERED = NumberedRows(changes, TrustChangeRecord)
SET_DUE = Upsert(due, key=("agent_id",), change=lambda new: {"due_at": new.due_at, "cause": new.cause})


def page_changes(
    execute: Execute, agent_id: UUID, query: TrustHistoryQuery, *, before: int | None, limit: int
) -> list[TrustChangeRecord]:
    """List the changes of an agent's score, newest first, with numbers below `before`."""
    conditions = [changes.c.agent_id == agent_id, *build_conditions(query, changes.c)]
    if before is not None:
        conditions.append(changes.c.seq < before)
    newest_first = select(*changes.c).where(*conditions).order_by(changes.c.seq.desc()).limit(limit)
    return fetch_all(execute(newest_first), TrustChangeRecord)


def find_due(execute: Execute, *, now: datetime, limit: int) -> list[TrustDueRecord]:
    """Find up to `limit` agents of all tenants whose score is due, earliest first."""
    query = select(*due.c).where(due.c.due_at <= now).order_by(due.c.due_at).limit(limit)
    return fetch_all(execute(query), TrustDueRecord)


def list_due(execute: Execute, agent_ids: Collection[UUID], *, until: datetime) -> frozenset[UUID]:
    """List those of these agents whose score is due by a moment."""
    found: set[UUID] = set()
    for ids in batch_ids(agent_ids):
        found |= set(execute(select(due.c.agent_id).where(due.c.agent_id.in_(ids), due.c.due_at <= until)).scalars())
    return frozenset(found)


def delete_due(tx: Transaction, agent_ids: Collection[UUID]) -> None:
    """Forget when the scores of agents are due."""
    tx.exec(delete(due).where(due.c.agent_id.in_(agent_ids)))


def set_due(tx: Transaction, rows: Sequence[TrustDueRecord]) -> None:
    """Store when the scores of agents are due, instead of what was stored."""
    if rows:
        tx.flush()
        SET_DUE.run(tx.connection, [row._asdict() for row in rows])


def list_known(execute: Execute, agent_ids: Collection[UUID]) -> frozenset[UUID]:
    """List those of these agents that have had evidence or a risk signal."""
    found: set[UUID] = set()
    for ids in batch_ids(agent_ids):
        query = select(changes.c.agent_id).where(changes.c.agent_id.in_(ids)).distinct()
        found |= set(execute(query).scalars())
    return frozenset(found)


def save_scores(tx: Transaction, scores: Mapping[UUID, float]) -> None:
    """Write the scores of agents."""
    for agent_id, score in scores.items():
        tx.exec(update(agents).where(agents.c.id == agent_id).values(trust_score=score))
