"""HTTP routes of attestations, verification and schemas."""

import json
from functools import partial
from uuid import UUID

from attestlab.attestations import batch, mint_steps, rendering, store
from attestlab.attestations.decision_recording import record_decisions
from attestlab.attestations.mint_limit import MINT_LIMIT
from attestlab.attestations.minting import MintRequest, PreparedAttestation, build_request
from attestlab.attestations.results import Minted
from attestlab.attestations.service import Attestations
from attestlab.attestations.shapes import (
    AttestationOut,
    AttestationsQuery,
    BatchIn,
    BatchItemOut,
    BatchOut,
    BundleOut,
    MintIn,
    MintOut,
    RevokedOut,
    RevokeIn,
    SupersededOut,
    SupersedeIn,
)
from attestlab.attestations.signing import FAST_ALGORITHMS
from attestlab.core.db.transaction import Foreseen, Transaction
from attestlab.core.errors import (
    MAX_REPORTED_ERRORS,
    AttestLabError,
    NotFound,
    PermissionDenied,
)
from attestlab.delivery.service import foresee_delivery
from attestlab.delivery.share_links import Links
from attestlab.orgs.rules import Caller, Realm, Scope
from attestlab.web import problems
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, decode_number, split_page
from attestlab.web.rate_limit.limiter import Limiter, owner_of
from attestlab.web.request import Request
from attestlab.web.response import CommittedError
from attestlab.web.routing.routes import Routes

routes = Routes("attestations")
_LIST = "attestations"


def _complete(request: Request, body: MintIn, **more: object) -> MintRequest:
    """Add the client's address and the file's hash to the body of a mint."""
    payload = request.payload
    file = {} if payload is None else {"file_sha256": payload.sha256, "file_size": payload.size}
    return build_request(body, client_address=request.peer, **file, **more)


async def _prepare_mint(
    request: Request, body: MintIn, caller: Caller, attestations: Attestations, executor: Executor
) -> PreparedAttestation:
    """Validate and sign before the write."""
    return await _prepare(request, _complete(request, body), caller, attestations, executor)


async def _prepare_successor(
    request: Request, id: UUID, body: SupersedeIn, caller: Caller, attestations: Attestations, executor: Executor
) -> PreparedAttestation:
    """Prepare an attestation that supersedes the one in the path."""
    old = await executor.read(lambda: attestations.get(id, caller=caller))
    successor = _complete(request, body, issuer_id=body.issuer_id or old.issuer_id, supersedes=id)
    return await _prepare(request, successor, caller, attestations, executor)


async def _prepare(
    request: Request, mint_request: MintRequest, caller: Caller, attestations: Attestations, executor: Executor
) -> PreparedAttestation:
    """Prepare a mint on the event loop, or in a thread for slow algorithms and large documents."""
    prepare = partial(attestations.prepare, mint_request, caller=caller)
    if request.canonical is not None:
        return await executor.bodies.run(owner_of(request), prepare)
    return await (executor.read_shared if mint_request.alg in FAST_ALGORITHMS else executor.run_in_thread)(prepare)


async def _prepare_batch(
    request: Request,
    body: BatchIn,
    caller: Caller,
    attestations: Attestations,
    limiter: Limiter,
    executor: Executor,
) -> list[PreparedAttestation | AttestLabError]:
    """Prepare in a thread all items that the rate limit has room for; an invalid item fails alone."""
    room, refused = await executor.read(limiter.take_available, request, MINT_LIMIT, len(body.items))
    prepared = await executor.run_in_thread(
        lambda: batch.prepare_items(attestations, body.items[:room], caller=caller, client_address=request.peer)
    )
    return prepared if refused is None else prepared + [refused] * (len(body.items) - room)


