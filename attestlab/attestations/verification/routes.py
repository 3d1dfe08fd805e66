"""HTTP route of verification."""

from uuid import UUID

from attestlab.attestations import rendering
from attestlab.attestations.decision_recording import record_verification
from attestlab.attestations.metering.write_behind import WriteBehind
from attestlab.attestations.policy_enforcement import Profile
from attestlab.attestations.service import Attestations
from attestlab.attestations.verification.shapes import VerifyIn, VerifyOut, VerifyQuery
from attestlab.attestations.verification.steps import VerifierInput
from attestlab.core.errors import AuthInvalid, AuthRequired, BillingLimit, NotFound
from attestlab.log.service import Log
from attestlab.orgs.rules import Caller
from attestlab.web.executor import Executor
from attestlab.web.request import Authenticate, Request
from attestlab.web.request import extract_credential as credential_of
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("attestations")


@routes.post(
    "/v1/verify",
    scope=PUBLIC,
    payload=True,
    charged=False,
    idempotency="none",
    raises=(BillingLimit, NotFound),
)
async def verify_attestation(
    request: Request,
    query: VerifyQuery,
    body: VerifyIn,
    attestations: Attestations,
    log: Log,
    verifications: WriteBehind,
    authenticate: Authenticate,
    executor: Executor,
) -> VerifyOut:
    """Verify an attestation: exactly one verdict, always with HTTP 200. Metered to the issuer's tenant.

    The reasons name every check that ran. Send the file as `payload_b64url`, or the SHA-256 of the document,
    to compare what you hold with what was attested. An unknown id has the verdict NOT_FOUND and costs
    nothing.

    A read: it waits for a commit only if policies applied, because their decisions are recorded.
    """
    presented = VerifierInput(request.payload and request.payload.sha256, body.document_hash_hex)
    follow, named = query.follow is not None, body.verification_profile_id
    profile = None if named is None else await executor.read(_authenticate_profile, request, named, authenticate)
    verified = await executor.read(
        lambda: attestations.verify_metered(
            body.attestation_id, presented, follow=follow, profile=profile, client_address=request.peer
        )
    )
    await record_verification(executor, attestations, verifications, verified)
    return rendering.render_verification(verified, log_id=log.log_id)


def _authenticate_profile(request: Request, profile_id: UUID, authenticate: Authenticate) -> Profile:
    """Authenticate the caller who names a verification profile.

    Only callers of the profile's tenant may use it; for all others it is not found.
    """
    try:
        request.credential = credential_of(request.headers)
        caller = authenticate(request)
    except AuthRequired:
        raise NotFound("verification profile", profile_id) from None
    except AuthInvalid as error:
        raise NotFound("verification profile", profile_id, attempt=error) from None
    assert isinstance(caller, Caller)
    return Profile(profile_id, caller)
