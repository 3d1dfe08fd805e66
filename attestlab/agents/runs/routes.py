"""HTTP routes of runs (CONTRACT 11.12)."""

from uuid import UUID

from attestlab.agents.access import OWN_WRITERS, READERS, WRITERS
from attestlab.agents.runs.rendering import render_proof, render_run, render_step, render_summary
from attestlab.agents.runs.service import Runs
from attestlab.agents.runs.shapes import (
    RunCompleteIn,
    RunIn,
    RunOut,
    RunProofOut,
    RunsQuery,
    RunStepIn,
    RunStepOut,
    RunSummaryOut,
)
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound, PermissionDenied
from attestlab.orgs.rules import Caller
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.routing.routes import Routes

routes = Routes("agents")
_LIST = "runs"


@routes.post(
    "/v1/orchestrations",
    scope=WRITERS,
    status=201,
    headers=("Location",),
    raises=(Conflict, NotFound, PermissionDenied),
)
def start_run(request: Request, body: RunIn, tx: Transaction, caller: Caller, runs: Runs) -> RunOut:
    """Start a run of an agent: a plan of 1-100 steps that depend on each other, without a cycle.

    The service executes nothing; it records what agents say that they did.
    """
    found = runs.start(body, caller=caller, tx=tx)
    request.respond_headers["Location"] = f"/v1/orchestrations/{found.row.id}"
    return render_run(found)


@routes.get("/v1/orchestrations", scope=READERS)
def list_runs(query: RunsQuery, caller: Caller, runs: Runs) -> Page[RunSummaryOut]:
    """List the tenant's runs without their plans and steps, newest first.

    `chain_ok` says whether each recorded step took what its dependencies put out.
    """
    before = decode_id(_LIST, query.cursor)
    found = runs.page(query, caller=caller, before=before, limit=query.limit + 1)
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda row: [str(row.id)])
    return Page[RunSummaryOut](items=[render_summary(row) for row in shown], next_cursor=cursor)


@routes.get("/v1/orchestrations/{id}", scope=READERS)
def get_run(id: UUID, caller: Caller, runs: Runs) -> RunOut:
    """Get a run with its plan and its steps, as they are now.

    Steps that no agent has recorded are `open`.
    """
    return render_run(runs.get(id, caller=caller))


@routes.post(
    "/v1/orchestrations/{id}/steps", scope=OWN_WRITERS, status=201, raises=(Conflict, NotFound, PermissionDenied)
)
def record_run_step(id: UUID, body: RunStepIn, tx: Transaction, caller: Caller, runs: Runs) -> RunStepOut:
    """Record a step of a run, once, after the steps that it depends on, as the run's agent or one below it.

    The step is a JWS of the type `agent-step+jwt`. If the key is the agent's own, a first call answers 400 with what
    to sign, and a second one takes the signature. An agent's own session records its own steps without any scope.
    """
    return render_step(runs.record(id, body, caller=caller, tx=tx))


@routes.post("/v1/orchestrations/{id}/complete", scope=WRITERS, raises=(Conflict, PermissionDenied))
def complete_run(id: UUID, body: RunCompleteIn, tx: Transaction, caller: Caller, runs: Runs) -> RunOut:
    """End a run: its hash becomes an entry of the public log, and nothing of it changes afterwards.

    With open steps it ends as failed or canceled. The event `run.completed` reports it once.
    """
    return render_run(runs.complete(id, body, caller=caller, tx=tx))


@routes.get("/v1/orchestrations/{id}/proof-bundle", scope=READERS, raises=(Conflict,))
async def get_run_proof(id: UUID, caller: Caller, runs: Runs, executor: Executor) -> RunProofOut:
    """Get what anyone needs to verify a run that ended without this service: `attestlab verify` reads it.

    It has each step as its agent signed it, the keys with their entries of the log, and the entry of the run's hash.
    """
    return render_proof(await executor.read(lambda: runs.prove(id, caller=caller)))
