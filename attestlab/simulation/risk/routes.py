"""HTTP route of what-if over risk."""

import orjson

from attestlab.core.clock import Clock
from attestlab.core.errors import NotFound
from attestlab.orgs.rules import Caller, Scope
from attestlab.simulation.jobs import START_S
from attestlab.simulation.risk import jobs
from attestlab.simulation.risk.service import RiskSimulations
from attestlab.simulation.risk.shapes import RiskSimulationOut, SimulateRiskIn
from attestlab.web.request import Request
from attestlab.web.response import JSON, RawResponse
from attestlab.web.routing.routes import Routes

routes = Routes("risk")


@routes.post("/v1/risk/simulate", scope=Scope.RISK_READ, idempotency="none", raises=(NotFound,))
async def simulate_risk_rules(
    request: Request,
    body: SimulateRiskIn,
    caller: Caller,
    risk_simulations: RiskSimulations,
    clock: Clock,
) -> RiskSimulationOut | RawResponse:
    """Simulate rules over the tenant's past signals; the outcomes of cases are the labels. Nothing is stored.

    The response compares the rules with the tenant's escalation threshold on the same signals: confusion
    matrix, intervals, costs, flips and a gate.

    It runs in a child process, in turn with those of other tenants, and ends when the client disconnects.
    """
    limit_s = risk_simulations.time_limit_s
    rules = orjson.dumps([{"id": rule.id, "when": rule.when} for rule in body.rules])
    arguments = (risk_simulations.lake.connection_info, rules, body.without_rules(), limit_s, caller, clock.now())
    text = await risk_simulations.workers.run(
        caller.tenant_id,
        jobs.simulate_risk,
        *arguments,
        timeout_s=limit_s + START_S,
        on_disconnect=request.on_disconnect,
    )
    return RawResponse(text, JSON)
