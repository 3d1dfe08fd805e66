"""HTTP routes of raw events and mappings."""

from functools import partial

import orjson

from attestlab.core.counting import plural
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AttestLabError
from attestlab.core.row_rendering import RowRenderer
from attestlab.orgs.rules import Caller, Scope
from attestlab.risk.normalization.mapping import EventMapping, MappingItem
from attestlab.risk.normalization.service import EventPeriod, Normalization, RecordedEvent, RiskEventRecord
from attestlab.risk.normalization.shapes import (
    EventIn,
    EventOut,
    EventsQuery,
    MappingIn,
    MappingItemOut,
    MappingOut,
    NormalizedOut,
    NormalizeIn,
    NormalizeOut,
)
from attestlab.risk.rendering import render_signal
from attestlab.risk.rules import Entity, resolve_occurrence
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, decode_number, split_page
from attestlab.web.request import Request
from attestlab.web.routing.routes import Routes

routes = Routes("risk")
_LIST = "risk_events"
_render_event = RowRenderer(EventOut, RiskEventRecord, data=lambda row: orjson.loads(row.data))
_render_item = RowRenderer(MappingItemOut, MappingItem)
_render_mapping = RowRenderer(MappingOut, EventMapping, items=lambda mapping: list(map(_render_item, mapping.items)))
_render_normalized = RowRenderer(NormalizedOut, RecordedEvent, signal=lambda recorded: render_signal(recorded.signal))


@routes.post("/v1/risk/events", scope=Scope.RISK_WRITE)
def record_risk_event(
    request: Request, body: EventIn, caller: Caller, normalization: Normalization, tx: Transaction
) -> NormalizedOut:
    """Record a raw event; the tenant's mapping normalizes it to a signal.

    An event type without an item in the mapping becomes the type `behavior` with score 10, and `normalized`
    is false.
    """
    recorded = normalization.record(
        body.event_type,
        Entity.of_sent(body.entity_type, body.entity_id),
        data=body.data,
        occurred_at=resolve_occurrence(body.occurred_at, request.now),
        caller=caller,
        tx=tx,
    )
    return _render_normalized(recorded)


@routes.get("/v1/risk/events", scope=Scope.RISK_READ)
async def list_risk_events(
    query: EventsQuery, caller: Caller, normalization: Normalization, executor: Executor
) -> Page[EventOut]:
    """List the tenant's raw events, newest first.

    They are kept as they were sent, so that a later mapping can be applied to them.
    """
    before = decode_number(_LIST, query.cursor)
    read_page = partial(normalization.page, query, caller=caller, before=before, limit=query.limit + 1)
    found = await executor.run_in_thread(read_page)
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda row: [row.seq])
    return Page[EventOut](items=[_render_event(row) for row in shown], next_cursor=cursor)


@routes.post("/v1/risk/events/normalize", scope=Scope.RISK_WRITE)
async def normalize_risk_events(
    body: NormalizeIn, caller: Caller, normalization: Normalization, executor: Executor
) -> NormalizeOut:
    """Normalize raw events again with the present mapping; an event whose result changed becomes another signal.

    The new signal names the one that it replaces. Events of the period are handled in slices, between the
    writes of other requests; an error after some slices names how many events were normalized.
    """
    events = changed = 0
    after: int | None = -1
    try:
        while after is not None:
            period = EventPeriod(body.since, body.until, after)
            async with executor.bulk.piece():
                done = await executor.write(partial(normalization.normalize_slice, period, caller))
            events, changed, after = events + done.events, changed + done.changed, done.last
    except AttestLabError as error:
        if events:
            sentence = f"{plural(events, 'event')} had been normalized before; repeat it for the others."
            error.note_done(sentence, events=events, changed=changed)
        raise
    return NormalizeOut(events=events, changed=changed)


@routes.get("/v1/risk/mappings", scope=Scope.RISK_READ)
def get_risk_mapping(caller: Caller, normalization: Normalization) -> MappingOut:
    """Get the tenant's mapping of raw events to signals.

    Until the tenant replaces it, it is the platform's default.
    """
    return _render_mapping(normalization.get_mapping(caller=caller))


@routes.put("/v1/risk/mappings", scope=Scope.RISK_WRITE)
def replace_risk_mapping(body: MappingIn, caller: Caller, normalization: Normalization, tx: Transaction) -> MappingOut:
    """Replace the mapping by its next version; `POST /v1/risk/events/normalize` applies it to earlier events.

    The body has all items; what it leaves out is no longer mapped.
    """
    items = [MappingItem(item.event_type, item.signal_type, item.score) for item in body.items]
    return _render_mapping(normalization.replace_mapping(items, caller=caller, tx=tx))
