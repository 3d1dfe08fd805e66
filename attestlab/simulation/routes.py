"""HTTP routes of simulations."""

from attestlab.issuers.shapes import JwksOut
from attestlab.policy.formats.toml import parse_body
from attestlab.policy.large_requests import encode_policy, has_large_policies, is_large, run_in_process
from attestlab.simulation import jobs, rendering
from attestlab.simulation.service import SimulationOptions, SimulationRun, Simulations
from attestlab.simulation.shapes import KeptReportOut, SimulateIn, SimulationOut
from attestlab.web.request import Request
from attestlab.web.routing.authorization import PUBLIC, Requirement
from attestlab.web.routing.routes import Routes

routes = Routes("policies")
_TENANT = Requirement(tenant_only=True)
_START_S = 10.0  # for a child process to start and to read the documents before its time limit begins


async def _run(request: Request, body: SimulateIn) -> SimulationRun:
    """Run the simulation, which takes seconds, without a lock; only storing its report waits for the writer.

    A disconnected client cancels it: a report is found only by its digest, which is in the response.
    """
    options: SimulationOptions = {
        "replaces": None if body.policy is None else body.policy_id,
        "start": body.from_,
        "end": body.to,
        "by": body.by,
        "sweep": [(each.rule_id, each.attribute, each.op) for each in body.sweep],
        "points": body.points,
        "counterfactual": body.counterfactual,
    }
    if is_large(request) or await has_large_policies(request):
        return await _run_in_process(request, body, options)
    policy = body.policy_id if body.policy is None else parse_body(body.policy)
    assert policy is not None  # `SimulateIn` requires a document or an id
    gone = request.disconnect_event()
    simulations: Simulations = request.lab.simulations
    run: SimulationRun = await request.application.run_in_thread(
        lambda: simulations.run(policy, is_cancelled=gone.is_set, caller=request.caller, **options)
    )
    return run


async def _run_in_process(request: Request, body: SimulateIn, options: SimulationOptions) -> SimulationRun:
    simulations: Simulations = request.lab.simulations
    limit_s, now = simulations.time_limit_s, request.lab.clock.now()
    with simulations.concurrency.acquire():
        arguments = (
            request.lab.lake.connection_info,
            encode_policy(body.policy or body.policy_id),
            options,
            limit_s,
            request.caller,
            now,
        )
        return await run_in_process(request, jobs.simulate, *arguments, timeout_s=limit_s + _START_S)


@routes.post("/v1/policies/simulate", scope=_TENANT, prepare=_run)
def simulate(request: Request, body: SimulateIn, prepared: SimulationRun) -> SimulationOut:
    """Simulate a policy over the tenant's past decisions; the report is stored, for an activation to name."""
    signed = request.lab.simulations.save(prepared.report, caller=request.caller)
    return rendering.render_simulation(signed, prepared)


@routes.get("/v1/policies/simulations/jwks.json", scope=PUBLIC)
def jwks(request: Request) -> JwksOut:
    """Return the key that signs simulation reports."""
    return JwksOut(keys=[request.lab.simulations.key.jwk()])


@routes.get("/v1/policies/simulations/{digest}", scope=_TENANT)
def report(request: Request, digest: str) -> KeptReportOut:
    """Return a stored report, signed."""
    return rendering.render_report(request.lab.simulations.get(digest, caller=request.caller))
