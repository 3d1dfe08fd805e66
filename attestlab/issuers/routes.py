"""HTTP routes of issuers, their keys, logos and domain proofs."""

from functools import partial
from uuid import UUID

from attestlab.core.crypto import signing
from attestlab.core.crypto.signing import PrivateKey
from attestlab.core.encoding import b64url_decode, b64url_encode
from attestlab.issuers.domain_proof import Challenge
from attestlab.issuers.keys import RevokedKey, load_external_key
from attestlab.issuers.rules import KeyStatus
from attestlab.issuers.service import IssuerWithKeys
from attestlab.issuers.shapes import (
    CompromiseKeyIn,
    DomainProofOut,
    IssuerIn,
    IssuerOut,
    IssuerPatch,
    JwksOut,
    KeyIn,
    KeyOut,
    LogoIn,
    LogoOut,
    NewKeyOut,
    OldKeyOut,
    RevokeKeyIn,
    RotatedOut,
    RotateIn,
    WithdrawnKeyOut,
)
from attestlab.issuers.tables import IssuerKeyRecord, IssuerRecord
from attestlab.orgs.rules import Scope
from attestlab.web.paging import OffsetPageQuery, Page, PageQuery, decode_id, decode_position, split_page
from attestlab.web.rate_limit.limiter import owner_of
from attestlab.web.request import Request
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Limit, Routes

routes = Routes("issuers")
_LIST = "issuers"
_KEYS = "keys"
# Earlier versions accepted SVG, and such logos are still served. An SVG that a browser opens directly is a page:
# these headers forbid it to load or run anything.
_SANDBOX_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
}


async def _generate_or_check_key(request: Request, body: IssuerIn | KeyIn | RotateIn) -> PrivateKey | None:
    """Generate a managed key, or test an external one, in a thread, because RSA would block the event loop."""
    if body.alg is None:
        return None
    public = _read_public_key(body)
    if public is not None:
        await request.application.run_in_thread(_check_external, body, public)
        return None
    pair: PrivateKey = await request.application.run_in_thread(signing.generate, body.alg)
    return pair


def _check_external(body: KeyIn | RotateIn, public: bytes) -> None:
    if isinstance(body, KeyIn):
        load_external_key(body.kid, body.alg, public)
    else:
        load_external_key(body.new_kid, body.alg, public, "new_")


@routes.post(
    "/v1/issuers",
    scope=Scope.ISSUERS_WRITE,
    status=201,
    prepare=_generate_or_check_key,
    limit=Limit("issuers", 10, 3600),
)
def create(request: Request, body: IssuerIn, prepared: PrivateKey | None) -> IssuerOut:
    """Register an issuer; initially it is ACTIVE, SELF_SIGNED and LOW."""
    issuers, profile = request.lab.issuers, body.profile()
    created = issuers.create(profile, caller=request.caller, alg=body.alg, kid=body.kid, private=prepared)
    request.respond_headers["Location"] = f"/v1/issuers/{created.issuer.id}"
    return _render_issuer(created)


@routes.get("/v1/issuers", scope=Scope.ISSUERS_READ)
async def list_issuers(request: Request, query: OffsetPageQuery) -> Page[IssuerOut]:
    """List the tenant's issuers, newest first; a query with an offset skips rows, so it runs in a thread."""
    before, page = decode_id(_LIST, query.cursor), request.lab.issuers.page
    read = request.application.run_in_thread if query.rows_to_skip else request.application.read
    found = await read(
        partial(page, caller=request.caller, before=before, offset=query.rows_to_skip, limit=query.limit + 1)
    )
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda item: [str(item.issuer.id)])
    return Page[IssuerOut](items=[_render_issuer(item) for item in shown], next_cursor=cursor)


@routes.get("/v1/issuers/{id}", scope=Scope.ISSUERS_READ)
def get(request: Request, id: UUID) -> IssuerOut:
    """Get an issuer with its keys."""
    return _render_issuer(request.lab.issuers.get(id, caller=request.caller))


