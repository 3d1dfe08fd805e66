"""HTTP routes of issuers, their keys, logos and domain proofs."""

from functools import partial
from uuid import UUID

from attestlab.core.crypto import signing
from attestlab.core.crypto.signing import PrivateKey
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import b64url_decode, b64url_encode
from attestlab.core.errors import QuotaExceeded
from attestlab.core.row_rendering import RowRenderer
from attestlab.issuers.domain_proof import Challenge, DomainProofs
from attestlab.issuers.keys import Keys, RevokedKey, SignedCounts
from attestlab.issuers.logos import Logos
from attestlab.issuers.new_keys import load_external_key
from attestlab.issuers.rules import KeyStatus
from attestlab.issuers.service import Issuers, IssuerWithKeys
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
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.executor import Executor
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
_LOGO_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif", "image/svg+xml")
_SANDBOX_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
}


def _encode_public_key(row: IssuerKeyRecord) -> str:
    return b64url_encode(row.spki)


_render_key = RowRenderer(KeyOut, IssuerKeyRecord, public_key=_encode_public_key)
_render_old_key = RowRenderer(OldKeyOut, IssuerKeyRecord)
_render_new_key = RowRenderer(NewKeyOut, IssuerKeyRecord, public_key=_encode_public_key)
_render_withdrawn = RowRenderer(
    WithdrawnKeyOut,
    RevokedKey,
    parts={"key": IssuerKeyRecord, "affected": SignedCounts},
    public_key=lambda done: _encode_public_key(done.key),
    affected_attestations="affected.attestations",
    affected_receipts="affected.receipts",
)
_render_issuer = RowRenderer(
    IssuerOut,
    IssuerWithKeys,
    parts={"issuer": IssuerRecord},
    trust_level="trust_tier",
    keys=lambda found: list(map(_render_key, found.keys)),
)
_render_challenge = RowRenderer(DomainProofOut, Challenge, record_type=lambda _: "TXT", proven="is_proven")


async def _generate_or_check_key(body: IssuerIn | KeyIn | RotateIn, executor: Executor) -> PrivateKey | None:
    """Generate a managed key, or test an external one, in a thread, because RSA would block the event loop."""
    if body.alg is None:
        return None
    public = _read_public_key(body)
    if public is not None:
        await executor.run_in_thread(_check_external, body, public)
        return None
    return await executor.run_in_thread(signing.generate, body.alg)


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
    headers=("Location",),
    raises=(QuotaExceeded,),
)
def create_issuer(
    request: Request, body: IssuerIn, prepared: PrivateKey | None, tx: Transaction, caller: Caller, issuers: Issuers
) -> IssuerOut:
    """Register an issuer; initially it is ACTIVE, SELF_SIGNED and LOW.

    With `alg` the service also generates the first key and keeps it sealed. The registration is an entry of
    the log.
    """
    created = issuers.create(body.profile(), caller=caller, alg=body.alg, kid=body.kid, private=prepared, tx=tx)
    request.respond_headers["Location"] = f"/v1/issuers/{created.issuer.id}"
    return _render_issuer(created)


@routes.get("/v1/issuers", scope=Scope.ISSUERS_READ)
async def list_issuers(query: OffsetPageQuery, caller: Caller, issuers: Issuers, executor: Executor) -> Page[IssuerOut]:
    """List the tenant's issuers, newest first; a query with an offset skips rows, so it runs in a thread.

    Each issuer comes with its keys, whatever their status.
    """
    before, offset = decode_id(_LIST, query.cursor), query.rows_to_skip
    read = executor.run_in_thread if offset else executor.read
    found = await read(partial(issuers.page, caller=caller, before=before, offset=offset, limit=query.limit + 1))
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda item: [str(item.issuer.id)])
    return Page[IssuerOut](items=[_render_issuer(item) for item in shown], next_cursor=cursor)


