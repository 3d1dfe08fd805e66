"""Rows of recorded steps for analysis, each with its run and with what the plan has of it; without signed texts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, select

from attestlab.agents.runs.rules import PlannedStep, decode_plan
from attestlab.agents.runs.store import runs, steps
from attestlab.agents.runs.tables import RunRecord
from attestlab.core.db.tables import fetch_all

RUNS_PER_FETCH: Final = 50  # with their plans, of up to a hundred steps each


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


_OF_STEP = [
    *(steps.c[name] for name in RunStepRow._fields if name in steps.c and name != "tenant_id"),
    steps.c.created_at.label("recorded_at"),
]


def select_run_steps(connection: Connection, tenant_id: UUID) -> Iterator[RunStepRow]:
    """Return the recorded steps of a tenant's runs, in the order of the runs and of their plans."""
    after: UUID | None = None
    while found := _list_begun_runs(connection, tenant_id, after):
        by_id = {run.id: (run, decode_plan(run.plan)) for run in found}
        query = select(steps.c.run_id, *_OF_STEP).where(steps.c.run_id.in_(by_id))
        for row in connection.execute(query.order_by(steps.c.run_id, steps.c.position)):
            values = row._asdict()
            run, plan = by_id[values.pop("run_id")]
            yield _make_row(run, plan[row.position], values)
        after = found[-1].id


def _list_begun_runs(connection: Connection, tenant_id: UUID, after: UUID | None) -> list[RunRecord]:
    """List the next runs of which steps are recorded, oldest first."""
    query = select(*runs.c).where(runs.c.tenant_id == tenant_id, runs.c.recorded_steps > 0)
    if after is not None:
        query = query.where(runs.c.id > after)
    return fetch_all(connection.execute(query.order_by(runs.c.id).limit(RUNS_PER_FETCH)), RunRecord)


def _make_row(run: RunRecord, planned: PlannedStep, values: dict[str, Any]) -> RunStepRow:
    of_run: dict[str, Any] = {
        "tenant_id": run.tenant_id,
        "orchestration_id": run.id,
        "run_name": run.name,
        "run_agent_id": run.agent_id,
        "run_status": run.status,
        "planned_steps": run.planned_steps,
        "recorded_steps": run.recorded_steps,
        "log_index": run.log_index,
    }
    return RunStepRow(
        **of_run,
        **values,
        type=planned.type,
        depends_on=list(planned.depends_on),
        planned_agent_id=planned.agent_id,
    )
