"""Queries of runs and of their steps; every query names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import select

from attestlab.agents.runs.rules import RecordedStep, StepStatus
from attestlab.agents.runs.shapes import RunsQuery
from attestlab.agents.runs.tables import AgentRun, AgentRunStep, RunRecord, RunStepRecord
from attestlab.agents.store import agents, keys
from attestlab.agents.tables import AgentKeyRecord
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.core.errors import NotFound
from attestlab.core.filters import build_conditions

runs = table_of(AgentRun)
steps = table_of(AgentRunStep)


class RunSummary(NamedTuple):
    """A run without its plan, which can be long."""

    id: UUID
    agent_id: UUID
    name: str
    extra: str
    status: str
    chain_ok: bool
    planned_steps: int
    recorded_steps: int
    created_at: datetime
    completed_at: datetime | None
    run_hash: str | None
    log_index: int | None


_SUMMARY = [runs.c[name] for name in RunSummary._fields]


def get(execute: Execute, run_id: UUID, *, tenant_id: UUID) -> RunRecord:
    """Get a run of the tenant; those of other tenants are not found.

    Raises:
        NotFound: the tenant has no such run.
    """
    mine = (runs.c.id == run_id, runs.c.tenant_id == tenant_id)
    row = fetch_one(execute(select(*runs.c).where(*mine)), RunRecord)
    if row is None:
        raise NotFound("run", run_id)
    return row


def page(execute: Execute, query: RunsQuery, *, tenant_id: UUID, before: UUID | None, limit: int) -> list[RunSummary]:
    """List the tenant's runs, newest first, starting after `before`."""
    conditions = [runs.c.tenant_id == tenant_id, *build_conditions(query, runs.c)]
    if before is not None:
        conditions.append(runs.c.id < before)
    newest_first = select(*_SUMMARY).where(*conditions).order_by(runs.c.id.desc()).limit(limit)
    return fetch_all(execute(newest_first), RunSummary)


def list_steps(execute: Execute, run_id: UUID) -> list[RunStepRecord]:
    """List the recorded steps of a run, in the order of its plan."""
    in_order = select(*steps.c).where(steps.c.run_id == run_id).order_by(steps.c.position)
    return fetch_all(execute(in_order), RunStepRecord)


def list_known_agents(execute: Execute, agent_ids: Collection[UUID], *, tenant_id: UUID) -> set[UUID]:
    """List those of these ids that are agents of the tenant; a plan names at most 100."""
    mine = (agents.c.id.in_(agent_ids), agents.c.tenant_id == tenant_id)
    return set(execute(select(agents.c.id).where(*mine)).scalars())


def list_keys(execute: Execute, kids: Collection[str]) -> list[AgentKeyRecord]:
    """List keys by their ids, in the order of the log; a run has at most 100."""
    in_order = select(*keys.c).where(keys.c.kid.in_(kids)).order_by(keys.c.log_index)
    return fetch_all(execute(in_order), AgentKeyRecord)


def collect_recorded(rows: Iterable[RunStepRecord]) -> dict[str, RecordedStep]:
    """Collect the recorded steps of a run by their ids.

    Raises:
        ValidationFailed: a hash of a row is none.
        ValueError: a status of a row is none.
    """
    return {
        row.step_id: RecordedStep(
            row.step_id, str(row.agent_id), row.inputs_hash, row.outputs_hash, StepStatus(row.status)
        )
        for row in rows
    }