@routes.patch("/v1/issuers/{id}", scope=Scope.ISSUERS_WRITE)
def update(request: Request, id: UUID, body: IssuerPatch) -> IssuerOut:
    """Change an issuer's profile."""
    return _render_issuer(request.lab.issuers.update(id, body.changes(), caller=request.caller))


@routes.post("/v1/issuers/{id}/keys", scope=Scope.ISSUERS_WRITE, status=201, prepare=_generate_or_check_key)
def add_key(request: Request, id: UUID, body: KeyIn, prepared: PrivateKey | None) -> KeyOut:
    """Add a key: managed, or external if its public key is given."""
    key = {"kid": body.kid, "alg": body.alg, "public_key": _read_public_key(body), "private": prepared}
    return _render_key(request.lab.signing_keys.add(id, **key, status=KeyStatus(body.status), caller=request.caller))


@routes.post("/v1/issuers/keys/{kid}/rotate", scope=Scope.ISSUERS_WRITE, prepare=_generate_or_check_key)
def rotate(request: Request, kid: str, body: RotateIn, prepared: PrivateKey | None) -> RotatedOut:
    """Replace a key with another: a pending, an external or a newly generated managed key."""
    key = {"new_kid": body.new_kid, "alg": body.alg, "public_key": _read_public_key(body), "private": prepared}
    done = request.lab.signing_keys.rotate(kid, **key, caller=request.caller)
    new = {name: getattr(done.new, name) for name in NewKeyOut.model_fields if name in done.new._fields}
    return RotatedOut(
        old_key=OldKeyOut(**{name: getattr(done.old, name) for name in OldKeyOut.model_fields}),
        new_key=NewKeyOut(**new, public_key=b64url_encode(done.new.spki)),
    )


@routes.post("/v1/issuers/keys/{kid}/revoke", scope=Scope.ISSUERS_WRITE)
def revoke_key(request: Request, kid: str, body: RevokeKeyIn) -> WithdrawnKeyOut:
    """Revoke a key permanently; its attestations that are already in the log stay valid and are flagged."""
    return _render_withdrawn(request.lab.signing_keys.revoke(kid, reason=body.reason, caller=request.caller))


@routes.post("/v1/issuers/keys/{kid}/compromise", scope=Scope.ISSUERS_WRITE)
def compromise_key(request: Request, kid: str, body: CompromiseKeyIn) -> WithdrawnKeyOut:
    """Report a key as compromised: its attestations logged since then are INVALID."""
    report = {"reason": body.reason, "compromised_at": body.compromised_at}
    return _render_withdrawn(request.lab.signing_keys.compromise(kid, **report, caller=request.caller))


@routes.get("/v1/issuers/{id}/keys", scope=Scope.ISSUERS_READ)
def list_keys(request: Request, id: UUID, query: PageQuery) -> Page[KeyOut]:
    """List an issuer's keys, newest first."""
    after = None if query.cursor is None else str(decode_position(_KEYS, query.cursor)[0])
    found = request.lab.issuers.list_keys(id, caller=request.caller, after=after)
    shown, cursor = split_page(found[: query.limit + 1], limit=query.limit, kind=_KEYS, position=lambda row: [row.kid])
    return Page[KeyOut](items=[_render_key(row) for row in shown], next_cursor=cursor)


@routes.get("/v1/issuers/{id}/jwks.json", scope=PUBLIC)
def jwks(request: Request, id: UUID) -> JwksOut:
    """Get an issuer's public keys as a JSON Web Key Set."""
    return JwksOut(keys=request.lab.issuers.jwks(id))


@routes.put("/v1/issuers/{id}/logo", scope=Scope.ISSUERS_WRITE)
def put_logo(request: Request, id: UUID, body: LogoIn) -> LogoOut:
    """Upload a logo, and set the profile's `logo_url` to it."""
    content = b64url_decode(body.content_b64url, field="/content_b64url")
    row = request.lab.logos.upload(id, content, caller=request.caller)
    return LogoOut(
        issuer_id=id,
        media_type=row.media_type,
        size=len(row.content),
        sha256=row.sha256,
        logo_url=request.lab.logos.url(id),
    )


