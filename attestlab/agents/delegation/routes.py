"""HTTP routes of delegations (CONTRACT 11.10)."""

from functools import partial
from uuid import UUID

from attestlab.agents.access import READERS, WRITERS
from attestlab.agents.delegation.rendering import (
    render_biscuit,
    render_delegation,
    render_proof,
    render_revocations,
    render_revoked,
    render_verdict,
)
from attestlab.agents.delegation.results import RevokedDelegations
from attestlab.agents.delegation.service import Delegations
from attestlab.agents.delegation.shapes import (
    BiscuitOut,
    ChainIn,
    ChainVerdictOut,
    DelegationIn,
    DelegationOut,
    DelegationProofOut,
    DelegationRevokeIn,
    DelegationRevokeOut,
    DelegationsQuery,
    RevocationsOut,
    RevocationsQuery,
)
from attestlab.agents.rules import parse_agent_id
from attestlab.agents.service import PreparedAgent
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound, QuotaExceeded
from attestlab.core.execution.long_writes import LongWrites
from attestlab.orgs.rules import Caller
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("agents")
_LIST = "delegations"


async def _prepare_child(body: DelegationIn, delegations: Delegations) -> PreparedAgent | None:
    """Validate the scopes, and make the first key of a new child, before the write."""
    return delegations.prepare(body)


@routes.post(
    "/v1/agents/{id}/delegations",
    scope=WRITERS,
    status=201,
    prepare=_prepare_child,
    headers=("Location",),
    raises=(Conflict, NotFound, QuotaExceeded),
)
def create_delegation(
    request: Request,
    id: str,
    body: DelegationIn,
    prepared: PreparedAgent | None,
    tx: Transaction,
    caller: Caller,
    delegations: Delegations,
) -> DelegationOut:
    """Delegate scopes of an agent to another one, or to one that is registered with it.

    The child gets at most what the parent may do, with all its denies, and not for longer. An agent has one live
    parent, and at most eight agents are above it. If the key is the parent's own, a first call answers 400 with what
    to sign, and a second one takes the signature.
    """
    parent_id = parse_agent_id(id, tenant_id=caller.tenant_id)
    found = delegations.delegate(parent_id, body, prepared=prepared, caller=caller, tx=tx)
    request.respond_headers["Location"] = f"/v1/delegations/{found.row.id}"
    return render_delegation(found)


@routes.get("/v1/agents/{id}/delegations", scope=READERS)
def list_delegations(id: str, query: DelegationsQuery, caller: Caller, delegations: Delegations) -> Page[DelegationOut]:
    """List the delegations that an agent gave or received, newest first.

    Each has its status now; revoked and expired ones stay in the list.
    """
    agent_id, before = parse_agent_id(id, tenant_id=caller.tenant_id), decode_id(_LIST, query.cursor)
    found = delegations.page(agent_id, query.direction, caller=caller, before=before, limit=query.limit + 1)
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda each: [str(each.row.id)])
    return Page[DelegationOut](items=[render_delegation(each) for each in shown], next_cursor=cursor)


@routes.post("/v1/delegations/verify", scope=PUBLIC, idempotency="none")
async def verify_delegation_chain(body: ChainIn, delegations: Delegations, executor: Executor) -> ChainVerdictOut:
    """Verify a chain of delegations: exactly one verdict, always with HTTP 200. Anyone may.

    The verdict counts what changed since the hops were signed: revocations, suspended agents, narrowed scopes and
    keys that ended.
    """
    report = await executor.read(lambda: delegations.verify(body.chain, required_scope=body.required_scope))
    return render_verdict(report)


@routes.get("/v1/delegations/revocations", scope=PUBLIC)
async def list_delegation_revocations(
    query: RevocationsQuery, delegations: Delegations, executor: Executor
) -> RevocationsOut:
    """List the revoked delegations of all tenants in the order of the log, for those who verify chains themselves.

    It names neither agents nor reasons. Remember the highest `log_index`, and send it as `since` the next time.
    """
    rows = await executor.read(lambda: delegations.list_revocations(after=query.since, limit=query.limit + 1))
    return render_revocations(rows, limit=query.limit)


@routes.get("/v1/delegations/{id}", scope=READERS)
def get_delegation(id: UUID, caller: Caller, delegations: Delegations) -> DelegationOut:
    """Get a delegation with its chain, as it is now.

    Give the chain to a tool server, which verifies it by itself or asks `POST /v1/delegations/verify`.
    """
    return render_delegation(delegations.get(id, caller=caller))


async def _count_revocation(
    id: UUID, body: DelegationRevokeIn, caller: Caller, delegations: Delegations, long_writes: LongWrites
) -> RevokedDelegations | None:
    """Count what a dry run would end; None leaves a revocation to the write."""
    if not body.dry_run:
        return None
    return await long_writes.run(partial(delegations.revoke, id, reason=body.reason, dry_run=True, caller=caller))


@routes.post("/v1/delegations/{id}/revoke", scope=WRITERS, prepare=_count_revocation, raises=(Conflict,))
def revoke_delegation(
    id: UUID,
    body: DelegationRevokeIn,
    prepared: RevokedDelegations | None,
    tx: Transaction,
    caller: Caller,
    delegations: Delegations,
) -> DelegationRevokeOut:
    """Revoke a delegation with all below it, and end the sessions of their agents; the agents stay.

    With `dry_run` nothing changes, and the answer counts what would end. An agent that was registered with a
    delegation has no scopes until another one is given; any other agent returns to its own.
    """
    return render_revoked(prepared or delegations.revoke(id, reason=body.reason, caller=caller, tx=tx))


@routes.get("/v1/delegations/{id}/proof-bundle", scope=READERS)
async def get_delegation_proof(
    id: UUID, caller: Caller, delegations: Delegations, executor: Executor
) -> DelegationProofOut:
    """Get what anyone needs to verify a chain without this service: `attestlab verify` reads it.

    It has the keys of all agents that signed, each with its entry of the log. It does not show what is revoked later.
    """
    return render_proof(await executor.read(lambda: delegations.prove(id, caller=caller)))


@routes.get("/v1/delegations/{id}/biscuit", scope=READERS, raises=(Conflict,))
async def export_delegation_biscuit(
    id: UUID, caller: Caller, delegations: Delegations, executor: Executor
) -> BiscuitOut:
    """Export a delegation as a Biscuit, with what its chain allows now; third parties can narrow it.

    A Biscuit cannot be called back: its `delegation` facts name the ids to look for in the list of revocations.
    """
    return render_biscuit(await executor.read(lambda: delegations.export_biscuit(id, caller=caller)))
