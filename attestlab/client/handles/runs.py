"""Runs of agents: what they planned, the steps that they recorded, and the proof that anyone can verify."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import ClassVar, TypedDict, Unpack
from uuid import UUID

from attestlab.agents.proof_shapes import AgentKeyProofOut
from attestlab.agents.runs.bundle import RunBundle, RunReport, verify_run_bundle
from attestlab.agents.runs.rules import join_outputs
from attestlab.agents.runs.shapes import ProvenStepOut, RunOut, RunProofOut, RunStepOut, RunSummaryOut
from attestlab.client import agent_cards, arguments
from attestlab.client.analysis.records import Records
from attestlab.client.file_replacement import save_document
from attestlab.client.handles.agent_arguments import read_agent_id
from attestlab.client.handles.agents import AgentLike
from attestlab.client.handles.base import Handle
from attestlab.client.handles.bundles import read_trust
from attestlab.client.handles.delegations import read_signing_input
from attestlab.client.own_keys import OwnKey, require_key
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.core.errors import ValidationFailed
from attestlab.log.note.trust_policy import TrustPolicy

RUNS = "/v1/orchestrations"
DEFAULT_STEP_TYPE = "task"
MAX_NAME_LENGTH = 200  # characters, of the name of a run


class RunOptions(TypedDict, total=False):
    """The optional parts of a run (docs/runs.md)."""

    name: str
    metadata: Mapping[str, object]


class RunStepOptions(TypedDict, total=False):
    """The optional parts of a step: which agent did it, and how long it took in milliseconds."""

    agent: AgentLike
    latency_ms: int


class RunStepHandle(RunStepOut, Handle):
    """A step of a run, as it is now."""

    shown_fields: ClassVar = ("step_id", "status", "agent_id", "chain_ok")

    def _repr_html_(self) -> str:
        return agent_cards.draw_run_step(self)


class RunDetailsHandle(RunOut, Handle):
    """A run with its plan and its steps as they were when it was read; `steps.df()` has a row for each."""

    shown_fields: ClassVar = ("orchestration_id", "name", "status", "chain_ok", "planned_steps", "recorded_steps")

    steps: Records[RunStepOut]

    def _repr_html_(self) -> str:
        return agent_cards.draw_run(self)


class RunProofHandle(RunProofOut, Handle):
    """What anyone needs to verify a run without the service."""

    shown_fields: ClassVar = ("format", "orchestration_id", "status", "run_hash")

    steps: Records[ProvenStepOut]
    keys: Records[AgentKeyProofOut]

    def verify(self, *, trust: TrustPolicy | str | None = None) -> RunReport:
        """Verify the run in this process.

        Args:
            trust: the pinned log and witnesses, as C2SP tlog-policy text or parsed; by default the key that the
                service itself publishes, which proves that both agree, not that the service is honest.

        Returns:
            The report: `verdict`, `reason`, and the steps that took other inputs than they depend on.

        Raises:
            ValidationFailed: the trust policy cannot be read.

        >>> run = lab.runs.start(lab.agents.register("Sorter"), ["sort"])
        >>> done = run.step("sort", inputs=b"b a", outputs=b"a b")
        >>> str(run.complete().proof().verify(trust=lab.log.vkey().trust_policy).verdict)
        'VALID'
        """
        return verify_run_bundle(RunBundle.parse(self.to_dict()), trust=read_trust(self._client, trust))

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the proof as a JSON file, for `attestlab verify`; returns its path.

        Args:
            path: of the file, which is replaced.

        Raises:
            ValidationFailed: it cannot be written.

        >>> run = lab.runs.start(lab.agents.register("Packer"), ["pack"])
        >>> run.complete("canceled").proof().save("run.json").name
        'run.json'
        """
        return save_document(path, self.to_dict())


class RunHandle(RunSummaryOut, Handle):
    """A run of an agent: a plan whose steps agents record, which ends as an entry of the public log."""

    shown_fields: ClassVar = ("orchestration_id", "name", "status", "chain_ok", "planned_steps", "recorded_steps")

    @property
    def id(self) -> UUID:
        """The id of the run."""
        return self.orchestration_id

    def _repr_html_(self) -> str:
        return agent_cards.draw_run(self)

    def details(self) -> RunDetailsHandle:
        """Read the run as it is now, with its plan and its steps.

        Returns:
            The run; `steps.df()` has a row for each step of the plan.

        >>> run = lab.runs.start(lab.agents.register("Fetcher"), ["fetch", "count"])
        >>> [(step.step_id, step.depends_on, step.status) for step in run.details().steps]
        [('fetch', [], 'open'), ('count', ['fetch'], 'open')]
        """
        return fetch_run(self._client, self.id)

    def step(
        self,
        step_id: str,
        *,
        outputs: bytes | str,
        inputs: bytes | str | None = None,
        status: str = "completed",
        key: OwnKey | None = None,
        **options: Unpack[RunStepOptions],
    ) -> RunStepHandle:
        """Record a step, once; `lab.runs.step` explains the arguments and errors.

        >>> run = lab.runs.start(lab.agents.register("Adder"), ["read", "add"])
        >>> read = run.step("read", inputs=b"1 2", outputs=b"[1, 2]")
        >>> run.step("add", outputs=b"3").chain_ok
        True
        """
        return record_step(self._client, self.id, step_id, (inputs, outputs), status, options, key)

    def complete(self, status: str = "completed") -> RunHandle:
        """End the run; `lab.runs.complete` explains the arguments and errors.

        >>> run = lab.runs.start(lab.agents.register("Closer"), ["close"])
        >>> run.complete("failed").status
        'failed'
        """
        return end_run(self._client, self.id, status)

    def proof(self) -> RunProofHandle:
        """Fetch what anyone needs to verify the run that ended; `lab.runs.proof` explains the errors.

        Returns:
            The proof of the run, its steps and their keys.

        >>> lab.runs.start(lab.agents.register("Idler"), ["idle"]).complete("canceled").proof().status
        'canceled'
        """
        return fetch_run_proof(self._client, self.id)