def _render_item(
    request: Request, links: Links, index: int, item: Minted | AttestLabError, max_faults: int
) -> BatchItemOut:
    """Render one item of a batch; a rejected item lists at most `max_faults` field errors."""
    if not isinstance(item, AttestLabError):
        minted = rendering.render_mint(item, links=links)
        return BatchItemOut(index=index, http_status=201, attestation=minted)
    error = json.loads(problems.error_response(item, request.request_id).body)
    details = error["details"]
    for fault in (listed := details.get("fields", [])):
        fault["field"] = f"/items/{index}{fault['field']}"
    if len(listed) > max_faults:
        details["fields"] = listed[:max_faults]
        details["more_faults"] = details.get("more_faults", 0) + len(listed) - max_faults
    return BatchItemOut(index=index, http_status=error["http_status"], error=error)


def _foresee_mint(request: Request, foreseen: Foreseen, prepared: PreparedAttestation) -> None:
    """Name what the mint will read in its transaction."""
    mint_steps.foresee(foreseen, prepared, at=request.now, taken_ids=store.TAKEN_IDS)
    if prepared.request.recipient_email is not None:
        foresee_delivery(foreseen, prepared.request.recipient_email, issuer_id=prepared.key.issuer_id)


def _foresee_batch(request: Request, foreseen: Foreseen, prepared: list[PreparedAttestation | AttestLabError]) -> None:
    """Name what the items of a batch will read in their transaction."""
    for item in prepared:
        if not isinstance(item, AttestLabError):
            _foresee_mint(request, foreseen, item)


def _respond_minted(request: Request, result: Minted, links: Links) -> MintOut:
    request.respond_headers["Location"] = f"/v1/attestations/{result.id}"
    return rendering.render_mint(result, links=links)


@routes.post(
    "/v1/attestations/mint",
    scope=Scope.ATTESTATIONS_MINT,
    status=201,
    payload=True,
    form_part="mint",
    idempotency="required",
    prepare=_prepare_mint,
    respond=_respond_minted,
    foresee=_foresee_mint,
    limit=MINT_LIMIT,
    share_links=True,
    headers=("Location",),
    raises=(NotFound,),
)
def mint_attestation(
    prepared: PreparedAttestation, tx: Transaction, attestations: Attestations
) -> Minted | CommittedError:
    """Mint an attestation: sign it, append it to the log, and return it with the inclusion proof.

    The file itself is never stored, only its hash and size: send it as `payload_b64url`, or only its
    `document_hash`. With an external key the body carries `id`, `created_at` and `signature`; without a
    signature, the error says which bytes to sign. The response is sent when the entry is durable and its
    proof is known.
    """
    return _keep_denial(attestations.issue(prepared, tx=tx))


@routes.post("/v1/attestations/{id}/revoke", scope=Scope.ATTESTATIONS_REVOKE)
def revoke_attestation(
    id: UUID, body: RevokeIn, tx: Transaction, caller: Caller, attestations: Attestations
) -> RevokedOut:
    """Revoke an attestation permanently; from then on its verdict is REVOKED.

    The change is an entry of the log, which contains only a commitment to the reason. Only a VALID
    attestation can be revoked; otherwise `details.status` of the 409 names its status.
    """
    return rendering.render_revocation(attestations.revoke(id, reason=body.reason, caller=caller, tx=tx))


def _respond_superseded(request: Request, result: Minted, links: Links) -> SupersededOut:
    request.respond_headers["Location"] = f"/v1/attestations/{result.id}"
    return rendering.render_supersession(result, links=links, now=request.now)


@routes.post(
    "/v1/attestations/{id}/supersede",
    scope=Scope.ATTESTATIONS_MINT,
    status=201,
    payload=True,
    idempotency="required",
    prepare=_prepare_successor,
    respond=_respond_superseded,
    foresee=_foresee_mint,
    limit=MINT_LIMIT,
    share_links=True,
    headers=("Location",),
)
def supersede_attestation(
    id: UUID, prepared: PreparedAttestation, tx: Transaction, attestations: Attestations
) -> Minted | CommittedError:
    """Mint an attestation that replaces this one, which becomes SUPERSEDED.

    The body is that of a mint; without `issuer_id` the issuer is that of the replaced attestation. Both
    changes are one transaction, so there is never a moment with two valid attestations or none.
    """
    return _keep_denial(attestations.issue(prepared, tx=tx))


