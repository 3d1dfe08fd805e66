"""HTTP routes of exports and of the verification of Open Badges.

RSA and pictures take milliseconds and a status list reads many records, so they run in a thread.
"""

import json
from uuid import UUID

from attestlab.attestations.decision_recording import record_verification
from attestlab.attestations.metering.write_behind import WriteBehind
from attestlab.attestations.service import Attestations
from attestlab.core.errors import BillingLimit, Conflict, SignatureInvalid
from attestlab.exports import rendering
from attestlab.exports.baking.pictures import PictureFormat
from attestlab.exports.rules import TTL
from attestlab.exports.service import Exports
from attestlab.exports.shapes import OpenBadgeQuery, OpenBadgeVerifyIn, OpenBadgeVerifyOut, VcIssuerMetadataOut
from attestlab.issuers.shapes import JwksOut
from attestlab.log.service import Log
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.executor import Executor
from attestlab.web.request import Request
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("exports")
_CACHE_CONTROL = f"public, max-age={int(TTL.total_seconds())}"
_VC_JWT = rendering.VC_JWT
_SD_JWT = rendering.SD_JWT
_JWK = "application/jwk+json"


@routes.get("/v1/status-lists/{issuer_id}", scope=PUBLIC, cache_control=_CACHE_CONTROL, produces={_VC_JWT: str})
async def get_status_list(issuer_id: UUID, exports: Exports, executor: Executor) -> RawResponse:
    """Get an issuer's W3C Bitstring Status List credential: which of its attestations are no longer valid.

    It is a compact JWT that the service signs; exports name their index in it as `credentialStatus`. A
    verifier may store it for as long as Cache-Control allows.
    """
    return RawResponse((await executor.run_in_thread(exports.status_list, issuer_id)).encode(), _VC_JWT)


@routes.get("/v1/attestations/{id}/sd-jwt", scope=Scope.ATTESTATIONS_READ, produces={_SD_JWT: str}, raises=(Conflict,))
async def export_sd_jwt(
    request: Request, id: UUID, caller: Caller, exports: Exports, executor: Executor
) -> RawResponse:
    """Export the attestation as SD-JWT VC, whose holder decides which claims to show.

    An active managed key of the issuer signs it; without one, or for an attestation that is not VALID, the answer
    is a 409.
    `/.well-known/jwt-vc-issuer/v1/issuers/{id}` has the keys that verify it.
    """
    token = await executor.run_in_thread(lambda: exports.sd_jwt(id, caller=caller, client_address=request.peer))
    return RawResponse(token.encode(), _SD_JWT)


@routes.get(
    "/v1/attestations/{id}/open-badge",
    scope=Scope.ATTESTATIONS_READ,
    produces={_VC_JWT: str, **{form.media_type: bytes for form in PictureFormat}},
    headers=("Content-Disposition", "Vary"),
    raises=(Conflict,),
)
async def export_open_badge(
    request: Request, id: UUID, query: OpenBadgeQuery, caller: Caller, exports: Exports, executor: Executor
) -> RawResponse:
    """Export a badge-like attestation as Open Badges 3.0 credential: a compact JWT, alone or baked into a picture.

    Only VALID attestations of achievements, such as degrees, have this form; any other is a 409 that lists the schemas.
    `format`, or without it `Accept`, may ask for PNG or SVG: a picture that holds the JWT, which is the issuer's
    uploaded PNG logo, or a card with title and issuer.
    """
    chosen = query.format or rendering.choose_badge_format(request.header("Accept"))
    if chosen == rendering.JWT:
        token = await executor.run_in_thread(lambda: exports.open_badge(id, caller=caller, client_address=request.peer))
        return RawResponse(token.encode(), _VC_JWT, rendering.VARY_ACCEPT)
    form = PictureFormat(chosen)
    picture = await executor.run_in_thread(
        lambda: exports.baked_badge(id, form, caller=caller, client_address=request.peer)
    )
    return rendering.picture_response(picture, id, form)


@routes.post("/v1/open-badges/verify", scope=PUBLIC, idempotency="none", raises=(BillingLimit,))
async def verify_open_badge(
    request: Request,
    body: OpenBadgeVerifyIn,
    exports: Exports,
    attestations: Attestations,
    log: Log,
    verifications: WriteBehind,
    executor: Executor,
) -> OpenBadgeVerifyOut:
    """Verify an Open Badge of this service: a baked picture, or its JWT. Metered to the issuer's tenant.

    The verdict is that of the badge's attestation now, once a published key of the issuer verifies the badge;
    INVALID with a `problem` otherwise. Nothing that the badge states is repeated before its signature is verified.
    """
    try:
        badge = await executor.run_in_thread(lambda: exports.verify_badge(rendering.read_presented_badge(body)))
    except SignatureInvalid as error:
        return rendering.render_unproven_badge(error)
    verified = await executor.read(
        lambda: attestations.verify_metered(badge.attestation_id, client_address=request.peer)
    )
    await record_verification(executor, attestations, verifications, verified)
    return rendering.render_badge_verification(badge, verified, log_id=log.log_id)


@routes.get("/v1/issuers/{id}/keys/{kid}/jwk.json", scope=PUBLIC, produces={_JWK: dict[str, str]})
def get_issuer_key_jwk(id: UUID, kid: str, exports: Exports) -> RawResponse:
    """Get one public key as a JWK, which an Open Badge's header references; 404 once it is revoked or compromised.

    So a verifier who follows the reference stops trusting a withdrawn key.
    """
    return RawResponse(json.dumps(exports.verification_key(id, kid)).encode(), _JWK)


@routes.get("/.well-known/jwt-vc-issuer/v1/issuers/{id}", scope=PUBLIC)
def get_issuer_metadata(id: UUID, exports: Exports) -> VcIssuerMetadataOut:
    """Get the keys that verify an issuer's exports, without revoked and compromised keys.

    This is the JWT VC Issuer Metadata document, at the address that draft-ietf-oauth-sd-jwt-vc derives from
    the issuer's URL.
    """
    exports = exports
    return VcIssuerMetadataOut(issuer=exports.issuer_url(id), jwks=JwksOut(keys=exports.verification_keys(id)))


@routes.get("/.well-known/jwt-vc-issuer", scope=PUBLIC)
def get_service_metadata(exports: Exports) -> VcIssuerMetadataOut:
    """Get the service's own key, which signs status lists.

    It has the form of JWT VC Issuer Metadata, with the base URL of the service as issuer.
    """
    exports = exports
    return VcIssuerMetadataOut(issuer=exports.base_url, jwks=JwksOut(keys=[exports.service_key.jwk()]))