RunLike = UUID | str | RunHandle
Steps = Iterable[str | Mapping[str, object]]


def start_run(client: ServiceClient, agent: AgentLike, steps: Steps, options: Mapping[str, object]) -> RunHandle:
    """Start a run of an agent."""
    planned = _read_steps(steps)
    names = ", ".join(str(each.get("id")) for each in planned)[:MAX_NAME_LENGTH]
    named = {name: value for name, value in options.items() if value is not None}
    body = {"name": names, **named, "agent_id": str(read_agent_id(agent)), "plan": {"steps": planned}}
    return RunHandle.parse(client, client.post(RUNS, body))


def fetch_run(client: ServiceClient, run_id: UUID) -> RunDetailsHandle:
    """Fetch a run with its plan and steps."""
    return RunDetailsHandle.parse(client, client.get(f"{RUNS}{path_of(run_id)}"))


def end_run(client: ServiceClient, run_id: UUID, status: str) -> RunHandle:
    """End a run."""
    body = {"status": arguments.read_text(status, name="status")}
    return RunHandle.parse(client, client.post(f"{RUNS}{path_of(run_id, 'complete')}", body))


def fetch_run_proof(client: ServiceClient, run_id: UUID) -> RunProofHandle:
    """Fetch the proof of a run that ended."""
    return RunProofHandle.parse(client, client.get(f"{RUNS}{path_of(run_id, 'proof-bundle')}"))


def record_step(
    client: ServiceClient,
    run_id: UUID,
    step_id: str,
    data: tuple[bytes | str | None, bytes | str],
    status: str,
    options: Mapping[str, object],
    key: OwnKey | None,
) -> RunStepHandle:
    """Record a step; with the agent's own key in two requests, and one more to read what it depends on."""
    name, holder = arguments.read_text(step_id, name="step_id"), None if key is None else require_key(key)
    body: dict[str, object] = {"step_id": name, "status": arguments.read_text(status, name="status")}
    body |= _read_step_options(options)
    body["outputs_hash"] = _read_hash(data[1], name="outputs")
    body["inputs_hash"] = _find_inputs(client, run_id, name) if data[0] is None else _read_hash(data[0], name="inputs")
    path = f"{RUNS}{path_of(run_id, 'steps')}"
    try:
        return RunStepHandle.parse(client, client.post(path, body))
    except ValidationFailed as error:
        asks = read_signing_input(error, holder)
    said = {member: str(body[member]) for member in ("step_id", "inputs_hash", "outputs_hash", "status")}
    body["signature"] = asks.key.sign_run_step(asks.signing_input, orchestration_id=run_id, **said)
    return RunStepHandle.parse(client, client.post(path, body))


def _read_step_options(options: Mapping[str, object]) -> dict[str, object]:
    """Read the optional parts of a step; the agent is sent by its id."""
    sent = {name: value for name, value in options.items() if value is not None}
    agent = sent.pop("agent", None)
    return sent if agent is None else {**sent, "agent_id": str(read_agent_id(agent))}


def _read_steps(steps: object) -> list[dict[str, object]]:
    """Read a plan: a text is a step that depends on the one before it, a mapping is a step as it stands.

    Raises:
        ValidationFailed: it is no list of these.
    """
    planned: list[dict[str, object]] = []
    for each in arguments.iterate(steps, name="steps", of="ids of steps, or mappings"):
        if isinstance(each, Mapping):
            planned.append({"type": DEFAULT_STEP_TYPE, **arguments.read_mapping(each, name="a step")})
        else:
            before = [planned[-1]["id"]] if planned and "id" in planned[-1] else []
            step_id = arguments.read_text(each, name="the id of a step")
            planned.append({"id": step_id, "type": DEFAULT_STEP_TYPE, "depends_on": before})
    return planned


def _read_hash(data: object, *, name: str) -> str:
    """Read the SHA-256 of data: of bytes it is computed here, a text has its 64 hex digits."""
    if isinstance(data, bytes | bytearray):
        return sha256(data).hexdigest()
    return arguments.read_text(data, name=name)


def _find_inputs(client: ServiceClient, run_id: UUID, step_id: str) -> str:
    """Find what a step takes: what the steps that it depends on put out.

    Raises:
        ValidationFailed: it depends on none, so that only its agent knows.
    """
    steps = {step.step_id: step for step in fetch_run(client, run_id).steps}
    known = [steps[each].outputs_hash or "" for each in steps[step_id].depends_on] if step_id in steps else []
    if not known:
        raise ValidationFailed(f"The step {arguments.show(step_id)} depends on no other step. Pass its inputs.")
    return join_outputs(known)
