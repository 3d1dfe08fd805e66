"""The HTTP door of simulations."""

from typing import Any, NamedTuple

from attestlab.issuers.shapes import JwksOut
from attestlab.policy.formats.toml import document_in_body
from attestlab.policy.large_requests import has_large, in_process, is_large, sent
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
    beside: dict[str, Any]


async def _ran(request: Request, body: SimulateIn) -> SimulationRun:
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
    if is_large(request) or await has_large(request):
        return await _ran_in_process(request, body, options)
    policy = body.policy_id if body.policy is None else document_in_body(body.policy)
    gone = request.disconnected()
    found = await request.application.run_in_thread(
        lambda: request.lab.simulations.run(policy, given_up=gone.is_set, caller=request.caller, **options)
    )
    return SimulationRun(*found)


async def _ran_in_process(request: Request, body: SimulateIn, options: dict[str, Any]) -> SimulationRun:
    simulations: Simulations = request.lab.simulations
    limit_s, now = simulations.time_limit_s, request.lab.clock.now()
    with simulations.few.acquire():
        arguments = (request.lab.lake.place, sent(body.policy or body.policy_id), options, limit_s, request.caller, now)
        found = await in_process(request, jobs.simulate, *arguments, timeout_s=limit_s + _START_S)
    return SimulationRun(*found)


@routes.post("/v1/policies/simulate", scope=_TENANT, prepare=_ran)
def simulate(request: Request, body: SimulateIn, prepared: SimulationRun) -> SimulationOut:
    """Try a policy on the tenant's past decisions; the report is kept, for an activation to name."""
    kept = request.lab.simulations.keep(prepared.report, caller=request.caller)
    return rendering.simulated(kept, prepared.beside)


@routes.get("/v1/policies/simulations/jwks.json", scope=PUBLIC)
def jwks(request: Request) -> JwksOut:
    """The key that signs simulation reports."""
    return JwksOut(keys=[request.lab.simulations.key.jwk()])


@routes.get("/v1/policies/simulations/{digest}", scope=_TENANT)
def report(request: Request, digest: str) -> KeptReportOut:
    """A report that was kept, signed."""
    return rendering.report(request.lab.simulations.get(digest, caller=request.caller))
