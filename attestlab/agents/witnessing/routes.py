"""HTTP routes of requests for votes, votes and consensus (CONTRACT 11.11)."""

from uuid import UUID

from attestlab.agents.access import OWN_WRITERS, READERS, WRITERS
from attestlab.agents.witnessing.rendering import render_consensus, render_counted, render_request
from attestlab.agents.witnessing.service import Witnessing
from attestlab.agents.witnessing.shapes import (
    ConsensusOut,
    VoteIn,
    VoteRequestIn,
    VoteRequestOut,
    VoteRequestsQuery,
    VoteResultOut,
)
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound, PermissionDenied
from attestlab.orgs.rules import Caller
from attestlab.web.paging import Page, decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.routing.routes import Routes

routes = Routes("agents")
_LIST = "vote_requests"


@routes.post(
    "/v1/witness/requests",
    scope=WRITERS,
    status=201,
    headers=("Location",),
    raises=(Conflict, NotFound, PermissionDenied),
)
def create_witness_request(
    request: Request, body: VoteRequestIn, tx: Transaction, caller: Caller, witnessing: Witnessing
) -> VoteRequestOut:
    """Request the votes of independent agents about a claim that an agent makes.

    As many confirms as required confirm it, as many denies deny it; if neither is reached in time, it expires. The
    event `witness.decided` says how it ended.
    """
    row = witnessing.request(body, caller=caller, tx=tx)
    request.respond_headers["Location"] = f"/v1/witness/requests/{row.id}"
    return render_request(row)


@routes.get("/v1/witness/requests", scope=READERS)
def list_witness_requests(query: VoteRequestsQuery, caller: Caller, witnessing: Witnessing) -> Page[VoteRequestOut]:
    """List the tenant's requests for votes, newest first.

    Each has its status now; one whose time is over has expired from that moment on.
    """
    before = decode_id(_LIST, query.cursor)
    found = witnessing.page(query, caller=caller, before=before, limit=query.limit + 1)
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda row: [str(row.id)])
    return Page[VoteRequestOut](items=[render_request(row) for row in shown], next_cursor=cursor)


@routes.get("/v1/witness/requests/{id}", scope=READERS)
def get_witness_request(id: UUID, caller: Caller, witnessing: Witnessing) -> VoteRequestOut:
    """Get a request for votes with its claim and its tally, as it is now.

    Its votes are in the consensus.
    """
    return render_request(witnessing.get(id, caller=caller))


@routes.post(
    "/v1/witness/requests/{id}/attest",
    scope=OWN_WRITERS,
    status=201,
    raises=(Conflict, NotFound, PermissionDenied),
)
def create_witness_vote(
    id: UUID, body: VoteIn, tx: Transaction, caller: Caller, witnessing: Witnessing
) -> VoteResultOut:
    """Vote about a claim, once, as an agent that is independent of the one that makes it.

    The vote is a JWS of the type `agent-vote+jwt`. If the key is the agent's own, a first call answers 400 with what
    to sign, and a second one takes the signature. An agent's own session votes for itself without any scope.
    """
    return render_counted(witnessing.vote(id, body, caller=caller, tx=tx))


@routes.get("/v1/witness/requests/{id}/consensus", scope=READERS)
def get_witness_consensus(id: UUID, caller: Caller, witnessing: Witnessing) -> ConsensusOut:
    """Get what the votes about a claim decided, with every vote as its agent signed it.

    With the keys' entries of the log anyone checks it without this service: see docs/witnessing.md.
    """
    return render_consensus(witnessing.consensus(id, caller=caller))
