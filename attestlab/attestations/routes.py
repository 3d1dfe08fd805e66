"""HTTP routes of attestations, verification and schemas."""

import json
from dataclasses import replace
from functools import partial
from typing import Any, cast
from uuid import UUID

from pydantic import Field

from attestlab.attestations import rendering, store
from attestlab.attestations.minting import MintRequest, PreparedAttestation
from attestlab.attestations.policy_enforcement import PolicyDecisions, Profile
from attestlab.attestations.results import Export, Minted, VerificationOutcome
from attestlab.attestations.rules import Status, sha256
from attestlab.attestations.schemas.catalogue import CATALOGUE, json_schema
from attestlab.attestations.shapes import (
    AttestationOut,
    BatchIn,
    BatchItemOut,
    BatchOut,
    BundleOut,
    KnownSchema,
    MintIn,
    MintOut,
    RevokedOut,
    RevokeIn,
    SchemaOut,
    Sha256Hex,
    SupersededOut,
    SupersedeIn,
    VerifyIn,
    VerifyOut,
    VerifyQuery,
)
from attestlab.attestations.verification.steps import VerifierInput
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import b64url_decode
from attestlab.core.errors import (
    MAX_REPORTED_ERRORS,
    AttestLabError,
    AuthInvalid,
    AuthRequired,
    NotFound,
    PermissionDenied,
)
from attestlab.core.shapes import Moment, Uuid
from attestlab.orgs import usage
from attestlab.orgs.rules import Scope
from attestlab.web import problems
from attestlab.web.credentials import extract_credential as credential_of
from attestlab.web.paging import OffsetPageQuery, Page, PageQuery, decode_number, split_page
from attestlab.web.rate_limit.limiter import owner_of
from attestlab.web.request import Request
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Limit, Routes
from attestlab.web.validation import validate_body

routes = Routes("attestations")
_FAST_ALGORITHMS = {Algorithm.ED25519, Algorithm.ES256}  # tens of microseconds; other algorithms sign in a thread
_LIST = "attestations"
_SCHEMAS = "schemas"
_MINT_LIMIT = Limit("mint", 100, 60, daily=usage.ATTESTATIONS)  # counts single mints and items of batches


class AttestationsQuery(OffsetPageQuery):
    """Filters of the list of attestations; `from` is inclusive, `to` exclusive."""

    issuer_id: Uuid | None = None
    status: Status | None = None
    schema_id: KnownSchema | None = Field(default=None, alias="schema")
    kid: str | None = None
    document_hash: Sha256Hex | None = None
    pack_id: Uuid | None = None
    since: Moment | None = Field(default=None, alias="from")
    until: Moment | None = Field(default=None, alias="to")

    @property
    def passes_over_rows(self) -> bool:
        """Whether the query may read rows that are not in the response; no index serves every filter."""
        return bool(self.rows_to_skip) or self.filter() != store.Filter()

    def filter(self) -> store.Filter:
        """Build the store's filter from the query."""
        return store.Filter(
            issuer_id=self.issuer_id,
            status=self.status,
            schema=self.schema_id,
            kid=self.kid,
            document_hash=self.document_hash and self.document_hash.lower(),
            pack_id=self.pack_id,
            since=self.since,
            until=self.until,
        )


def _build_mint_request(body: MintIn, file_sha256: bytes | None, file_size: int | None) -> MintRequest:
    return MintRequest(
        issuer_id=body.issuer_id,
        kid=body.kid,
        alg=body.alg,
        schema=body.schema_id,
        claims=body.claims,
        content_type=body.content_type.value,
        document_hash=body.document_hash,
        file_sha256=file_sha256,
        file_size=file_size,
        expiry_at=body.expiry_at,
        expiry_from_claims=body.expiry_from_claims,
        subject_reference=body.subject_reference,
        metadata=body.metadata,
        recipient_email=body.recipient_email,
        pack_id=body.pack_id,
        id=body.id,
        created_at=body.created_at,
        signature=body.signature,
    )


async def _prepare_mint(request: Request, body: MintIn) -> PreparedAttestation:
    """Validate and sign before the write."""
    payload = request.payload
    return await _prepare(request, _build_mint_request(body, payload and payload.sha256, payload and payload.size))


async def _prepare_successor(request: Request, body: SupersedeIn) -> PreparedAttestation:
    """Prepare an attestation that supersedes the one in the path."""
    old_id: UUID = request.path_values["id"]
    old = await request.application.read(lambda: request.lab.attestations.get(old_id, caller=request.caller))
    payload = request.payload
    mint_request = _build_mint_request(body, payload and payload.sha256, payload and payload.size)
    return await _prepare(request, replace(mint_request, issuer_id=body.issuer_id or old.issuer_id, supersedes=old_id))


