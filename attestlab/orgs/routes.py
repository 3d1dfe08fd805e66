"""HTTP routes for organizations and their members."""

import json
from uuid import UUID

from attestlab.orgs.members import AcceptInvitation
from attestlab.orgs.role_rules import UserStatus
from attestlab.orgs.rules import Scope
from attestlab.orgs.shapes import JoinIn, OrgIn, OrgOut, OrgPatch, UserIn, UserOut, UserPatch
from attestlab.orgs.tables import OrgRecord, UserRecord
from attestlab.web.paging import Page, PageQuery, decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("orgs")
_ORGS = "orgs"
_USERS = "users"


@routes.get("/v1/orgs", scope=Scope.USERS_READ)
def list_orgs(request: Request, query: PageQuery) -> list[OrgOut]:
    """The tenant's organizations, newest first; `Link` (RFC 8288) and `X-Next-Cursor` point to the next page."""
    rows = request.lab.orgs.list_page(
        caller=request.caller, before=decode_id(_ORGS, query.cursor), limit=query.limit + 1
    )
    page_rows, cursor = split_page(rows, limit=query.limit, kind=_ORGS, position=lambda row: [str(row.id)])
    if cursor is not None:
        request.respond_headers["Link"] = f'</v1/orgs?limit={query.limit}&cursor={cursor}>; rel="next"'
        request.respond_headers["X-Next-Cursor"] = cursor
    return [_org_out(row) for row in page_rows]


@routes.post("/v1/orgs", scope=Scope.USERS_WRITE, status=201)
def create_org(request: Request, body: OrgIn) -> OrgOut:
    """Create another organization of the tenant."""
    org = request.lab.orgs.create(body.name, slug=body.slug, caller=request.caller)
    request.respond_headers["Location"] = f"/v1/orgs/{org.id}"
    return _org_out(org)


@routes.get("/v1/orgs/{id}", scope=Scope.USERS_READ)
def get_org(request: Request, id: UUID) -> OrgOut:
    """One organization."""
    return _org_out(request.lab.orgs.get(id, caller=request.caller))


@routes.patch("/v1/orgs/{id}", scope=Scope.USERS_WRITE)
def update_org(request: Request, id: UUID, body: OrgPatch) -> OrgOut:
    """Rename an organization, or set the origins that people may be redirected to."""
    return _org_out(request.lab.orgs.update(id, caller=request.caller, **body.changes()))


@routes.get("/v1/users", scope=Scope.USERS_READ)
def list_users(request: Request, query: PageQuery) -> Page[UserOut]:
    """The tenant's people, newest first."""
    rows = request.lab.people.list_page(
        caller=request.caller, before=decode_id(_USERS, query.cursor), limit=query.limit + 1
    )
    page_rows, cursor = split_page(rows, limit=query.limit, kind=_USERS, position=lambda row: [str(row.id)])
    return Page[UserOut](items=[_user_out(row) for row in page_rows], next_cursor=cursor)


@routes.post("/v1/users", scope=Scope.USERS_WRITE, status=201)
def invite(request: Request, body: UserIn) -> UserOut:
    """Invite a person by e-mail; a repeated invitation invalidates the previous link."""
    invited = request.lab.people.invite(body.email, role=body.role, name=body.name, caller=request.caller)
    request.respond_headers["Location"] = f"/v1/users/{invited.id}"
    return _user_out(invited)


async def _prepare_joining(request: Request, body: JoinIn) -> AcceptInvitation:
    """Validates the invitation and hashes the password before the write, because hashing is slow."""
    acceptance: AcceptInvitation = await request.application.hash_password(
        request.lab.people.prepare_join, body.token, body.password
    )
    return acceptance


@routes.post("/v1/users/accept-invite", scope=PUBLIC, prepare=_prepare_joining, secret=True)
def accept_invite(request: Request, body: JoinIn, prepared: AcceptInvitation) -> UserOut:
    """Accept an invitation with its token, which is valid once, for seven days."""
    return _user_out(request.lab.people.join(prepared, name=body.name))


@routes.get("/v1/users/{id}", scope=Scope.USERS_READ)
def get_user(request: Request, id: UUID) -> UserOut:
    """One person."""
    return _user_out(request.lab.people.get(id, caller=request.caller))


@routes.patch("/v1/users/{id}", scope=Scope.USERS_WRITE)
def change_role(request: Request, id: UUID, body: UserPatch) -> UserOut:
    """Change a person's role."""
    return _user_out(request.lab.people.change_role(id, body.role, caller=request.caller))


@routes.delete("/v1/users/{id}", scope=Scope.USERS_WRITE, status=204)
def remove(request: Request, id: UUID) -> None:
    """Remove a person; their sessions end immediately, and only an id of them remains."""
    request.lab.people.remove(id, caller=request.caller)


def _org_out(row: OrgRecord) -> OrgOut:
    columns = {name: getattr(row, name) for name in OrgOut.model_fields}
    return OrgOut(**{**columns, "return_origins": json.loads(row.return_origins or "[]")})


def _user_out(row: UserRecord) -> UserOut:
    columns = {name: getattr(row, name) for name in UserOut.model_fields}
    return UserOut(**{**columns, "roles": row.roles.split(), "status": row.status or UserStatus.ACTIVE.value})
