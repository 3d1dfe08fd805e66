"""HTTP routes of verification profiles."""

from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import QuotaExceeded
from attestlab.core.row_rendering import RowRenderer
from attestlab.orgs.rules import Caller, Scope
from attestlab.policy.profiles.service import Profiles
from attestlab.policy.shapes import ProfileOut, VerificationProfileIn
from attestlab.policy.tables import VerificationProfileRecord
from attestlab.web.paging import Page, PageQuery, decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.routing.routes import Routes

routes = Routes("policies")
_LIST = "profiles"
_render_profile = RowRenderer(ProfileOut, VerificationProfileRecord)


@routes.post(
    "/v1/verification-profiles",
    scope=Scope.POLICIES_WRITE,
    status=201,
    headers=("Location",),
    raises=(QuotaExceeded,),
)
def create_verification_profile(
    request: Request, body: VerificationProfileIn, tx: Transaction, caller: Caller, verification_profiles: Profiles
) -> ProfileOut:
    """Create a verification profile; policies can be bound to it, and `POST /v1/verify` can name it.

    The policies of a named profile apply in addition to those of the issuer and the platform.
    """
    profile = verification_profiles.create(body.name, description=body.description, caller=caller, tx=tx)
    request.respond_headers["Location"] = f"/v1/verification-profiles/{profile.id}"
    return _render_profile(profile)


@routes.get("/v1/verification-profiles", scope=Scope.POLICIES_READ)
def list_verification_profiles(query: PageQuery, caller: Caller, verification_profiles: Profiles) -> Page[ProfileOut]:
    """List the tenant's profiles, newest first.

    Other tenants neither see nor use them.
    """
    before = decode_id(_LIST, query.cursor)
    found = verification_profiles.page(caller=caller, before=before, limit=query.limit + 1)
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda row: [str(row.id)])
    return Page[ProfileOut](items=[_render_profile(row) for row in shown], next_cursor=cursor)


@routes.get("/v1/verification-profiles/{id}", scope=Scope.POLICIES_READ)
def get_verification_profile(id: UUID, caller: Caller, verification_profiles: Profiles) -> ProfileOut:
    """Get one verification profile.

    A profile never changes after it was created; the policies that are bound to it may.
    """
    return _render_profile(verification_profiles.get(id, caller=caller))
