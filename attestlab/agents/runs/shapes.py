"""Wire models of runs, their plans, steps and proofs (CONTRACT 11.12)."""

from typing import Annotated

from pydantic import Field, StringConstraints

from attestlab.agents.delegation.shapes import AgentReference
from attestlab.agents.proof_shapes import AgentKeyProofOut, EntryProofOut, ProofTreeHeadOut
from attestlab.agents.runs.rules import (
    MAX_LATENCY_MS,
    MAX_STEPS,
    STEP_ID_PATTERN,
    STEP_TYPE_PATTERN,
    RunEnd,
    RunStatus,
    StepStatus,
)
from attestlab.agents.runs.step_tokens import MAX_STEP_TOKEN_LENGTH
from attestlab.agents.shapes import AgentObject
from attestlab.core.filters import Filters, Where
from attestlab.core.shapes import In, Moment, Name, Out, Uuid, one_of
from attestlab.core.text_forms import describe_form
from attestlab.web.paging import PageQuery

_ID_FORM = describe_form(f"^{STEP_ID_PATTERN}$", "Use 1-64 letters, digits, '_' and '-'.")
_TYPE_FORM = describe_form(f"^{STEP_TYPE_PATTERN}$", "Use 1-32 lowercase letters and '_'.")
_HASH_FORM = describe_form("^[0-9a-f]{64}$", "Send a SHA-256 as 64 lowercase hex digits.")
StepId = Annotated[str, StringConstraints(pattern=_ID_FORM)]
StepType = Annotated[str, StringConstraints(pattern=_TYPE_FORM)]
StepHash = Annotated[str, StringConstraints(pattern=_HASH_FORM)]
RunStatusName = Annotated[str, one_of(RunStatus)]
StepStatusName = Annotated[str, one_of(StepStatus)]
OPEN = "open"
RUN_STEP_STATES = (OPEN, *StepStatus)


class PlannedStepIn(In, wire_name="planned_step_input", source="CONTRACT 11.12"):
    """A step of a plan."""

    id: StepId
    """Its name within the plan. Format: 1-64 of a-z A-Z 0-9 _ -."""
    type: StepType
    """What kind of work it is. Format: 1-32 of a-z _."""
    agent_id: AgentReference | None = None
    """The agent meant to do it; another one of the run may record it. Format: UUID or maip:<8 digits>:<ULID>."""
    depends_on: Annotated[list[StepId], Field(max_length=MAX_STEPS)] = Field(default_factory=list)
    """The steps that must be recorded before, whose outputs are its inputs. Format: at most 100 ids of the plan."""


class RunPlanIn(In, wire_name="run_plan_input", source="CONTRACT 11.12"):
    """What a run shall do: steps that depend on each other, without a cycle."""

    steps: Annotated[list[PlannedStepIn], Field(min_length=1, max_length=MAX_STEPS)]
    """The steps. Format: 1-100, each id once."""


class RunIn(In, wire_name="run_input", source="CONTRACT 11.12"):
    """A run to start."""

    agent_id: AgentReference
    """The agent whose run it is. Format: UUID of 36 characters, or maip:<8 digits>:<ULID>."""
    name: Name
    """What people call it. Format: text, 1-200 characters."""
    plan: RunPlanIn
    """What it shall do."""
    metadata: AgentObject = Field(default_factory=dict)
    """The tenant's own data. Format: JSON object, at most 16 KB."""


class RunStepIn(In, wire_name="run_step_input", source="CONTRACT 11.12"):
    """A step as its agent records it."""

    step_id: StepId
    """The step of the plan. Format: 1-64 of a-z A-Z 0-9 _ -."""
    agent_id: AgentReference | None = None
    """The agent that did it: the run's or one below it. By default the caller if it is an agent, else the one that the
    plan names, else the run's. Format: UUID of 36 characters, or maip:<8 digits>:<ULID>.
    """
    inputs_hash: StepHash
    """What it took: the one dependency's outputs_hash, of several the SHA-256 of these joined by newlines.
    Format: SHA-256, 64 lowercase hex digits.
    """
    outputs_hash: StepHash
    """What it put out. Format: SHA-256, 64 lowercase hex digits."""
    status: StepStatus
    """How it ended. Format: completed, failed or skipped."""
    latency_ms: Annotated[int, Field(ge=0, le=MAX_LATENCY_MS)] | None = None
    """How long it took; the agent does not sign it. Format: 0-86400000 milliseconds."""
    signature: Annotated[str, StringConstraints(min_length=1, max_length=MAX_STEP_TOKEN_LENGTH)] | None = None
    """Own keys: the step as the agent's holder signed it. Format: compact JWS, RFC 7515."""


class RunCompleteIn(In, wire_name="run_complete_input", source="CONTRACT 11.12"):
    """How a run ends."""

    status: RunEnd = RunEnd.COMPLETED
    """How it ends; with open steps only failed or canceled. Format: completed, failed or canceled."""


