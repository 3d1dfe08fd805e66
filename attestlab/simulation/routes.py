"""The HTTP door of simulations."""

from typing import Any, NamedTuple

from attestlab.issuers.shapes import JwksOut
from attestlab.policy.formats.toml import parse_body
from attestlab.policy.large_requests import encode_policy, has_large_policies, is_large, run_in_process
from attestlab.simulation import jobs, rendering
from attestlab.simulation.service import Simulations
from attestlab.simulation.shapes import KeptReportOut, SimulateIn, SimulationOut
from attestlab.web.request import Request
from attestlab.web.routing.authorization import PUBLIC, Requirement
from attestlab.web.routing.routes import Routes

routes = Routes("policies")
_TENANT = Requirement(tenant_only=True)
_START_S = 10.0  # in which a child process starts, and reads the documents before its time begins


class SimulationRun(NamedTuple):
    """A report that nobody has written down yet, and what is told beside it."""

    report: Any
    extras: dict[str, Any]


async def _run(request: Request, body: SimulateIn) -> SimulationRun:
    """A simulation takes seconds and holds no lock; the writer is waited for only to keep its report.

    Who goes away meanwhile ends it: a report is found by its digest alone, which stands in the answer.
    """
    options = {
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
    gone = request.disconnected()
    result = await request.application.run_in_thread(
        lambda: request.lab.simulations.run(policy, is_cancelled=gone.is_set, caller=request.caller, **options)
    )
    return SimulationRun(*result)


async def _run_in_process(request: Request, body: SimulateIn, options: dict[str, Any]) -> SimulationRun:
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
        result = await run_in_process(request, jobs.simulate, *arguments, timeout_s=limit_s + _START_S)
    return SimulationRun(*result)


@routes.post("/v1/policies/simulate", scope=_TENANT, prepare=_run)
def simulate(request: Request, body: SimulateIn, prepared: SimulationRun) -> SimulationOut:
    """Try a policy on the tenant's past decisions; the report is kept, for an activation to name."""
    signed = request.lab.simulations.save(prepared.report, caller=request.caller)
    return rendering.render_simulation(signed, prepared.extras)


@routes.get("/v1/policies/simulations/jwks.json", scope=PUBLIC)
def jwks(request: Request) -> JwksOut:
    """The key that signs simulation reports."""
    return JwksOut(keys=[request.lab.simulations.key.jwk()])


@routes.get("/v1/policies/simulations/{digest}", scope=_TENANT)
def report(request: Request, digest: str) -> KeptReportOut:
    """A report that was kept, signed."""
    return rendering.render_report(request.lab.simulations.get(digest, caller=request.caller))
