"""Rules of runs (CONTRACT 11.12): plans without cycles, steps after their dependencies, hashes that chain."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from hashlib import sha256
from typing import Final
from uuid import UUID

from attestlab.core.counting import plural
from attestlab.core.crypto.canonical_json import canonical_trusted, sha256_b64url
from attestlab.core.encoding import quote
from attestlab.core.errors import Conflict, FieldError, PermissionDenied, ValidationFailed

MAX_STEPS: Final = 100
RUN_HASH_VERSION: Final = 1
MAX_LATENCY_MS: Final = 86_400_000
STEP_ID_PATTERN: Final = "[a-zA-Z0-9_-]{1,64}"
STEP_TYPE_PATTERN: Final = "[a-z_]{1,32}"
_STEP_ID: Final = re.compile(STEP_ID_PATTERN)
_STEP_TYPE: Final = re.compile(STEP_TYPE_PATTERN)
_HASH: Final = re.compile(r"[0-9a-f]{64}")


class RunStatus(StrEnum):
    """The state of a run; all but RUNNING are final."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"


class RunEnd(StrEnum):
    """How a run can end."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"


class StepStatus(StrEnum):
    """How a step ended, as its agent says."""

    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class PlannedStep:
    """A step of a plan; `agent_id` is the UUID of the agent meant to do it, if the plan names one."""

    id: str
    type: str
    depends_on: tuple[str, ...] = ()
    agent_id: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return the step as plans and run hashes have it: without `agent_id` where the plan names none."""
        named = {} if self.agent_id is None else {"agent_id": self.agent_id}
        return {"id": self.id, "type": self.type, "depends_on": list(self.depends_on), **named}


@dataclass(frozen=True)
class RecordedStep:
    """What an agent recorded of a step; both hashes are SHA-256 in 64 lowercase hex digits."""

    step_id: str
    agent_id: str
    inputs_hash: str
    outputs_hash: str
    status: StepStatus

    def __post_init__(self) -> None:
        for name, value in (("inputs_hash", self.inputs_hash), ("outputs_hash", self.outputs_hash)):
            if not _HASH.fullmatch(value):
                message = f"{name} is {quote(value)}. Send a SHA-256 as 64 lowercase hex digits."
                raise ValidationFailed.of(f"/{name}", "invalid_hash", message)

    def to_json(self) -> dict[str, object]:
        """Return the step as run hashes have it."""
        return {
            "step_id": self.step_id,
            "agent_id": self.agent_id,
            "inputs_hash": self.inputs_hash,
            "outputs_hash": self.outputs_hash,
            "status": self.status.value,
        }


def describe_plan(steps: Sequence[PlannedStep]) -> dict[str, object]:
    """Return a plan as runs show it, and as run hashes have it."""
    return {"steps": [step.to_json() for step in steps]}


def encode_plan(steps: Sequence[PlannedStep]) -> str:
    """Encode a plan for storage, as canonical JSON."""
    return canonical_trusted(describe_plan(steps)).decode()


def decode_plan(text: str) -> list[PlannedStep]:
    """Decode what `encode_plan` returned."""
    return [
        PlannedStep(step["id"], step["type"], tuple(step["depends_on"]), step.get("agent_id"))
        for step in json.loads(text)["steps"]
    ]


def require_plan(steps: Sequence[PlannedStep]) -> None:
    """Require 1-100 well-formed steps with unique ids and known dependencies, without a cycle.

    Raises:
        ValidationFailed: the plan breaks one of these; it names the field.
    """
    if not 1 <= len(steps) <= MAX_STEPS:
        message = f"The plan has {len(steps)} steps; send 1-{MAX_STEPS}."
        raise ValidationFailed.of("/plan/steps", "too_many" if steps else "too_few", message)
    known = {step.id for step in steps}
    seen: set[str] = set()
    faults: list[FieldError] = []
    for index, step in enumerate(steps):
        faults += _find_step_faults(f"/plan/steps/{index}", step, known, seen)
        seen.add(step.id)
    if faults:
        raise ValidationFailed(faults[0].message, faults)
    _require_acyclic(steps)


def require_recordable(steps: Sequence[PlannedStep], step_id: str, recorded: Mapping[str, RecordedStep]) -> None:
    """Require that a step can be recorded now: it is in the plan, not recorded yet, and its dependencies are.

    Raises:
        ValidationFailed: the plan has no such step.
        Conflict: the step is recorded already, or a dependency is not (`details.reason` is `dependency_open`).
    """
    step = next((step for step in steps if step.id == step_id), None)
    if step is None:
        message = f"The plan has no step {quote(step_id)}. Send the id of one of its steps."
        raise ValidationFailed.of("/step_id", "unknown_step", message)
    if step_id in recorded:
        message = f"The step {quote(step_id)} is recorded already. A step is recorded once."
        raise Conflict(message, details={"reason": "already_recorded", "step_id": step_id})
    waiting = [dependency for dependency in step.depends_on if dependency not in recorded]
    if waiting:
        message = f"The step {quote(step_id)} depends on {quote(waiting[0])}, which is open. Record that one first."
        raise Conflict(message, details={"reason": "dependency_open", "open": waiting})


