"""HTTP routes of risk that need no module of their own, in the order of the API."""

from functools import partial

from attestlab.core.db.transaction import Transaction
from attestlab.orgs.rules import Caller, Scope
from attestlab.risk.activity.service import Activity
from attestlab.risk.activity.shapes import DriftOut, DriftQuery, SourceOut
from attestlab.risk.rules import Entity, settle_time
from attestlab.risk.shapes import FactorOut, VelocityIn, VelocityOut
from attestlab.risk.velocity import Velocity
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, PageQuery, decode_position, split_page
from attestlab.web.request import Request
from attestlab.web.routing.routes import Routes

routes = Routes("risk")
_SOURCES = "risk_sources"


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


@routes.get("/v1/risk/sources", scope=Scope.RISK_READ)
async def list_risk_sources(
    query: PageQuery, caller: Caller, activity: Activity, executor: Executor
) -> Page[SourceOut]:
    """List the sources of the tenant's signals by name, each with its rhythm and whether it is silent.

    A source is silent when it has sent nothing for much longer than its usual gap.
    """
    after = None if query.cursor is None else str(decode_position(_SOURCES, query.cursor)[0])
    found = await executor.run_in_thread(partial(activity.sources, caller=caller, after=after, limit=query.limit + 1))
    shown, cursor = split_page(found, limit=query.limit, kind=_SOURCES, position=lambda each: [each.source.source])
    return Page[SourceOut](items=[SourceOut.of(each) for each in shown], next_cursor=cursor)


@routes.get("/v1/risk/drift", scope=Scope.RISK_READ)
async def get_risk_drift(query: DriftQuery, caller: Caller, activity: Activity, executor: Executor) -> DriftOut:
    """Compare the scores of each source and type with those of the window of equal length before.

    The measure is the population stability index (PSI) over tens of the score; the strongest drift comes
    first.
    """
    return DriftOut.of(await executor.run_in_thread(partial(activity.drift, query.since, query.until, caller=caller)))
