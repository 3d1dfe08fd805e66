"""HTTP routes of risk that need no module of their own, in the order of the API."""

from attestlab.core.db.transaction import Transaction
from attestlab.orgs.rules import Caller, Scope
from attestlab.risk.rules import Entity, settle_time
from attestlab.risk.shapes import FactorOut, VelocityIn, VelocityOut
from attestlab.risk.velocity import Velocity
from attestlab.web.request import Request
from attestlab.web.routing.routes import Routes

routes = Routes("risk")


@routes.post("/v1/risk/velocity/record", scope=Scope.RISK_WRITE)
def record_velocity(
    request: Request, body: VelocityIn, caller: Caller, velocity: Velocity, tx: Transaction
) -> VelocityOut:
    """Count an occurrence of an action, and score how often the entity did it in the last minute, hour and day.

    The windows slide and follow `occurred_at`. Each count is exact up to 1,000, and stays there; no score needs
    more. From a score of 60 on it becomes a signal.
    """
    entity = Entity.of(body.entity_type, body.entity_id)
    occurred_at = settle_time(body.occurred_at, request.now)
    scored = velocity.record(entity, body.action, occurred_at=occurred_at, caller=caller, tx=tx)
    factors = [FactorOut.of(factor) for factor in scored.factors]
    return VelocityOut(score=scored.score, windows=dict(scored.windows), factors=factors, signal_id=scored.signal_id)
