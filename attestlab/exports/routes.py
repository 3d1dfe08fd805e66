"""HTTP routes of exports. RSA takes milliseconds and a status list reads many records, so both run in a thread."""

import json
from uuid import UUID

from attestlab.exports.rules import TTL
from attestlab.exports.shapes import VcIssuerMetadataOut
from attestlab.issuers.shapes import JwksOut
from attestlab.orgs.rules import Scope
from attestlab.web.request import Request
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("exports")
_CACHE_CONTROL = f"public, max-age={int(TTL.total_seconds())}"
_VC_JWT = "application/vc+jwt"


@routes.get("/v1/status-lists/{issuer_id}", scope=PUBLIC, cache_control=_CACHE_CONTROL)
async def status_list(request: Request, issuer_id: UUID) -> RawResponse:
    """An issuer's W3C Bitstring Status List credential: which of its attestations are no longer valid."""
    return RawResponse(
        (await request.application.run_in_thread(request.lab.exports.status_list, issuer_id)).encode(), _VC_JWT
    )


@routes.get("/v1/attestations/{id}/sd-jwt", scope=Scope.ATTESTATIONS_READ)
async def sd_jwt(request: Request, id: UUID) -> RawResponse:
    """The attestation as SD-JWT VC, whose holder decides which claims to show."""
    token = await request.application.run_in_thread(lambda: request.lab.exports.sd_jwt(id, caller=request.caller))
    return RawResponse(token.encode(), "application/dc+sd-jwt")


@routes.get("/v1/attestations/{id}/open-badge", scope=Scope.ATTESTATIONS_READ)
async def open_badge(request: Request, id: UUID) -> RawResponse:
    """A badge-like attestation as Open Badges 3.0 credential, a compact JWT."""
    token = await request.application.run_in_thread(lambda: request.lab.exports.open_badge(id, caller=request.caller))
    return RawResponse(token.encode(), _VC_JWT)


@routes.get("/v1/issuers/{id}/keys/{kid}/jwk.json", scope=PUBLIC)
def proving_key(request: Request, id: UUID, kid: str) -> RawResponse:
    """One public key as a JWK, which an Open Badge's header references; 404 once it is revoked or compromised."""
    return RawResponse(json.dumps(request.lab.exports.verification_key(id, kid)).encode(), "application/jwk+json")


@routes.get("/.well-known/jwt-vc-issuer/v1/issuers/{id}", scope=PUBLIC)
def issuer_metadata(request: Request, id: UUID) -> VcIssuerMetadataOut:
    """The keys that verify an issuer's exports, without revoked and compromised keys."""
    exports = request.lab.exports
    return VcIssuerMetadataOut(issuer=exports.issuer_url(id), jwks=JwksOut(keys=exports.verification_keys(id)))


@routes.get("/.well-known/jwt-vc-issuer", scope=PUBLIC)
def service_metadata(request: Request) -> VcIssuerMetadataOut:
    """The service's own key, which signs status lists."""
    exports = request.lab.exports
    return VcIssuerMetadataOut(issuer=exports.base_url, jwks=JwksOut(keys=[exports.service_key.jwk()]))
