"""HTTP routes for organizations and their members."""

import json
from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound
from attestlab.core.row_rendering import RowRenderer
from attestlab.orgs.credential_uses import CredentialUses
from attestlab.orgs.members import AcceptInvitation, People
from attestlab.orgs.role_rules import UserStatus
from attestlab.orgs.rules import Caller, Scope
from attestlab.orgs.service import Orgs
from attestlab.orgs.shapes import JoinIn, OrgIn, OrgOut, OrgPatch, UserIn, UserOut, UserPatch
from attestlab.orgs.tables import OrgRecord, UserRecord
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, PageQuery, decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("orgs")
_ORGS = "orgs"
_USERS = "users"

_render_org = RowRenderer(OrgOut, OrgRecord, return_origins=lambda row: json.loads(row.return_origins or "[]"))
_render_user = RowRenderer(
    UserOut,
    UserRecord,
    computed=["last_used_at"],
    email=lambda row: row.invited_address or row.email,
    roles=lambda row: row.roles.split(),
    status=lambda row: row.status or UserStatus.ACTIVE.value,
)


@routes.get("/v1/orgs", scope=Scope.USERS_READ, headers=("Link", "X-Next-Cursor"))
def list_orgs(request: Request, query: PageQuery, caller: Caller, orgs: Orgs) -> list[OrgOut]:
    """List the tenant's organizations, newest first; `Link` (RFC 8288) and `X-Next-Cursor` point to the next page.

    The body is a bare array, unlike that of other lists.
    """
    rows = orgs.list_page(caller=caller, before=decode_id(_ORGS, query.cursor), limit=query.limit + 1)
    page_rows, cursor = split_page(rows, limit=query.limit, kind=_ORGS, position=lambda row: [str(row.id)])
    if cursor is not None:
        request.respond_headers["Link"] = f'</v1/orgs?limit={query.limit}&cursor={cursor}>; rel="next"'
        request.respond_headers["X-Next-Cursor"] = cursor
    return [_render_org(row) for row in page_rows]


@routes.post("/v1/orgs", scope=Scope.USERS_WRITE, status=201, headers=("Location",))
def create_org(request: Request, body: OrgIn, tx: Transaction, caller: Caller, orgs: Orgs) -> OrgOut:
    """Create another organization of the tenant.

    Without a slug, one is derived from the name; a slug is unique in the installation.
    """
    org = orgs.create(body, caller=caller, tx=tx)
    request.respond_headers["Location"] = f"/v1/orgs/{org.id}"
    return _render_org(org)


@routes.get("/v1/orgs/{id}", scope=Scope.USERS_READ)
def get_org(id: UUID, caller: Caller, orgs: Orgs) -> OrgOut:
    """Get one organization.

    An organization of another tenant is as unknown as a missing one.
    """
    return _render_org(orgs.get(id, caller=caller))


@routes.patch("/v1/orgs/{id}", scope=Scope.USERS_WRITE)
def update_org(id: UUID, body: OrgPatch, tx: Transaction, caller: Caller, orgs: Orgs) -> OrgOut:
    """Rename an organization, or set the origins that people may be redirected to.

    Omitted members stay unchanged; `return_origins` replaces the whole list.
    """
    return _render_org(orgs.update(id, body, caller=caller, tx=tx))


@routes.get("/v1/users", scope=Scope.USERS_READ)
def list_users(query: PageQuery, caller: Caller, people: People, credential_uses: CredentialUses) -> Page[UserOut]:
    """List the tenant's people, newest first.

    Invited people are in the list before they accept.
    """
    rows = people.list_page(caller=caller, before=decode_id(_USERS, query.cursor), limit=query.limit + 1)
    page_rows, cursor = split_page(rows, limit=query.limit, kind=_USERS, position=lambda row: [str(row.id)])
    last_uses = credential_uses.find_of_actors([row.id for row in page_rows])
    items = [_render_user(row, last_used_at=last_uses.get(row.id)) for row in page_rows]
    return Page[UserOut](items=items, next_cursor=cursor)


@routes.post("/v1/users", scope=Scope.USERS_WRITE, status=201, headers=("Location",))
def invite_user(request: Request, body: UserIn, tx: Transaction, caller: Caller, people: People) -> UserOut:
    """Invite a person by e-mail; a repeated invitation invalidates the previous link.

    The link is valid for seven days. Only a super_admin may give roles of the platform. An address that has an account
    elsewhere gets a mail that says so; it is listed as INVITED, so that no one can find out who has an account.
    """
    invited = people.invite(body, caller=caller, tx=tx)
    request.respond_headers["Location"] = f"/v1/users/{invited.id}"
    return _render_user(invited, last_used_at=None)


async def _prepare_joining(body: JoinIn, people: People, executor: Executor) -> AcceptInvitation:
    """Validate the invitation and hash the password before the write, because hashing is slow."""
    return await executor.hash_password(people.prepare_join, body.token, body.password)


@routes.post("/v1/users/accept-invite", scope=PUBLIC, prepare=_prepare_joining, secret=True, raises=(NotFound,))
def accept_invitation(body: JoinIn, prepared: AcceptInvitation, tx: Transaction, people: People) -> UserOut:
    """Accept an invitation with its token, which is valid once, for seven days.

    The person chooses a password, and can sign in from then on.
    """
    return _render_user(people.join(prepared, name=body.name, tx=tx), last_used_at=None)


@routes.get("/v1/users/{id}", scope=Scope.USERS_READ)
def get_user(id: UUID, caller: Caller, people: People, credential_uses: CredentialUses) -> UserOut:
    """Get one person.

    The status says whether they may sign in.
    """
    row = people.get(id, caller=caller)
    return _render_user(row, last_used_at=credential_uses.find_of_actors([id]).get(id))


@routes.patch("/v1/users/{id}", scope=Scope.USERS_WRITE, raises=(Conflict,))
def change_role(
    id: UUID, body: UserPatch, tx: Transaction, caller: Caller, people: People, credential_uses: CredentialUses
) -> UserOut:
    """Change a person's role.

    Their sessions end, with those that agents hold on their behalf; the new role holds from their next sign-in on. The
    last owner cannot lose the role, which is a 409.
    """
    row = people.change_role(id, body.role, caller=caller, tx=tx)
    return _render_user(row, last_used_at=credential_uses.find_of_actors([id], tx=tx).get(id))


@routes.delete("/v1/users/{id}", scope=Scope.USERS_WRITE, status=204, raises=(Conflict,))
def remove_user(id: UUID, tx: Transaction, caller: Caller, people: People) -> None:
    """Remove a person; their sessions end immediately, and only an id of them remains.

    The last owner cannot be removed, which is a 409.
    """
    people.remove(id, caller=caller, tx=tx)
