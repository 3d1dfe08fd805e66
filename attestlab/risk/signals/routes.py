"""HTTP routes of risk signals."""

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.core.shapes import In
from attestlab.orgs.rules import Caller, Scope
from attestlab.risk.rendering import FORMATS, render_bulk, render_recorded_signal, render_signal
from attestlab.risk.rules import Entity, ScoreScale, resolve_occurrence, to_percent
from attestlab.risk.signals.bulk import SignalRecording
from attestlab.risk.signals.bulk_requests import BULK_LIMIT_BYTES, record_lines
from attestlab.risk.signals.members import encode_details
from attestlab.risk.signals.recording import NewSignal
from attestlab.risk.signals.service import Signals
from attestlab.risk.signals.shapes import (
    BulkOut,
    ExportQuery,
    RecordedSignalOut,
    SignalIn,
    SignalOut,
    SignalsQuery,
)
from attestlab.web.executor import Executor
from attestlab.web.file_streams import stream_file
from attestlab.web.paging import Page, decode_number, split_page
from attestlab.web.request import Request
from attestlab.web.response import JSON, StreamedResponse
from attestlab.web.routing.routes import Routes

routes = Routes("risk")
_LIST = "risk_signals"
_EXPORTED_TYPES = {"text/csv": str, JSON: list[SignalOut], "application/vnd.apache.parquet": bytes}


class BulkQuery(In, wire_name="risk_bulk_query", source="CONTRACT 8"):
    """`backfill=true` records history: it publishes no event and escalates nothing."""

    backfill: bool = False
    """Records history: no event is published and nothing is escalated. Format: true or false."""


@routes.post("/v1/risk/signals", scope=Scope.RISK_WRITE, status=201, headers=("Location",))
def create_risk_signal(
    request: Request, body: SignalIn, caller: Caller, signals: Signals, tx: Transaction
) -> RecordedSignalOut:
    """Record a risk signal about one entity.

    A score at or above the tenant's threshold escalates the signal: it opens a case of the entity, or joins
    the open one.
    """
    new = NewSignal(
        source=body.source,
        signal_type=body.signal_type,
        score=to_percent(body.score, ScoreScale(body.score_scale)),
        entity=Entity.of_sent(body.entity_type, body.entity_id),
        details=encode_details(body.details),
        occurred_at=resolve_occurrence(body.occurred_at, request.now),
    )
    record = signals.add(new, caller=caller, tx=tx)
    request.respond_headers["Location"] = f"/v1/risk/signals/{record.id}"
    highest = {} if body.score_scale == "unit" else {record.source: record.score}
    warnings = signals.warn_about_scale(highest, caller=caller, tx=tx)
    return render_recorded_signal(record, warnings=warnings)


@routes.post("/v1/risk/signals/bulk", scope=Scope.RISK_WRITE, ndjson=True, body_limit=BULK_LIMIT_BYTES)
async def record_risk_signals(
    request: Request, query: BulkQuery, caller: Caller, bulk: SignalRecording, signals: Signals, executor: Executor
) -> BulkOut:
    """Record many signals, one a line; a line that is no signal is reported and the others are recorded.

    The body is NDJSON of up to 50 MiB and 700,000 lines, each as the body of `POST /v1/risk/signals`. With an
    Idempotency-Key a broken request can be sent again and continues where it ended.
    """
    highest: dict[str, float] = {}

    def note_scores(batch: Sequence[NewSignal]) -> None:
        for each in batch:
            highest[each.source] = max(each.score, highest.get(each.source, 0))

    recorded = await record_lines(
        request, bulk, caller=caller, executor=executor, is_backfill=query.backfill, on_batch=note_scores
    )
    warn = partial(signals.warn_about_scale, highest, caller=caller)
    return render_bulk(recorded.lines, recorded.accepted, await executor.run_in_thread(warn))


@routes.get("/v1/risk/signals", scope=Scope.RISK_READ)
async def list_risk_signals(
    query: SignalsQuery, caller: Caller, signals: Signals, executor: Executor
) -> Page[SignalOut]:
    """List the tenant's signals, newest first.

    Filters are combined; each filter of the entity has two names, of which one is sent.
    """
    read_page = partial(
        signals.page,
        query,
        caller=caller,
        before=decode_number(_LIST, query.cursor),
        limit=query.limit + 1,
    )
    found = await executor.run_in_thread(read_page)  # in a thread, because a filter may skip many signals
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda row: [row.seq])
    return Page[SignalOut](items=[render_signal(row) for row in shown], next_cursor=cursor)


@routes.get(
    "/v1/risk/signals/export", scope=Scope.RISK_READ, produces=_EXPORTED_TYPES, headers=("Content-Disposition",)
)
async def export_risk_signals(
    request: Request, query: ExportQuery, caller: Caller, signals: Signals, executor: Executor
) -> StreamedResponse:
    """Export signals as a file with the rows of the list, newest first; it is streamed.

    The formats are CSV, Parquet and JSON. An error in a later part breaks the connection off, so a complete
    file is a complete export.
    """
    file_format = FORMATS["csv with bom" if query.bom else query.format]
    parts = signals.export(query, file_format, caller=caller)
    name = f"risk-signals-{request.now:%Y%m%dT%H%M%SZ}.{query.format}"
    return await stream_file(parts, file_format.content_type, name, executor=executor)


@routes.get("/v1/risk/signals/{id}", scope=Scope.RISK_READ)
def get_risk_signal(id: UUID, caller: Caller, signals: Signals) -> SignalOut:
    """Get a signal.

    `case_id` is the case that it opened or joined, `event_id` the raw event that it was made from.
    """
    return render_signal(signals.get(id, caller=caller))