async def _prepare(request: Request, mint_request: MintRequest) -> PreparedAttestation:
    """Prepare a mint on the event loop, or in a thread for slow algorithms and large documents."""
    if request.canonical is not None:
        large: PreparedAttestation = await request.application.bodies.run(
            owner_of(request), lambda: request.lab.attestations.prepare(mint_request, caller=request.caller)
        )
        return large
    execute = request.application.read if mint_request.alg in _FAST_ALGORITHMS else request.application.run_in_thread
    prepared: PreparedAttestation = await execute(
        lambda: request.lab.attestations.prepare(mint_request, caller=request.caller)
    )
    return prepared


async def _prepare_batch(request: Request, body: BatchIn) -> list[PreparedAttestation | AttestLabError]:
    """Prepare in a thread all items that the rate limit has room for; an invalid item fails alone."""
    room, refused = await request.application.read(
        lambda: request.application.limiter.take_available(request, _MINT_LIMIT, len(body.items))
    )
    prepared: list[PreparedAttestation | AttestLabError] = await request.application.run_in_thread(
        lambda: [_prepare_item(request, item) for item in body.items[:room]]
    )
    return prepared + [refused] * (len(body.items) - room)


def _prepare_item(request: Request, item: Any) -> PreparedAttestation | AttestLabError:
    try:
        mint_request = _build_item_request(cast(MintIn, validate_body(MintIn, canonical(item), item)))
        prepared: PreparedAttestation = request.lab.attestations.prepare(mint_request, caller=request.caller)
    except AttestLabError as error:
        return error
    return prepared


def _build_item_request(body: MintIn) -> MintRequest:
    """Build the mint request of a batch item, whose file is inline; the whole batch has the ordinary body limit."""
    if body.payload_b64url is None:
        return _build_mint_request(body, None, None)
    raw = b64url_decode(body.payload_b64url, field="/payload_b64url")
    return _build_mint_request(body, sha256(raw), len(raw))


def _issue_item(request: Request, prepared: PreparedAttestation | AttestLabError) -> Minted | AttestLabError:
    """Issue one item of a batch; a rejected item leaves only its recorded policy decision."""
    if isinstance(prepared, AttestLabError):
        return prepared
    try:
        minted: Minted | PermissionDenied = request.lab.attestations.issue(prepared)
    except AttestLabError as error:
        return error
    return minted


def _render_item(request: Request, index: int, item: Minted | AttestLabError, max_faults: int) -> BatchItemOut:
    """Render one item of a batch; a rejected item lists at most `max_faults` field errors."""
    if not isinstance(item, AttestLabError):
        minted = rendering.render_mint(item, links=request.lab.links)
        return BatchItemOut(index=index, http_status=201, attestation=minted)
    error = json.loads(problems.error_response(item, request.request_id).body)
    details = error["details"]
    for fault in (listed := details.get("fields", [])):
        fault["field"] = f"/items/{index}{fault['field']}"
    if len(listed) > max_faults:
        details["fields"] = listed[:max_faults]
        details["more_faults"] = details.get("more_faults", 0) + len(listed) - max_faults
    return BatchItemOut(index=index, http_status=error["http_status"], error=error)


@routes.post(
    "/v1/attestations/mint",
    scope=Scope.ATTESTATIONS_MINT,
    status=201,
    payload=True,
    idempotency="required",
    prepare=_prepare_mint,
    limit=_MINT_LIMIT,
)
def mint(request: Request, body: MintIn, prepared: PreparedAttestation) -> MintOut:
    """Mint an attestation: sign it, append it to the log, and return it with the inclusion proof."""
    done = request.lab.attestations.issue(prepared)
    if isinstance(done, PermissionDenied):
        return cast(MintOut, request.commit_then_raise(done))
    request.respond_headers["Location"] = f"/v1/attestations/{done.id}"
    return request.defer(lambda: rendering.render_mint(done, links=request.lab.links))


@routes.post("/v1/attestations/{id}/revoke", scope=Scope.ATTESTATIONS_REVOKE)
def revoke(request: Request, id: UUID, body: RevokeIn) -> RevokedOut:
    """Revoke an attestation permanently; from then on its verdict is REVOKED."""
    return rendering.render_revocation(request.lab.attestations.revoke(id, reason=body.reason, caller=request.caller))


@routes.post(
    "/v1/attestations/{id}/supersede",
    scope=Scope.ATTESTATIONS_MINT,
    status=201,
    payload=True,
    idempotency="required",
    prepare=_prepare_successor,
    limit=_MINT_LIMIT,
)
def supersede(request: Request, id: UUID, body: SupersedeIn, prepared: PreparedAttestation) -> SupersededOut:
    """Mint an attestation that replaces this one, which becomes SUPERSEDED."""
    done = request.lab.attestations.issue(prepared)
    if isinstance(done, PermissionDenied):
        return cast(SupersededOut, request.commit_then_raise(done))
    request.respond_headers["Location"] = f"/v1/attestations/{done.id}"
    return request.defer(lambda: rendering.render_supersession(done, links=request.lab.links, now=request.now))