def _keep_denial(issued: Minted | PermissionDenied) -> Minted | CommittedError:
    """Keep the recorded policy decision of a denied mint."""
    return CommittedError(issued) if isinstance(issued, PermissionDenied) else issued


def _respond_batch(request: Request, result: list[Minted | AttestLabError], links: Links) -> BatchOut:
    rejected = sum(isinstance(item, AttestLabError) for item in result)
    share = max(1, MAX_REPORTED_ERRORS // max(1, rejected))
    return BatchOut(items=[_render_item(request, links, index, item, share) for index, item in enumerate(result)])


@routes.post(
    "/v1/attestations/batch",
    scope=Scope.ATTESTATIONS_MINT,
    prepare=_prepare_batch,
    respond=_respond_batch,
    foresee=_foresee_batch,
    share_links=True,
)
def mint_batch(
    prepared: list[PreparedAttestation | AttestLabError], tx: Transaction, attestations: Attestations
) -> list[Minted | AttestLabError]:
    """Mint up to a hundred attestations in one append to the log; each item succeeds or fails separately.

    The response is 200 and lists the items in the order of the request, each with the status that a single
    mint would have had. Each item counts towards the rate limit and the daily cap.
    """
    return batch.issue_items(attestations, prepared, tx=tx)


@routes.get("/v1/attestations", scope=Scope.ATTESTATIONS_READ)
async def list_attestations(
    request: Request, query: AttestationsQuery, caller: Caller, attestations: Attestations, executor: Executor
) -> Page[AttestationOut]:
    """List the tenant's attestations, newest first; a consumer's are those that they hold.

    Filters are combined; each matches exactly, and the times compare with `created_at`. A consumer holds what was
    delivered to them and what they protect, and reads its record, bundle and exports, too.

    With a filter or an offset, or for a consumer, the query may skip many rows, so it runs in a thread.
    """
    is_slow = query.passes_over_rows or caller.realm is Realm.CONSUMER
    read = executor.run_in_thread if is_slow else executor.read
    rows = await read(
        partial(
            attestations.page,
            query,
            caller=caller,
            before=decode_number(_LIST, query.cursor),
            offset=query.rows_to_skip,
            limit=query.limit + 1,
        )
    )
    page, cursor = split_page(rows, limit=query.limit, kind=_LIST, position=lambda row: [row.log_index])
    return Page[AttestationOut](
        items=[rendering.render_attestation(row, now=request.now) for row in page], next_cursor=cursor
    )


@routes.get("/v1/attestations/{id}", scope=Scope.ATTESTATIONS_READ)
def get_attestation(request: Request, id: UUID, caller: Caller, attestations: Attestations) -> AttestationOut:
    """Get an attestation with its current status.

    An attestation whose expiry has passed is EXPIRED here from that moment on, also before the log records
    it.
    """
    return rendering.render_attestation(attestations.get(id, caller=caller), now=request.now)


@routes.get("/v1/attestations/{id}/proof-bundle", scope=Scope.ATTESTATIONS_READ)
async def get_proof_bundle(
    request: Request, id: UUID, caller: Caller, attestations: Attestations, executor: Executor
) -> BundleOut:
    """Get the proof bundle of an attestation: everything needed to verify it offline.

    `attestlab verify`, or any implementation of the log's formats, checks it against a pinned key of the log
    without asking this service. A policy on BUNDLE_EXPORT may deny it.
    """
    export = await executor.read(lambda: attestations.export(id, caller=caller, client_address=request.peer))
    denial = await record_decisions(executor, attestations, export.policy_decisions, what="this export")
    if denial is not None:
        raise denial
    return rendering.render_bundle(export.evidence, export.proofs, export.head, now=request.now)
