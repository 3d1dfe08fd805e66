"""`lab.runs`: the ledger of what agents planned and did, which executes nothing."""

from __future__ import annotations

from typing import Unpack

from attestlab.agents.runs.shapes import RunsQuery
from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.analysis.rows import Rows
from attestlab.client.collections.base import Collection
from attestlab.client.collections.filters import RunFilterArgs
from attestlab.client.handles.agents import AgentLike
from attestlab.client.handles.runs import (
    RUNS,
    RunDetailsHandle,
    RunHandle,
    RunLike,
    RunOptions,
    RunProofHandle,
    RunStepHandle,
    RunStepOptions,
    Steps,
    end_run,
    fetch_run,
    fetch_run_proof,
    record_step,
    start_run,
)
from attestlab.client.own_examples import name_in_examples
from attestlab.client.own_keys import OwnKey
from attestlab.client.service_client import ServiceClient


@name_in_examples("runs")
class RunCollection(Collection[RunHandle]):
    """The tenant's runs of agents, newest first; recorded steps of all runs are rows: `lab.runs.steps.df()`."""

    noun = "a run"
    path = RUNS
    query = RunsQuery

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, RunHandle)

    @property
    def steps(self) -> Rows:
        """The data set `run_steps`: each recorded step with its run and what the plan has of it.

        >>> run = lab.runs.start(lab.agents.register("Grinder"), ["grind"])
        >>> step = run.step("grind", inputs=b"beans", outputs=b"powder")
        >>> str(run.id) in set(lab.runs.steps.df()["orchestration_id"])
        True
        """
        return Rows.of_dataset(self._client, "run_steps")

    def list(self, *, limit: int | None = None, **filters: Unpack[RunFilterArgs]) -> Listing[RunHandle]:
        """List the runs that match all filters, newest first.

        Args:
            limit: how many at most; all by default.
            filters: `status` is `running`, `completed`, `failed` or `canceled`; `agent_id` is the UUID of the agent
                whose runs they are.

        Returns:
            The runs, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value.

        >>> baker = lab.agents.register("Baker")
        >>> run = lab.runs.start(baker, ["knead", "bake"])
        >>> [each.name for each in lab.runs.list(agent_id=baker.id, status="running")]
        ['knead, bake']
        """
        return self._list(limit, filters)

    def start(self, agent: AgentLike, steps: Steps, **options: Unpack[RunOptions]) -> RunHandle:
        """Start a run of an agent: a plan of 1 to 100 steps.

        Args:
            agent: the agent whose run it is: the agent, its UUID or its maip id.
            steps: a text is the id of a step that depends on the one before it; a mapping has `id`, and may have
                `type`, `depends_on` and `agent_id` (CONTRACT 11.12).
            options: `name`, at most 200 characters, by default the ids of the steps; `metadata`, an object of at most
                16 KB.

        Returns:
            The run, which is running.

        Raises:
            NotFound: the tenant has no such agent.
            PermissionDenied: the caller is another agent.
            Conflict: the agent is not active.
            ValidationFailed: an argument is not acceptable, such as steps that depend on each other in a circle.

        >>> run = lab.runs.start(lab.agents.register("Reader of bills"), ["read", "sum"], name="Bills of November")
        >>> run.status, run.planned_steps
        ('running', 2)
        """
        return start_run(self._client, agent, steps, options)

    def details(self, run: RunLike) -> RunDetailsHandle:
        """Read a run as it is now, with its plan and its steps.

        Args:
            run: the run or its id.

        Returns:
            The run; `steps.df()` has a row for each step of the plan.

        Raises:
            NotFound: the tenant has no such run.

        >>> run = lab.runs.start(lab.agents.register("Washer"), ["wash"])
        >>> lab.runs.details(run).steps[0].status
        'open'
        """
        return fetch_run(self._client, arguments.read_id(run, self.noun))

    def step(
        self,
        run: RunLike,
        step_id: str,
        *,
        outputs: bytes | str,
        inputs: bytes | str | None = None,
        status: str = "completed",
        key: OwnKey | None = None,
        **options: Unpack[RunStepOptions],
    ) -> RunStepHandle:
        """Record a step of a run, once, after the steps that it depends on.

        Args:
            run: the run or its id.
            step_id: the step of the plan.
            outputs: what the step put out. Bytes are hashed here, and nothing of them is sent; a text is their
                SHA-256 in 64 hex digits.
            inputs: what it took, in the same way; by default what the steps that it depends on put out.
            status: `completed`, `failed` or `skipped`.
            key: the agent's own key, if its holder keeps it; it signs in this process.
            options: `agent`, which did it, the run's or one below it, by default the one that the plan names, else the
                run's; `latency_ms`, how long it took.

        Returns:
            The step; `chain_ok` says whether it took what its dependencies put out.

        Raises:
            NotFound: the tenant has no such run, or the run no such step.
            PermissionDenied: the agent is neither the run's nor below it, or the caller is another agent.
            Conflict: the step is recorded, a step that it depends on is open, or the run ended.
            ValidationFailed: an argument is not acceptable, or `key` or `inputs` is missing.
            ServiceFailed: the service wants another step signed than this one.

        >>> run = lab.runs.start(lab.agents.register("Drier"), ["dry"])
        >>> lab.runs.step(run, "dry", inputs=b"wet", outputs=b"dry", latency_ms=40).status
        'completed'
        """
        run_id = arguments.read_id(run, self.noun)
        return record_step(self._client, run_id, step_id, (inputs, outputs), status, options, key)

    def complete(self, run: RunLike, status: str = "completed") -> RunHandle:
        """End a run: its hash becomes an entry of the public log.

        Args:
            run: the run or its id.
            status: `completed`; with open steps `failed` or `canceled`.

        Returns:
            The run with `run_hash` and `log_index`.

        Raises:
            NotFound: the tenant has no such run.
            PermissionDenied: the caller is another agent.
            Conflict: the run ended before, or has open steps.
            ValidationFailed: there is no such status.

        >>> run = lab.runs.start(lab.agents.register("Folder"), ["fold"])
        >>> lab.runs.complete(run, "canceled").log_index > 0
        True
        """
        return end_run(self._client, arguments.read_id(run, self.noun), status)

    def proof(self, run: RunLike) -> RunProofHandle:
        """Fetch what anyone needs to verify a run that ended, without the service.

        Args:
            run: the run or its id.

        Returns:
            The proof; `verify` checks it here, and `save` writes it for `attestlab verify`.

        Raises:
            NotFound: the tenant has no such run.
            Conflict: the run has not ended.

        >>> run = lab.runs.start(lab.agents.register("Ironer"), ["iron"])
        >>> lab.runs.proof(run.complete("canceled")).format
        'attestlab-run/1'
        """
        return fetch_run_proof(self._client, arguments.read_id(run, self.noun))
