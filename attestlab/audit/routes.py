"""The HTTP door of the trail."""

import json
from collections.abc import Sequence
from functools import partial

from attestlab.audit import store
from attestlab.audit.shapes import AuditEventOut, TrailQuery
from attestlab.core.db.transaction import AnyRow
from attestlab.orgs.rules import Scope
from attestlab.web.paging import Page, number_in, page_of
from attestlab.web.request import Request
from attestlab.web.routing.routes import Limit, Routes

routes = Routes("audit")
_LIST = "audit"


@routes.get("/v1/audit/events", scope=Scope.AUDIT_READ, limit=Limit("audit", 30, 60))
async def list_events(request: Request, query: TrailQuery) -> Page[AuditEventOut]:
    """The tenant's audit trail, newest first: who did, or tried, what."""
    names = ("actor_id", "action", "resource_type", "resource_id", "outcome")
    wanted = store.AuditFilter(
        tenant_id=request.caller.tenant_id,
        equal={name: getattr(query, name) for name in names},
        since=query.since,
        until=query.until,
        before=number_in(_LIST, query.cursor),
    )
    found = await request.site.aside(
        partial(_found, request, wanted, query.limit + 1)
    )  # a filter may pass over many lines
    shown, cursor = page_of(found, limit=query.limit, kind=_LIST, position=lambda row: [row.seq])
    return Page[AuditEventOut](items=[_event(row) for row in shown], next_cursor=cursor)


def _found(request: Request, wanted: store.AuditFilter, limit: int) -> Sequence[AnyRow]:
    with request.lab.storage.read() as connection:
        return store.page(connection, wanted, limit=limit)


def _event(row: AnyRow) -> AuditEventOut:
    """A line as its record says it: what the hash covers is what goes out."""
    return AuditEventOut(
        **json.loads(row.record), integrity_hash=row.integrity_hash.hex(), prev_hash=row.prev_hash.hex()
    )