class RunStepOut(Out, wire_name="run_step", source="CONTRACT 11.12"):
    """A step of a run, as it is now."""

    step_id: str
    """The step. Format: 1-64 of a-z A-Z 0-9 _ -."""
    type: str
    """What kind of work it is. Format: 1-32 of a-z _."""
    depends_on: list[str]
    """The steps that must be recorded before. Format: ids of the plan."""
    status: Annotated[str, one_of(RUN_STEP_STATES)]
    """How it ended. Format: open until it is recorded, then completed, failed or skipped."""
    agent_id: Uuid | None
    """The agent that recorded it; of an open step the one that the plan names. Format: UUID, 36 characters."""
    inputs_hash: str | None
    """What it took. Format: SHA-256, 64 lowercase hex digits."""
    outputs_hash: str | None
    """What it put out. Format: SHA-256, 64 lowercase hex digits."""
    chain_ok: bool | None
    """Whether it took what its dependencies put out; null while it is open. Format: true or false."""
    latency_ms: int | None
    """How long it took, as its agent says. Format: milliseconds."""
    kid: str | None
    """The key that signed it. Format: agk_ and 24 hex digits."""
    jws: str | None
    """What the agent signed, of the type agent-step+jwt. Format: compact JWS, RFC 7515."""
    recorded_at: Moment | None
    """When it was recorded. Format: RFC 3339 date-time, UTC, milliseconds."""


class RunSummaryOut(Out, wire_name="run_summary", source="CONTRACT 11.12"):
    """A run without its plan and steps."""

    orchestration_id: Uuid
    """The run. Format: UUID, 36 characters."""
    agent_id: Uuid
    """The agent whose run it is. Format: UUID, 36 characters."""
    name: str
    """What people call it. Format: text, 1-200 characters."""
    status: RunStatusName
    """How it ended. Format: running, completed, failed or canceled."""
    chain_ok: bool
    """Whether each recorded step took what its dependencies put out. Format: true or false."""
    planned_steps: int
    """The steps of its plan. Format: 1-100."""
    recorded_steps: int
    """Those that are recorded. Format: 0-100."""
    metadata: AgentObject
    """The tenant's own data. Format: JSON object, at most 16 KB."""
    run_hash: str | None
    """The SHA-256 of the run's RFC 8785 form, once it ended. Format: base64url, 43 characters."""
    log_index: int | None
    """The log entry run.completed. Format: from 0."""
    created_at: Moment
    """When it started. Format: RFC 3339 date-time, UTC, milliseconds."""
    completed_at: Moment | None
    """When it ended. Format: RFC 3339 date-time, UTC, milliseconds."""


class RunPlanOut(Out, wire_name="run_plan", source="CONTRACT 11.12"):
    """A plan as the run hash has it."""

    steps: list[dict[str, str | list[str]]]
    """The steps as id, type, depends_on, and agent_id where the plan names one. Format: 1-100 objects."""


class RunOut(RunSummaryOut, wire_name="run", source="CONTRACT 11.12"):
    """A run with its plan, and its steps as they are now."""

    plan: RunPlanOut
    """The plan as the run hash has it."""
    steps: list[RunStepOut]
    """Its steps in the order of the plan. Format: 1-100."""


class ProvenStepOut(Out, wire_name="proven_run_step", source="CONTRACT 11.12"):
    """A recorded step, with what its agent signed."""

    step_id: str
    """The step. Format: 1-64 of a-z A-Z 0-9 _ -."""
    agent_id: Uuid
    """The agent that recorded it. Format: UUID, 36 characters."""
    inputs_hash: str
    """What it took. Format: SHA-256, 64 lowercase hex digits."""
    outputs_hash: str
    """What it put out. Format: SHA-256, 64 lowercase hex digits."""
    status: StepStatusName
    """How it ended. Format: completed, failed or skipped."""
    jws: str
    """What the agent signed, of the type agent-step+jwt. Format: compact JWS, RFC 7515."""


class RunProofOut(Out, wire_name="run_proof", source="CONTRACT 11.12"):
    """What anyone needs to verify a run without this service."""

    format: str
    """The form of this document. Format: attestlab-run/1."""
    orchestration_id: Uuid
    """The run. Format: UUID, 36 characters."""
    agent_id: Uuid
    """The agent whose run it is. Format: UUID, 36 characters."""
    plan: RunPlanOut
    """The plan as the run hash has it."""
    status: RunStatusName
    """How it ended. Format: completed, failed or canceled."""
    run_hash: str
    """The SHA-256 of the run's RFC 8785 form. Format: base64url, 43 characters."""
    steps: list[ProvenStepOut]
    """The recorded steps, in the order of the plan. Format: 0-100."""
    keys: list[AgentKeyProofOut]
    """The keys that signed the steps, each with its entry of the log. Format: 0-100."""
    log_entry: str
    """The entry run.completed. Format: canonical JSON, standard base64."""
    inclusion_proof: EntryProofOut
    """The proof that the log has this entry."""
    signed_tree_head: ProofTreeHeadOut
    """The head that all proofs lead to."""


class RunsQuery(PageQuery, Filters, wire_name="runs_query", source="CONTRACT 11.12"):
    """Filters of the list of runs."""

    agent_id: Annotated[Uuid | None, Where("agent_id")] = None
    """Only runs of this agent. Format: UUID, 36 characters."""
    status: Annotated[RunStatus | None, Where("status")] = None
    """Only runs in this state. Format: running, completed, failed or canceled."""
