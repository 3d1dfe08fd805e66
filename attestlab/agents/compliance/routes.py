"""HTTP routes of compliance checks (CONTRACT 11.11)."""

from functools import partial
from uuid import UUID

from attestlab.agents.compliance.rendering import render_check
from attestlab.agents.compliance.service import Compliance
from attestlab.agents.compliance.shapes import ComplianceCheckIn, ComplianceCheckOut, ComplianceChecksQuery
from attestlab.agents.compliance.tables import ComplianceCheckRecord
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.routing.routes import Routes

routes = Routes("agents")
_LIST = "compliance_checks"


async def _assess(
    body: ComplianceCheckIn, caller: Caller, compliance: Compliance, executor: Executor
) -> ComplianceCheckRecord:
    """Read the facts in a thread: those of a tenant are those of all its agents."""
    return await executor.run_in_thread(partial(compliance.assess, body, caller=caller))


@routes.post(
    "/v1/compliance/checks",
    scope=Scope.AUDIT_READ,
    status=201,
    prepare=_assess,
    headers=("Location",),
    raises=(NotFound,),
)
def create_compliance_check(
    request: Request, prepared: ComplianceCheckRecord, tx: Transaction, caller: Caller, compliance: Compliance
) -> ComplianceCheckOut:
    """Check an agent, an issuer or the tenant itself by up to ten controls over its own data.

    It is a self-assessment, no audit and no certificate; a regulation only selects controls. A control for which there
    is no fact is left out and named. A failed control of high severity fails the check.
    """
    row = compliance.add(prepared, caller=caller, tx=tx)
    request.respond_headers["Location"] = f"/v1/compliance/checks/{row.id}"
    return render_check(row)


@routes.get("/v1/compliance/checks", scope=Scope.AUDIT_READ)
def list_compliance_checks(
    query: ComplianceChecksQuery, caller: Caller, compliance: Compliance
) -> Page[ComplianceCheckOut]:
    """List the tenant's compliance checks, newest first, each with its findings.

    Filters are combined. A check is valid for 24 hours; older ones stay as history.
    """
    before = decode_id(_LIST, query.cursor)
    found = compliance.page(query, caller=caller, before=before, limit=query.limit + 1)
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda row: [str(row.id)])
    return Page[ComplianceCheckOut](items=[render_check(row) for row in shown], next_cursor=cursor)


@routes.get("/v1/compliance/checks/{id}", scope=Scope.AUDIT_READ)
def get_compliance_check(id: UUID, caller: Caller, compliance: Compliance) -> ComplianceCheckOut:
    """Get a compliance check with its findings.

    It states the facts as they were when it was made.
    """
    return render_check(compliance.get(id, caller=caller))