def require_running(status: RunStatus, verb: str) -> None:
    """Require a run that has not ended; `verb` is what it would do.

    Raises:
        Conflict: it has ended (`details.reason` is `ended`, `details.status` says how).
    """
    if status is not RunStatus.RUNNING:
        message = f"The run is {status.value}; only a running one can {verb}."
        raise Conflict(message, details={"status": status.value, "reason": "ended"})


def require_of_run(agent_id: UUID, run_agent_id: UUID, ancestors: Collection[UUID]) -> None:
    """Require that an agent may record steps of a run: it is the run's agent, or one below it.

    Raises:
        PermissionDenied: it is neither (`details.reason` is `not_of_run`).
    """
    if agent_id != run_agent_id and run_agent_id not in ancestors:
        message = (
            f"The agent {agent_id} is neither the run's agent {run_agent_id} nor one below it. Delegate to it first."
        )
        raise PermissionDenied(message, details={"reason": "not_of_run"})


def require_completable(
    steps: Sequence[PlannedStep], recorded: Mapping[str, RecordedStep], *, now: RunStatus, then: RunEnd
) -> None:
    """Require that a run may end as `then`: it is running, and without open steps unless failed or canceled.

    Raises:
        Conflict: the run has ended, or steps are open (`details.reason` is `steps_open`).
    """
    require_running(now, "end")
    waiting = [step.id for step in steps if step.id not in recorded]
    if waiting and then is RunEnd.COMPLETED:
        are_open = f"{plural(len(waiting), 'step')} {'is' if len(waiting) == 1 else 'are'} open"
        message = f"{are_open}, first {quote(waiting[0])}. Record what is open, or end the run as failed."
        raise Conflict(message, details={"reason": "steps_open", "open": waiting})


def is_chained(step: PlannedStep, inputs_hash: str, recorded: Mapping[str, RecordedStep]) -> bool:
    """Tell whether a step took as inputs what its dependencies put out; a step without any always did.

    A step whose dependency is not recorded does not chain.
    """
    if any(dependency not in recorded for dependency in step.depends_on):
        return False
    outputs = [recorded[dependency].outputs_hash for dependency in step.depends_on]
    if not outputs:
        return True
    return inputs_hash == join_outputs(outputs)


def join_outputs(outputs: Sequence[str]) -> str:
    """Compute what a step takes from one dependency or more: the one hash, or the SHA-256 of all, a line each."""
    return outputs[0] if len(outputs) == 1 else sha256("\n".join(outputs).encode()).hexdigest()


def is_run_chained(steps: Sequence[PlannedStep], recorded: Mapping[str, RecordedStep]) -> bool:
    """Tell whether all recorded steps of a run chain."""
    return all(is_chained(step, recorded[step.id].inputs_hash, recorded) for step in steps if step.id in recorded)


def hash_run(
    orchestration_id: str,
    agent_id: str,
    steps: Sequence[PlannedStep],
    recorded: Mapping[str, RecordedStep],
    status: RunStatus,
) -> str:
    """Return the run hash: base64url SHA-256 of the run's RFC 8785 form, recorded steps in the plan's order."""
    content: dict[str, object] = {
        "v": RUN_HASH_VERSION,
        "orchestration_id": orchestration_id,
        "agent_id": agent_id,
        "plan": describe_plan(steps),
        "status": status.value,
        "steps": [recorded[step.id].to_json() for step in steps if step.id in recorded],
    }
    return sha256_b64url(canonical_trusted(content))


def _find_step_faults(path: str, step: PlannedStep, known: set[str], seen: set[str]) -> list[FieldError]:
    faults = []
    if not _STEP_ID.fullmatch(step.id):
        message = f"The id {quote(step.id)} is invalid. Use 1-64 letters, digits, '_' and '-'."
        faults.append(FieldError(f"{path}/id", "invalid_format", message))
    elif step.id in seen:
        message = f"The id {quote(step.id)} stands twice in the plan. Give each step its own."
        faults.append(FieldError(f"{path}/id", "duplicate", message))
    if not _STEP_TYPE.fullmatch(step.type):
        message = f"The type {quote(step.type)} is invalid. Use 1-32 lowercase letters and '_'."
        faults.append(FieldError(f"{path}/type", "invalid_format", message))
    return [*faults, *_find_dependency_faults(path, step, known)]


def _find_dependency_faults(path: str, step: PlannedStep, known: set[str]) -> list[FieldError]:
    faults = []
    for index, dependency in enumerate(step.depends_on):
        field = f"{path}/depends_on/{index}"
        if dependency not in known:
            message = f"The plan has no step {quote(dependency)}. Depend on steps of the plan."
            faults.append(FieldError(field, "unknown_step", message))
        elif dependency in step.depends_on[:index]:
            message = f"The dependency {quote(dependency)} stands twice. Send it once."
            faults.append(FieldError(field, "duplicate", message))
    return faults


def _require_acyclic(steps: Sequence[PlannedStep]) -> None:
    try:
        TopologicalSorter({step.id: step.depends_on for step in steps}).prepare()
    except CycleError as error:
        cycle = " -> ".join(error.args[1][::-1])
        message = f"The steps depend on each other: {cycle}. Remove one of these dependencies."
        raise ValidationFailed.of("/plan/steps", "cycle", message) from None
