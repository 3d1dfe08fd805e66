"""Rows of recorded steps for analysis, each with its run and with what the plan has of it; without signed texts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, select

from attestlab.agents.runs.rules import PlannedStep, decode_plan
from attestlab.agents.runs.store import runs, steps

RUNS_PER_FETCH: Final = 50  # with their plans, of up to 100 steps each


class RunStepRow(NamedTuple):
    """A recorded step; `run_status`, `planned_steps`, `recorded_steps` and `log_index` are the run's, as they are now.

    `position` is its place in the plan, from 0, and `planned_agent_id` the agent that the plan names for it.
    """

    id: UUID
    tenant_id: UUID
    orchestration_id: UUID
    run_name: str
    run_agent_id: UUID
    run_status: str
    planned_steps: int
    recorded_steps: int
    log_index: int | None
    step_id: str
    position: int
    type: str
    depends_on: list[str]
    planned_agent_id: str | None
    agent_id: UUID
    status: str
    inputs_hash: str
    outputs_hash: str
    chain_ok: bool
    latency_ms: int | None
    kid: str
    recorded_at: datetime


_ELSEWHERE = {
    "orchestration_id": steps.c.run_id,
    "run_name": runs.c.name,
    "run_agent_id": runs.c.agent_id,
    "run_status": runs.c.status,
    "planned_steps": runs.c.planned_steps,
    "recorded_steps": runs.c.recorded_steps,
    "log_index": runs.c.log_index,
    "recorded_at": steps.c.created_at,
}
_OF_PLAN: Final = ("type", "depends_on", "planned_agent_id")
_COLUMNS = [
    (_ELSEWHERE[name] if name in _ELSEWHERE else steps.c[name]).label(name)
    for name in RunStepRow._fields
    if name not in _OF_PLAN
]


def select_run_steps(connection: Connection, tenant_id: UUID) -> Iterator[RunStepRow]:
    """Return the recorded steps of a tenant's runs, in the order of the runs and of their plans."""
    after: UUID | None = None
    while plans := _list_plans(connection, tenant_id, after):
        of_runs = select(*_COLUMNS).join(runs, runs.c.id == steps.c.run_id).where(steps.c.run_id.in_(plans))
        for row in connection.execute(of_runs.order_by(steps.c.run_id, steps.c.position)):
            planned = plans[row.orchestration_id][row.position]
            of_plan = (planned.type, list(planned.depends_on), planned.agent_id)
            yield RunStepRow(**row._asdict() | dict(zip(_OF_PLAN, of_plan, strict=True)))
        after = max(plans)


def _list_plans(connection: Connection, tenant_id: UUID, after: UUID | None) -> dict[UUID, list[PlannedStep]]:
    """List the plans of the next runs of which steps are recorded, oldest first."""
    query = select(runs.c.id, runs.c.plan).where(runs.c.tenant_id == tenant_id, runs.c.recorded_steps > 0)
    if after is not None:
        query = query.where(runs.c.id > after)
    found = connection.execute(query.order_by(runs.c.id).limit(RUNS_PER_FETCH))
    return {run_id: decode_plan(plan) for run_id, plan in found}
