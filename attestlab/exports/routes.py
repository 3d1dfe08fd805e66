"""HTTP routes of exports. RSA takes milliseconds and a status list reads many records, so both run in a thread."""

import json
from uuid import UUID

from attestlab.core.errors import Conflict
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
_SD_JWT = "application/dc+sd-jwt"
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
    "/v1/attestations/{id}/open-badge", scope=Scope.ATTESTATIONS_READ, produces={_VC_JWT: str}, raises=(Conflict,)
)
async def export_open_badge(
    request: Request, id: UUID, caller: Caller, exports: Exports, executor: Executor
) -> RawResponse:
    """Export a badge-like attestation as Open Badges 3.0 credential, a compact JWT.

    Only VALID attestations of achievements, such as degrees, have this form; any other is a 409 that lists the schemas.
    """
    token = await executor.run_in_thread(lambda: exports.open_badge(id, caller=caller, client_address=request.peer))
    return RawResponse(token.encode(), _VC_JWT)


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