@routes.get("/v1/issuers/{id}/logo", page=True, scope=PUBLIC)
def logo(request: Request, id: UUID) -> RawResponse:
    """Get the uploaded logo, with headers that forbid it to load or run anything."""
    row = request.lab.logos.get(id)
    return RawResponse(row.content, row.media_type, _SANDBOX_HEADERS)


@routes.delete("/v1/issuers/{id}/logo", scope=Scope.ISSUERS_WRITE, status=204)
def remove_logo(request: Request, id: UUID) -> None:
    """Remove the uploaded logo."""
    request.lab.logos.remove(id, caller=request.caller)


async def _look_up_record(request: Request, body: None) -> Challenge:
    """Look up the challenge's record in the DNS, before the write."""
    proofs, issuer_id = request.lab.domain_proofs, request.path_values["id"]
    challenge: Challenge = await request.application.read(
        lambda: proofs.get_challenge(issuer_id, caller=request.caller)
    )
    if not challenge.is_proven:
        await request.application.outbound.run(owner_of(request), proofs.look_up, challenge)
    return challenge


@routes.get("/v1/issuers/{id}/domain-proof", scope=Scope.ISSUERS_READ)
def domain_proof(request: Request, id: UUID) -> DomainProofOut:
    """Get the TXT record that proves control of the issuer's domain."""
    return _render_challenge(request.lab.domain_proofs.get_challenge(id, caller=request.caller))


@routes.post("/v1/issuers/{id}/domain-proof/check", scope=Scope.ISSUERS_WRITE, prepare=_look_up_record)
def check_domain_proof(request: Request, id: UUID, prepared: Challenge) -> DomainProofOut:
    """Look up the record; if the DNS has it, raise the issuer from SELF_SIGNED to BASIC.

    If the platform ever decided on the tier, it stays unchanged.
    """
    return _render_challenge(request.lab.domain_proofs.accept(prepared, caller=request.caller))


def _render_challenge(challenge: Challenge) -> DomainProofOut:
    return DomainProofOut(
        issuer_id=challenge.issuer_id,
        domain=challenge.domain,
        record_type="TXT",
        record_name=challenge.record_name,
        record_value=challenge.record_value,
        proven=challenge.is_proven,
        trust_tier=challenge.trust_tier,
    )


def _render_issuer(found: IssuerWithKeys) -> IssuerOut:
    shown = {name: getattr(found.issuer, name) for name in IssuerOut.model_fields if name in IssuerRecord._fields}
    return IssuerOut(**shown, trust_level=found.issuer.trust_tier, keys=[_render_key(row) for row in found.keys])


def _read_public_key(body: IssuerIn | KeyIn | RotateIn) -> bytes | None:
    """Read the public key of an external key from the request; None for a key that the service generates."""
    if isinstance(body, IssuerIn):
        return None
    name = "public_key_b64url" if isinstance(body, KeyIn) else "new_public_key_b64url"
    sent: str | None = getattr(body, name)
    if sent is None:
        return None
    signing.reject_private(sent, field=f"/{name}")
    return b64url_decode(sent, field=f"/{name}")


def _render_withdrawn(done: RevokedKey) -> WithdrawnKeyOut:
    shown = {name: getattr(done.key, name) for name in KeyOut.model_fields if name in IssuerKeyRecord._fields}
    return WithdrawnKeyOut(
        **shown,
        public_key=b64url_encode(done.key.spki),
        reason=done.reason,
        log_index=done.log_index,
        affected_attestations=done.affected,
    )


def _render_key(row: IssuerKeyRecord) -> KeyOut:
    shown = {name: getattr(row, name) for name in KeyOut.model_fields if name in IssuerKeyRecord._fields}
    return KeyOut(**shown, public_key=b64url_encode(row.spki))
