"""HTTP routes for the audit trail."""

import json
from collections.abc import Sequence
from functools import partial
from uuid import UUID

from attestlab.audit import store
from attestlab.audit.shapes import AuditEventOut, TrailQuery
from attestlab.audit.store import ChainedAuditEvent
from attestlab.core.db.storage import Storage
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, decode_number, split_page
from attestlab.web.routing.routes import Limit, Routes

routes = Routes("audit")
_LIST = "audit"


@routes.get("/v1/audit/events", scope=Scope.AUDIT_READ, limit=Limit("audit", 30, 60))
async def list_audit_events(
    query: TrailQuery, caller: Caller, storage: Storage, executor: Executor
) -> Page[AuditEventOut]:
    """List the tenant's audit trail, newest first: actions and attempts, with their actors.

    The events form a hash chain: `prev_hash` is the integrity hash of the event before. Denied attempts are
    included.
    """
    # In a thread, because a filter may skip many events.
    list_events = partial(
        _list_events,
        storage,
        query,
        tenant_id=caller.tenant_id,
        before=decode_number(_LIST, query.cursor),
        limit=query.limit + 1,
    )
    rows = await executor.run_in_thread(list_events)
    page_rows, cursor = split_page(rows, limit=query.limit, kind=_LIST, position=lambda row: [row.seq])
    return Page[AuditEventOut](items=[_event(row) for row in page_rows], next_cursor=cursor)


def _list_events(
    storage: Storage, query: TrailQuery, *, tenant_id: UUID, before: int | None, limit: int
) -> Sequence[ChainedAuditEvent]:
    with storage.read() as connection:
        return store.list_events(connection, query, tenant_id=tenant_id, before=before, limit=limit)


def _event(row: ChainedAuditEvent) -> AuditEventOut:
    """Convert a stored record to its response: the response contains exactly what the hash covers."""
    return AuditEventOut(
        **json.loads(row.record), integrity_hash=row.integrity_hash.hex(), prev_hash=row.prev_hash.hex()
    )