@routes.post("/v1/attestations/batch", scope=Scope.ATTESTATIONS_MINT, prepare=_prepare_batch)
def mint_batch(request: Request, body: BatchIn, prepared: list[PreparedAttestation | AttestLabError]) -> BatchOut:
    """Mint up to a hundred attestations in one append to the log; each item succeeds or fails separately."""
    done = [_issue_item(request, item) for item in prepared]
    refused = sum(isinstance(item, AttestLabError) for item in done)
    share = max(1, MAX_REPORTED_ERRORS // max(1, refused))
    return request.defer(
        lambda: BatchOut(items=[_render_item(request, index, item, share) for index, item in enumerate(done)])
    )


@routes.get("/v1/attestations", scope=Scope.ATTESTATIONS_READ)
async def list_attestations(request: Request, query: AttestationsQuery) -> Page[AttestationOut]:
    """List the tenant's attestations, newest first.

    With a filter or an offset the query may skip many rows, so it runs in a thread.
    """
    read = request.application.run_in_thread if query.passes_over_rows else request.application.read
    rows = await read(
        partial(
            request.lab.attestations.page,
            query.filter(),
            caller=request.caller,
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
def get(request: Request, id: UUID) -> AttestationOut:
    """Get an attestation."""
    return rendering.render_attestation(request.lab.attestations.get(id, caller=request.caller), now=request.now)


@routes.get("/v1/attestations/{id}/proof-bundle", scope=Scope.ATTESTATIONS_READ)
async def proof_bundle(request: Request, id: UUID) -> BundleOut:
    """Get the proof bundle of an attestation: everything needed to verify it offline."""
    export: Export = await request.application.read(lambda: request.lab.attestations.export(id, caller=request.caller))
    if (denial := await record_decisions(request, export.policy_decisions, what="this export")) is not None:
        raise denial
    return rendering.render_bundle(export.evidence, export.proofs, export.head, now=request.now)


async def record_decisions(
    request: Request, policy_decisions: PolicyDecisions, *, what: str
) -> PermissionDenied | None:
    """Record the policy decisions of a read, which has no transaction of its own; return a denial if there is one."""
    if not policy_decisions:
        return None
    denial: PermissionDenied | None = await request.application.write(
        lambda tx: request.lab.attestations.record_decisions(policy_decisions, what=what)
    )
    return denial


@routes.post("/v1/verify", scope=PUBLIC, payload=True, charged=False, idempotency="none")
async def verify(request: Request, query: VerifyQuery, body: VerifyIn) -> VerifyOut:
    """Verify an attestation: exactly one verdict, always with HTTP 200. Metered to the issuer's tenant.

    A read: it waits for a commit only if policies applied, because their decisions are recorded.
    """
    presented = VerifierInput(request.payload and request.payload.sha256, body.document_hash_hex)
    attestations, follow, named = request.lab.attestations, query.follow is not None, body.verification_profile_id
    profile = None if named is None else await request.application.read(lambda: _authenticate_profile(request, named))
    verified = await request.application.read(
        lambda: attestations.verify_metered(body.attestation_id, presented, follow=follow, profile=profile)
    )
    if verified.policy_decisions:
        await _record_or_refund(request, verified)
    if verified.evidence is not None:
        request.application.on_metered(verified.metered_verification)
    return rendering.render_verification(verified, log_id=request.lab.log_id)


async def _record_or_refund(request: Request, verified: VerificationOutcome) -> None:
    """Record the policy decisions; if that fails, refund the verification, because the client gets no verdict."""
    try:
        await record_decisions(request, verified.policy_decisions, what="this verification")
    except BaseException:
        await request.application.read(request.lab.attestations.daily_meter.refund, verified.metered_verification)
        raise


def _authenticate_profile(request: Request, profile_id: UUID) -> Profile:
    """Authenticate the caller who names a verification profile.

    Only callers of the profile's tenant may use it; for all others it is not found.
    """
    try:
        request.credential = credential_of(request.headers)
        return Profile(profile_id, request.application.authenticate(request))
    except AuthRequired:
        raise NotFound("verification profile", profile_id) from None
    except AuthInvalid as error:
        raise NotFound("verification profile", profile_id, attempt=error) from None


@routes.get("/v1/schemas", scope=PUBLIC)
def schemas(request: Request, query: PageQuery) -> Page[SchemaOut]:
    """List the catalogue of credential schemas, each as JSON Schema 2020-12 of its claims."""
    start = decode_number(_SCHEMAS, query.cursor) or 0
    numbered = list(enumerate(CATALOGUE, start=1))[start : start + query.limit + 1]
    page, cursor = split_page(numbered, limit=query.limit, kind=_SCHEMAS, position=lambda row: [row[0]])
    items = [SchemaOut(id=name, json_schema=cast(Any, json_schema(name))) for _, name in page]
    return Page[SchemaOut](items=items, next_cursor=cursor)


@routes.get("/v1/schemas/{id}", scope=PUBLIC)
def schema(request: Request, id: str) -> RawResponse:
    """Get the JSON Schema of a schema, without an envelope."""
    return RawResponse(json.dumps(json_schema(id)).encode(), "application/schema+json")
