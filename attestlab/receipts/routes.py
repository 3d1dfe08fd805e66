"""HTTP routes of receipts (CONTRACT 11.5)."""

from functools import partial
from uuid import UUID

from attestlab.attestations.decision_recording import record_decisions, record_verification
from attestlab.attestations.metering.write_behind import WriteBehind
from attestlab.attestations.mint_limit import MINT_LIMIT
from attestlab.attestations.rules import sha256
from attestlab.attestations.service import Attestations
from attestlab.attestations.signing import FAST_ALGORITHMS
from attestlab.attestations.verification.steps import VerifierInput
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.db.transaction import Foreseen, Transaction
from attestlab.core.errors import BillingLimit, Conflict, NotFound, PermissionDenied
from attestlab.core.table_files import JSON, PARQUET, encode_pages
from attestlab.delivery.share_links import Links
from attestlab.log.service import Log
from attestlab.orgs.rules import Caller, Scope
from attestlab.receipts import rendering
from attestlab.receipts.file_formats import list_receipt_formats
from attestlab.receipts.minting import PreparedReceipt
from attestlab.receipts.service import Receipts, foresee_mint
from attestlab.receipts.shapes import (
    ExportReceiptsQuery,
    FoundReceiptsOut,
    ReceiptBundleOut,
    ReceiptIn,
    ReceiptOut,
    ReceiptsQuery,
    RedactReceiptIn,
    RevokeReceiptIn,
    SearchReceiptsIn,
    VerifyReceiptIn,
    VerifyReceiptOut,
)
from attestlab.receipts.tables import ReceiptRecord
from attestlab.web.executor import Executor
from attestlab.web.file_streams import stream_file
from attestlab.web.paging import Page, decode_number, split_page
from attestlab.web.request import Request
from attestlab.web.response import CommittedError, StreamedResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("receipts")
_LIST = "receipts"


async def _prepare_receipt(
    request: Request, body: ReceiptIn, caller: Caller, receipts: Receipts, executor: Executor
) -> PreparedReceipt:
    """Validate and sign before the write; in a thread if the algorithm is slow or not known yet."""
    prepare = partial(receipts.prepare, body, caller=caller, client_address=request.peer)
    return await (executor.read_shared if body.alg in FAST_ALGORITHMS else executor.run_in_thread)(prepare)


def _foresee_receipt(request: Request, foreseen: Foreseen, prepared: PreparedReceipt) -> None:
    """Name what the mint will read in its transaction."""
    foresee_mint(foreseen, prepared, at=request.now)


@routes.post(
    "/v1/receipts",
    scope=Scope.ATTESTATIONS_MINT,
    status=201,
    prepare=_prepare_receipt,
    foresee=_foresee_receipt,
    limit=MINT_LIMIT,
    headers=("Location",),
    raises=(NotFound, Conflict),
)
def mint_receipt(
    request: Request, prepared: PreparedReceipt, tx: Transaction, receipts: Receipts, links: Links, log: Log
) -> ReceiptOut | CommittedError:
    """Mint a receipt: check its payload against its type, sign it, and append it to the log.

    The statement has only hashes of payload and subject, so a later redaction breaks no proof. With an external key
    the body carries `id`, `created_at`, `nonce` and `signature`; without a signature, the error says which bytes to
    sign. A receipt counts as an attestation towards both limits of mints.
    """
    issued = receipts.issue(prepared, tx=tx)
    if isinstance(issued, PermissionDenied):
        return CommittedError(issued)
    request.respond_headers["Location"] = f"/v1/receipts/{issued.id}"
    return _show(issued, links, log)


@routes.get("/v1/receipts", scope=Scope.ATTESTATIONS_READ)
async def list_receipts(
    query: ReceiptsQuery, caller: Caller, receipts: Receipts, links: Links, log: Log, executor: Executor
) -> Page[ReceiptOut]:
    """List the tenant's receipts, newest first.

    Filters are combined; each matches exactly, and the times compare with `issued_at`.
    """
    read = executor.run_in_thread if query.passes_over_rows else executor.read
    rows = await read(
        partial(
            receipts.page,
            query,
            caller=caller,
            before=decode_number(_LIST, query.cursor),
            offset=query.rows_to_skip,
            limit=query.limit + 1,
        )
    )
    page, cursor = split_page(rows, limit=query.limit, kind=_LIST, position=lambda row: [row.log_index])
    return Page[ReceiptOut](items=[_show(row, links, log) for row in page], next_cursor=cursor)


