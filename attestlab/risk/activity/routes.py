"""HTTP routes of activity: sources and drift."""

from functools import partial

from attestlab.orgs.rules import Caller, Scope
from attestlab.risk.activity.service import Activity
from attestlab.risk.activity.shapes import DriftOut, DriftQuery, SourceOut
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, PageQuery, decode_position, split_page
from attestlab.web.routing.routes import Routes

routes = Routes("risk")
_LIST = "risk_sources"


@routes.get("/v1/risk/sources", scope=Scope.RISK_READ)
async def list_risk_sources(
    query: PageQuery, caller: Caller, activity: Activity, executor: Executor
) -> Page[SourceOut]:
    """List the sources of the tenant's signals by name, each with its rhythm and whether it is silent.

    A source is silent when it has sent nothing for much longer than its usual gap.
    """
    after = None if query.cursor is None else str(decode_position(_LIST, query.cursor)[0])
    found = await executor.run_in_thread(partial(activity.sources, caller=caller, after=after, limit=query.limit + 1))
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda each: [each.source.source])
    return Page[SourceOut](items=[SourceOut.of(each) for each in shown], next_cursor=cursor)


@routes.get("/v1/risk/drift", scope=Scope.RISK_READ)
async def get_risk_drift(query: DriftQuery, caller: Caller, activity: Activity, executor: Executor) -> DriftOut:
    """Compare the scores of each source and type with those of the window of equal length before.

    The measure is the population stability index (PSI) over tens of the score; the strongest drift comes
    first.
    """
    return DriftOut.of(await executor.run_in_thread(partial(activity.drift, query.since, query.until, caller=caller)))
