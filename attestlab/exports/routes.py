"""HTTP routes of exports. RSA takes milliseconds and a status list reads many records, so both run in a thread."""

import json
from uuid import UUID

from attestlab.exports.rules import TTL
from attestlab.exports.service import Exports
from attestlab.exports.shapes import VcIssuerMetadataOut
from attestlab.issuers.shapes import JwksOut
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.executor import Executor
from attestlab.web.request import Request
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("exports")
_CACHE_CONTROL = f"public, max-age={int(TTL.total_seconds())}"
_VC_JWT = "application/vc+jwt"


@routes.get("/v1/status-lists/{issuer_id}", scope=PUBLIC, cache_control=_CACHE_CONTROL)
async def status_list(issuer_id: UUID, exports: Exports, executor: Executor) -> RawResponse:
    """An issuer's W3C Bitstring Status List credential: which of its attestations are no longer valid."""
    return RawResponse((await executor.run_in_thread(exports.status_list, issuer_id)).encode(), _VC_JWT)


@routes.get("/v1/attestations/{id}/sd-jwt", scope=Scope.ATTESTATIONS_READ)
async def sd_jwt(request: Request, id: UUID, caller: Caller, exports: Exports, executor: Executor) -> RawResponse:
    """The attestation as SD-JWT VC, whose holder decides which claims to show."""
    token = await executor.run_in_thread(lambda: exports.sd_jwt(id, caller=caller, client_address=request.peer))
    return RawResponse(token.encode(), "application/dc+sd-jwt")


@routes.get("/v1/attestations/{id}/open-badge", scope=Scope.ATTESTATIONS_READ)
async def open_badge(request: Request, id: UUID, caller: Caller, exports: Exports, executor: Executor) -> RawResponse:
    """A badge-like attestation as Open Badges 3.0 credential, a compact JWT."""
    token = await executor.run_in_thread(lambda: exports.open_badge(id, caller=caller, client_address=request.peer))
    return RawResponse(token.encode(), _VC_JWT)


@routes.get("/v1/issuers/{id}/keys/{kid}/jwk.json", scope=PUBLIC)
def proving_key(id: UUID, kid: str, exports: Exports) -> RawResponse:
    """One public key as a JWK, which an Open Badge's header references; 404 once it is revoked or compromised."""
    return RawResponse(json.dumps(exports.verification_key(id, kid)).encode(), "application/jwk+json")


@routes.get("/.well-known/jwt-vc-issuer/v1/issuers/{id}", scope=PUBLIC)
def issuer_metadata(id: UUID, exports: Exports) -> VcIssuerMetadataOut:
    """The keys that verify an issuer's exports, without revoked and compromised keys."""
    exports = exports
    return VcIssuerMetadataOut(issuer=exports.issuer_url(id), jwks=JwksOut(keys=exports.verification_keys(id)))


@routes.get("/.well-known/jwt-vc-issuer", scope=PUBLIC)
def service_metadata(exports: Exports) -> VcIssuerMetadataOut:
    """The service's own key, which signs status lists."""
    exports = exports
    return VcIssuerMetadataOut(issuer=exports.base_url, jwks=JwksOut(keys=[exports.service_key.jwk()]))