@routes.get(
    "/v1/receipts/export",
    scope=Scope.ATTESTATIONS_READ,
    produces={"text/csv": str, JSON: list[ReceiptOut], PARQUET: bytes},
    headers=("Content-Disposition",),
)
async def export_receipts(
    request: Request,
    query: ExportReceiptsQuery,
    caller: Caller,
    receipts: Receipts,
    links: Links,
    log: Log,
    executor: Executor,
) -> StreamedResponse:
    """Export receipts as a file with the rows of the list, newest first; it is streamed.

    The formats are CSV, JSON and Parquet. An error in a later part breaks the connection off, so a complete file is a
    complete export.
    """
    file_format = list_receipt_formats(log_id=log.log_id, portal_url=links.portal_url)[query.format]
    parts = encode_pages(receipts.iterate_pages(query, caller=caller), file_format)
    name = f"receipts-{request.now:%Y%m%dT%H%M%SZ}.{query.format}"
    return await stream_file(parts, file_format.content_type, name, executor=executor)


@routes.post("/v1/receipts/search", scope=Scope.ATTESTATIONS_READ, idempotency="none")
async def search_receipts(
    body: SearchReceiptsIn, caller: Caller, receipts: Receipts, links: Links, log: Log, executor: Executor
) -> FoundReceiptsOut:
    """Search the tenant's receipts, newest first, and count all that match.

    `q` looks for a text in subject, type and metadata; payloads are not searched. A read.
    """
    rows, total = await executor.run_in_thread(partial(receipts.search, body, caller=caller))
    return FoundReceiptsOut(items=[_show(row, links, log) for row in rows], total=total)


@routes.post("/v1/receipts/verify", scope=PUBLIC, charged=False, idempotency="none", raises=(BillingLimit,))
async def verify_receipt(
    request: Request,
    body: VerifyReceiptIn,
    receipts: Receipts,
    attestations: Attestations,
    log: Log,
    verifications: WriteBehind,
    executor: Executor,
) -> VerifyReceiptOut:
    """Verify a receipt: exactly one verdict, always with HTTP 200. Metered to the issuer's tenant.

    The reasons name every check that ran, in the words of attestations. Send the payload to compare what you hold with
    what was attested; that works after a redaction too. An unknown id has the verdict NOT_FOUND and costs nothing.
    """
    presented = VerifierInput(None if body.payload is None else sha256(canonical(body.payload)))
    verified = await executor.read(
        lambda: receipts.verify_metered(body.receipt_id, presented, client_address=request.peer)
    )
    await record_verification(executor, attestations, verifications, verified)
    return rendering.render_verification(verified, log_id=log.log_id)


@routes.get("/v1/receipts/{id}", scope=Scope.ATTESTATIONS_READ)
def get_receipt(id: UUID, caller: Caller, receipts: Receipts, links: Links, log: Log) -> ReceiptOut:
    """Get a receipt with its status.

    Once redacted, its payload, subject and metadata are null.
    """
    return _show(receipts.get(id, caller=caller), links, log)


@routes.get("/v1/receipts/{id}/proof-bundle", scope=Scope.ATTESTATIONS_READ)
async def get_receipt_bundle(
    request: Request,
    id: UUID,
    caller: Caller,
    receipts: Receipts,
    attestations: Attestations,
    links: Links,
    log: Log,
    executor: Executor,
) -> ReceiptBundleOut:
    """Get the proof bundle of a receipt: everything needed to verify it offline.

    `attestlab verify` checks it against a pinned key of the log. A policy on BUNDLE_EXPORT may deny it.
    """
    export = await executor.read(lambda: receipts.export(id, caller=caller, client_address=request.peer))
    denial = await record_decisions(executor, attestations, export.policy_decisions, what="this export")
    if denial is not None:
        raise denial
    return rendering.render_bundle(export, log_id=log.log_id, portal_url=links.portal_url)


@routes.post("/v1/receipts/{id}/revoke", scope=Scope.ATTESTATIONS_REVOKE, raises=(Conflict,))
def revoke_receipt(
    id: UUID,
    body: RevokeReceiptIn | None,
    tx: Transaction,
    caller: Caller,
    receipts: Receipts,
    links: Links,
    log: Log,
) -> ReceiptOut:
    """Revoke a receipt permanently; from then on its verdict is REVOKED.

    The change is an entry of the log, which contains only a commitment to the reason.
    """
    reason = None if body is None else body.reason
    return _show(receipts.revoke(id, reason=reason, caller=caller, tx=tx), links, log)


@routes.post("/v1/receipts/{id}/redact", scope=Scope.ATTESTATIONS_REVOKE)
def redact_receipt(
    id: UUID,
    body: RedactReceiptIn | None,
    tx: Transaction,
    caller: Caller,
    receipts: Receipts,
    links: Links,
    log: Log,
) -> ReceiptOut:
    """Delete payload, subject and metadata of a receipt, for good; a repeat changes nothing.

    Every proof still verifies, because only hashes are signed and logged.
    """
    reason = None if body is None else body.reason
    return _show(receipts.redact(id, reason=reason, caller=caller, tx=tx), links, log)


def _show(row: ReceiptRecord, links: Links, log: Log) -> ReceiptOut:
    return rendering.render_receipt(row, log_id=log.log_id, portal_url=links.portal_url)