@routes.get("/v1/issuers/{id}", scope=Scope.ISSUERS_READ)
def get_issuer(id: UUID, caller: Caller, issuers: Issuers) -> IssuerOut:
    """Get an issuer with its keys.

    Its status and ratings are those of now; an attestation keeps those of its mint as a snapshot.
    """
    return _render_issuer(issuers.get(id, caller=caller))


@routes.patch("/v1/issuers/{id}", scope=Scope.ISSUERS_WRITE)
def update_issuer(id: UUID, body: IssuerPatch, tx: Transaction, caller: Caller, issuers: Issuers) -> IssuerOut:
    """Change an issuer's profile.

    Omitted members stay unchanged and null removes a value. Status, trust tier and risk rating change by
    governance requests only.
    """
    return _render_issuer(issuers.update(id, body.changes(), caller=caller, tx=tx))


@routes.post(
    "/v1/issuers/{id}/keys",
    scope=Scope.ISSUERS_WRITE,
    status=201,
    prepare=_generate_or_check_key,
    raises=(QuotaExceeded,),
)
def add_issuer_key(
    id: UUID, body: KeyIn, prepared: PrivateKey | None, tx: Transaction, caller: Caller, signing_keys: Keys
) -> KeyOut:
    """Add a key: managed, or external if its public key is given.

    A managed key is generated here and its private half is sealed at rest; of an external key only its owner
    can sign. With `status` pending the key is prepared for a rotation.
    """
    added = signing_keys.add(
        id,
        kid=body.kid,
        alg=body.alg,
        public_key=_read_public_key(body),
        private=prepared,
        status=KeyStatus(body.status),
        caller=caller,
        tx=tx,
    )
    return _render_key(added)


@routes.post("/v1/issuers/keys/{kid}/rotate", scope=Scope.ISSUERS_WRITE, prepare=_generate_or_check_key)
def rotate_issuer_key(
    kid: str, body: RotateIn, prepared: PrivateKey | None, tx: Transaction, caller: Caller, signing_keys: Keys
) -> RotatedOut:
    """Replace a key with another: a pending, an external or a newly generated managed key.

    Attestations of the old key stay VALID and are flagged `key_rotated`. The change is an entry of the log.
    """
    public = _read_public_key(body)
    done = signing_keys.rotate(
        kid, new_kid=body.new_kid, alg=body.alg, public_key=public, private=prepared, caller=caller, tx=tx
    )
    return RotatedOut(old_key=_render_old_key(done.old), new_key=_render_new_key(done.new))


@routes.post("/v1/issuers/keys/{kid}/revoke", scope=Scope.ISSUERS_WRITE)
def revoke_issuer_key(
    kid: str, body: RevokeKeyIn, tx: Transaction, caller: Caller, signing_keys: Keys
) -> WithdrawnKeyOut:
    """Revoke a key permanently; its attestations that are already in the log stay valid and are flagged.

    The log's order decides: what it has before the revocation stays, anything after it is INVALID. The reason
    is published in the log.
    """
    return _render_withdrawn(signing_keys.revoke(kid, reason=body.reason, caller=caller, tx=tx))


@routes.post("/v1/issuers/keys/{kid}/compromise", scope=Scope.ISSUERS_WRITE)
def compromise_issuer_key(
    kid: str, body: CompromiseKeyIn, tx: Transaction, caller: Caller, signing_keys: Keys
) -> WithdrawnKeyOut:
    """Report a key as compromised: its attestations logged since then are INVALID.

    With `compromised_at` the time in the past decides, otherwise this report. Attestations logged before it
    stay VALID and are flagged.
    """
    compromised = signing_keys.compromise(
        kid, reason=body.reason, compromised_at=body.compromised_at, caller=caller, tx=tx
    )
    return _render_withdrawn(compromised)


