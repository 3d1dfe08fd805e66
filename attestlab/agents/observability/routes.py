"""HTTP routes of agents' events and their figures (CONTRACT 11.12)."""

from functools import partial

from attestlab.agents.access import OWN_WRITERS, READERS
from attestlab.agents.observability.bulk import AgentEventRecording
from attestlab.agents.observability.rendering import render_metrics
from attestlab.agents.observability.service import AgentEvents
from attestlab.agents.observability.shapes import AgentEventIn, AgentMetricsOut, AgentMetricsQuery, ReportedEventOut
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound, PermissionDenied
from attestlab.orgs.rules import Caller
from attestlab.risk.rendering import render_bulk
from attestlab.risk.signals.bulk_requests import BULK_LIMIT_BYTES, record_lines
from attestlab.risk.signals.shapes import BulkOut
from attestlab.web.executor import Executor
from attestlab.web.request import Request
from attestlab.web.routing.routes import Routes

routes = Routes("agents")


@routes.post("/v1/observability/events", scope=OWN_WRITERS, status=202, raises=(NotFound, PermissionDenied))
def report_agent_event(body: AgentEventIn, tx: Transaction, caller: Caller, events: AgentEvents) -> ReportedEventOut:
    """Report what an agent did, how it ended and how long it took.

    An agent's own session reports its own events without any scope; they count in its figures, and nowhere in its
    trust score. A burst of events, or errors in half of them, becomes a risk signal.
    """
    return ReportedEventOut(event_id=events.report(body, caller=caller, tx=tx))


@routes.post("/v1/observability/events/bulk", scope=OWN_WRITERS, ndjson=True, body_limit=BULK_LIMIT_BYTES)
async def report_agent_events(
    request: Request, caller: Caller, bulk: AgentEventRecording, executor: Executor
) -> BulkOut:
    """Report many events, one a line; a line that is no event is reported and the others are recorded.

    The body is NDJSON of up to 50 MiB and 700,000 lines, each as the body of `POST /v1/observability/events`. With an
    Idempotency-Key a broken request can be sent again and continues where it ended.
    """
    recorded = await record_lines(request, bulk, caller=caller, executor=executor)
    return render_bulk(recorded.lines, recorded.accepted)


@routes.get("/v1/observability/metrics", scope=READERS, raises=(NotFound,))
async def get_agent_metrics(
    query: AgentMetricsQuery, caller: Caller, events: AgentEvents, executor: Executor
) -> AgentMetricsOut:
    """Get the figures of agents' events: counts by type, errors, percentiles of latencies, and buckets of time.

    They count events by when they happened, and have each event that was accepted before the request.
    """
    return render_metrics(await executor.run_in_thread(partial(events.metrics, query, caller=caller)))
