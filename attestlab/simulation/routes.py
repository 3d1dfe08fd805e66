"""HTTP routes of simulations."""

from functools import partial

from attestlab.core.clock import Clock
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.issuers.shapes import JwksOut
from attestlab.lake.service import Lake
from attestlab.orgs.rules import Caller, Scope
from attestlab.policy.formats.toml import parse_body_or_id
from attestlab.policy.large_requests import PolicyProcesses, encode_policy
from attestlab.simulation import jobs, rendering
from attestlab.simulation.service import SimulationRun, Simulations
from attestlab.simulation.shapes import KeptReportOut, SimulateIn, SimulationOut
from attestlab.web.executor import Executor
from attestlab.web.request import Request
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("policies")


async def _run(
    request: Request,
    body: SimulateIn,
    caller: Caller,
    simulations: Simulations,
    lake: Lake,
    clock: Clock,
    processes: PolicyProcesses,
    executor: Executor,
) -> SimulationRun:
    """Run the simulation, which takes seconds, without a lock; only storing its report waits for the writer.

    One of a long history, or of large policies, runs in a child process, in turn with others of the tenant.
    A disconnected client cancels it: a report is found only by its digest, which is in the response.
    """
    is_long = await executor.run_in_thread(simulations.has_long_history, caller)
    if is_long or await processes.is_needed(request, executor, caller):
        limit_s = simulations.time_limit_s
        policy = encode_policy(body.policy or body.policy_id)
        arguments = (lake.connection_info, policy, body.without_document(), limit_s, caller, clock.now())
        return await processes.run(request, caller, jobs.simulate, *arguments, timeout_s=limit_s + jobs.START_S)
    document = parse_body_or_id(body.policy, body.policy_id)
    gone = request.disconnect_event()
    run = partial(simulations.run, document, body, is_cancelled=gone.is_set, caller=caller)
    return await executor.run_in_thread(run)


@routes.post("/v1/policies/simulate", scope=Scope.POLICIES_READ, prepare=_run, raises=(NotFound,))
def simulate_policy(
    prepared: SimulationRun, tx: Transaction, caller: Caller, simulations: Simulations
) -> SimulationOut:
    """Simulate a policy over the tenant's past decisions; the report is stored, for an activation to name.

    First the recorded policies must reproduce their own decisions, then the draft is replayed. Transitions,
    flips by segment, reasons and examples are part of the signed report.
    """
    signed = simulations.save(prepared.report, caller=caller, tx=tx)
    return rendering.render_simulation(signed, prepared)


@routes.get("/v1/policies/simulations/jwks.json", scope=PUBLIC)
def get_simulation_jwks(simulations: Simulations) -> JwksOut:
    """Get the key that signs simulation reports.

    It is a JSON Web Key Set, for readers of a report who check its signature themselves.
    """
    return JwksOut(keys=[simulations.key.jwk()])


@routes.get("/v1/policies/simulations/{digest}", scope=Scope.POLICIES_READ)
def get_simulation_report(digest: str, caller: Caller, simulations: Simulations) -> KeptReportOut:
    """Get a stored report, signed.

    `report` is exactly what the digest and the signature cover, as canonical JSON.
    """
    return rendering.render_report(simulations.get(digest, caller=caller))
