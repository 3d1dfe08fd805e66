"""Tables of runs, and of the steps that agents recorded and signed."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class RunRecord(NamedTuple):
    """A run of a tenant's agents: a plan, and how far it is.

    `plan` is the canonical JSON `{"steps": [...]}` and `extra` a JSON object. `recorded_steps` of `planned_steps` are
    recorded, and `chain_ok` says whether all of them chain. A run that ended has its hash, and the log entry of it.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    agent_id: Annotated[UUID, Field(foreign_key="agents.id")]
    name: Annotated[str, Field(max_length=200)]
    plan: str
    extra: str
    status: Annotated[str, Field(max_length=9)]
    chain_ok: bool
    planned_steps: int
    recorded_steps: int
    created_at: datetime
    completed_at: datetime | None = None
    run_hash: Annotated[str | None, Field(max_length=43)] = None
    log_index: Annotated[int | None, Field(sa_type=BigInteger)] = None


AgentRun = model_of(
    RunRecord,
    "agent_runs",
    Index("ix_agent_runs_of_tenant", "tenant_id", "id"),
    Index("ix_agent_runs_of_agent", "agent_id", "id"),
)


@short_repr
class RunStepRecord(NamedTuple):
    """A step of a run as an agent recorded it, once; `jws` is what the agent signed, with its key `kid`.

    `position` is the step's place in the plan, from 0. The hashes are SHA-256 in lowercase hex.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    run_id: Annotated[UUID, Field(foreign_key="agent_runs.id")]
    step_id: Annotated[str, Field(max_length=64)]
    position: int
    agent_id: Annotated[UUID, Field(foreign_key="agents.id")]
    inputs_hash: Annotated[str, Field(max_length=64)]
    outputs_hash: Annotated[str, Field(max_length=64)]
    status: Annotated[str, Field(max_length=9)]
    latency_ms: int | None
    chain_ok: bool
    kid: Annotated[str, Field(max_length=40)]
    jws: str
    created_at: datetime


AgentRunStep = model_of(
    RunStepRecord,
    "agent_run_steps",
    Index("ix_agent_run_steps_of_run", "run_id", "step_id", unique=True),
    Index("ix_agent_run_steps_of_agent", "agent_id", "id"),
    Index("ix_agent_run_steps_of_tenant", "tenant_id", "id"),
)