@routes.get("/v1/issuers/{id}/keys", scope=Scope.ISSUERS_READ)
def list_issuer_keys(id: UUID, query: PageQuery, caller: Caller, issuers: Issuers) -> Page[KeyOut]:
    """List an issuer's keys, newest first.

    Withdrawn and rotated keys stay in the list, because old signatures refer to them.
    """
    after = None if query.cursor is None else str(decode_position(_KEYS, query.cursor)[0])
    found = issuers.list_keys(id, caller=caller, after=after)
    shown, cursor = split_page(found[: query.limit + 1], limit=query.limit, kind=_KEYS, position=lambda row: [row.kid])
    return Page[KeyOut](items=[_render_key(row) for row in shown], next_cursor=cursor)


@routes.get("/v1/issuers/{id}/jwks.json", scope=PUBLIC)
def get_issuer_jwks(id: UUID, issuers: Issuers) -> JwksOut:
    """Get an issuer's public keys as a JSON Web Key Set.

    Each key has the additive member `status`; a verifier must not accept new signatures of any but active
    keys.
    """
    return JwksOut(keys=issuers.jwks(id))


@routes.put("/v1/issuers/{id}/logo", scope=Scope.ISSUERS_WRITE)
def put_logo(id: UUID, body: LogoIn, tx: Transaction, caller: Caller, logos: Logos) -> LogoOut:
    """Upload a logo, and set the profile's `logo_url` to it.

    PNG, JPEG and WebP up to 256 KiB are accepted; the type is read from the bytes. The previous logo is
    replaced.
    """
    content = b64url_decode(body.content_b64url, field="/content_b64url")
    row = logos.upload(id, content, caller=caller, tx=tx)
    return LogoOut(
        issuer_id=id,
        media_type=row.media_type,
        size=len(row.content),
        sha256=row.sha256,
        logo_url=logos.url(id),
    )


@routes.get("/v1/issuers/{id}/logo", page=True, scope=PUBLIC, produces=dict.fromkeys(_LOGO_TYPES, bytes))
def get_logo(id: UUID, logos: Logos) -> RawResponse:
    """Get the uploaded logo, with headers that forbid it to load or run anything.

    Public pages and e-mails show it; it is 404 while the issuer has none.
    """
    row = logos.get(id)
    return RawResponse(row.content, row.media_type, _SANDBOX_HEADERS)


@routes.delete("/v1/issuers/{id}/logo", scope=Scope.ISSUERS_WRITE, status=204)
def remove_logo(id: UUID, tx: Transaction, caller: Caller, logos: Logos) -> None:
    """Remove the uploaded logo.

    The profile's `logo_url` is emptied if it is the address of that logo.
    """
    logos.remove(id, caller=caller, tx=tx)


async def _look_up_record(
    request: Request, id: UUID, caller: Caller, domain_proofs: DomainProofs, executor: Executor
) -> Challenge:
    """Look up the challenge's record in the DNS, before the write."""
    challenge = await executor.read(lambda: domain_proofs.get_challenge(id, caller=caller))
    if not challenge.is_proven:
        await executor.outbound.run(owner_of(request), domain_proofs.look_up, challenge)
    return challenge


@routes.get("/v1/issuers/{id}/domain-proof", scope=Scope.ISSUERS_READ)
def get_domain_proof(id: UUID, caller: Caller, domain_proofs: DomainProofs) -> DomainProofOut:
    """Get the TXT record that proves control of the issuer's domain.

    Publish the record in the DNS, then call `POST /v1/issuers/{id}/domain-proof/check`.
    """
    return _render_challenge(domain_proofs.get_challenge(id, caller=caller))


@routes.post("/v1/issuers/{id}/domain-proof/check", scope=Scope.ISSUERS_WRITE, prepare=_look_up_record)
def check_domain_proof(
    id: UUID, prepared: Challenge, tx: Transaction, caller: Caller, domain_proofs: DomainProofs
) -> DomainProofOut:
    """Look up the record; if the DNS has it, raise the issuer from SELF_SIGNED to BASIC.

    If the platform ever decided on the tier, it stays unchanged.
    """
    return _render_challenge(domain_proofs.accept(prepared, caller=caller, tx=tx))


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
