"""HTTP routes of issuer governance."""

import json
from functools import partial
from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.core.row_rendering import RowRenderer
from attestlab.core.shapes import In
from attestlab.governance.rules import PLATFORM_APPROVERS, REQUESTERS
from attestlab.governance.service import Governance, count_needed_approvals
from attestlab.governance.shapes import (
    BlastRadiusOut,
    IssuerRequestIn,
    IssuerRequestOut,
    MonthCountOut,
    RecipientCountOut,
    RejectIn,
    RequestsQuery,
    SchemaCountOut,
)
from attestlab.governance.store import IssuerRequestRecord, MonthCount, RecipientCount, SchemaCount
from attestlab.orgs.rules import Caller, Role, Scope
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.routing.authorization import users_with
from attestlab.web.routing.routes import Routes

routes = Routes("governance")
_LIST = "issuer_requests"
_DECIDERS = users_with([*REQUESTERS, *PLATFORM_APPROVERS])
_READERS = users_with([*REQUESTERS, Role.ANALYST, *PLATFORM_APPROVERS])

_render_request = RowRenderer(
    IssuerRequestOut,
    IssuerRequestRecord,
    target_issuer_id="issuer_id",
    approvals=lambda row: json.loads(row.approvals),
    approvals_needed=count_needed_approvals,
    impact=lambda row: json.loads(row.impact),
)
_render_schema_count = RowRenderer(SchemaCountOut, SchemaCount, schema_id="schema")
_render_month_count = RowRenderer(MonthCountOut, MonthCount, month=lambda row: f"{row.year:04d}-{row.month:02d}")
_render_recipient_count = RowRenderer(RecipientCountOut, RecipientCount)


class RadiusQuery(In, wire_name="blast_radius_query", source="CONTRACT 4"):
    """The key of a blast radius; without one, it covers the issuer with all its keys."""

    kid: str | None = None
    """Only attestations of this key; by default those of all keys of the issuer. Format: 1-64 of A-Z a-z 0-9 . _ : -.
    """


async def _count_impact(body: IssuerRequestIn, caller: Caller, governance: Governance, executor: Executor) -> str:
    """Count the impact on the issuer in a thread, before the write, because it reads all attestations of the issuer."""
    return await executor.run_in_thread(partial(governance.count_impact, body.target_issuer_id, caller=caller))


async def _count_impact_again(id: UUID, caller: Caller, governance: Governance, executor: Executor) -> str:
    """Count the impact of an existing request again, in a thread before the write."""
    return await executor.run_in_thread(partial(governance.count_impact_of, id, caller=caller))


@routes.post(
    "/v1/governance/issuer-requests",
    scope=users_with(REQUESTERS),
    status=201,
    prepare=_count_impact,
    headers=("Location",),
    raises=(NotFound,),
)
def create_issuer_request(
    request: Request, body: IssuerRequestIn, prepared: str, tx: Transaction, caller: Caller, governance: Governance
) -> IssuerRequestOut:
    """Request a change of an issuer's status or ratings; the response includes the impact.

    The impact counts the attestations and keys that the change concerns. Nothing changes before other people
    have approved the request and it is executed.
    """
    row = governance.request(body, impact=prepared, caller=caller, tx=tx)
    request.respond_headers["Location"] = f"/v1/governance/issuer-requests/{row.id}"
    return _render_request(row)


@routes.get("/v1/governance/issuer-requests", scope=_READERS)
async def list_issuer_requests(
    query: RequestsQuery, caller: Caller, governance: Governance, executor: Executor
) -> Page[IssuerRequestOut]:
    """List the tenant's requests, newest first; for reviewers of the platform, those of all tenants.

    Filters by issuer and status are combined.
    """
    found = await executor.run_in_thread(
        partial(
            governance.page,
            query,
            caller=caller,
            before=decode_id(_LIST, query.cursor),
            limit=query.limit + 1,
        )
    )
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda row: [str(row.id)])
    return Page[IssuerRequestOut](items=[_render_request(row) for row in shown], next_cursor=cursor)


@routes.get("/v1/governance/issuer-requests/{id}", scope=_READERS)
def get_issuer_request(id: UUID, caller: Caller, governance: Governance) -> IssuerRequestOut:
    """Get a request with its approvals and its impact as last counted.

    `approvals_needed` says how many approvals it needs in all.
    """
    return _render_request(governance.get(id, caller=caller))


@routes.post("/v1/governance/issuer-requests/{id}/approve", scope=_DECIDERS, prepare=_count_impact_again)
def approve_issuer_request(
    id: UUID, prepared: str, tx: Transaction, caller: Caller, governance: Governance
) -> IssuerRequestOut:
    """Approve another user's request.

    The impact is counted again. Approving one's own request is a 403; with the last approval that is needed
    the request is APPROVED and can be executed.
    """
    return _render_request(governance.approve(id, impact=prepared, caller=caller, tx=tx))


@routes.post("/v1/governance/issuer-requests/{id}/reject", scope=_DECIDERS)
def reject_issuer_request(
    id: UUID, body: RejectIn, tx: Transaction, caller: Caller, governance: Governance
) -> IssuerRequestOut:
    """Reject a request permanently, or withdraw one's own.

    A rejected request stays in the list with its reason; the change needs a new one.
    """
    return _render_request(governance.reject(id, reason=body.reason, caller=caller, tx=tx))


@routes.post("/v1/governance/issuer-requests/{id}/execute", scope=users_with(REQUESTERS), prepare=_count_impact_again)
def execute_issuer_request(
    id: UUID, prepared: str, tx: Transaction, caller: Caller, governance: Governance
) -> IssuerRequestOut:
    """Execute an approved request; the change and its log entry are one transaction.

    Executing before all approvals are given is a 409. The response has the log entry of the change.
    """
    return _render_request(governance.execute(id, impact=prepared, caller=caller, tx=tx))


@routes.get("/v1/issuers/{id}/blast-radius", scope=Scope.ISSUERS_READ)
async def get_blast_radius(
    id: UUID, query: RadiusQuery, caller: Caller, governance: Governance, executor: Executor
) -> BlastRadiusOut:
    """Count the attestations of an issuer or key by schema, month and recipient; reads all of them, in a thread.

    This is what a suspension of the issuer, or a compromise of the key, would concern.
    """
    found = await executor.run_in_thread(partial(governance.blast_radius, id, kid=query.kid, caller=caller))
    return BlastRadiusOut(
        issuer_id=id,
        kid=query.kid,
        attestations=found.attestations,
        valid=found.valid,
        by_schema=list(map(_render_schema_count, found.by_schema)),
        by_month=list(map(_render_month_count, found.by_month)),
        by_recipient=list(map(_render_recipient_count, found.by_recipient)),
        truncated=found.truncated,
    )
